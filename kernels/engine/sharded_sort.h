// Sorts one array whose parts, the shards, lie on several devices.
//
// Algorithm: each device sorts its shard, or finds its first rows if only those are wanted. Cuts of the merge of all
//            shards (EngineStream::SplitRuns: multi-sequence selection over the memory of all devices) divide the
//            result into a part for each device, and these into tiles. Each device pulls the pieces of one tile from
//            the others while it merges the tile before.
// Work: a sort of each shard, and one merge of the result; (shards - 1) / shards of its rows cross a link.
// Balance: exact, whatever the keys are. There is no sample, so neither skew nor equal keys matter.
// Stability: equal keys keep the order of the shards and, within a shard, of its rows.
// Waits: the host waits once, for the cuts.
#ifndef CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
#define CORANK_KERNELS_ENGINE_SHARDED_SORT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"

namespace corank {

/// The rows of one device.
struct Shard {
  /// Two streams of the device, which the caller begins and finishes. The first makes the inputs and the result, the
  /// second copies.
  EngineStream* stream = nullptr;
  EngineStream* puller = nullptr;
  int64_t count = 0;
  const void* keys_in = nullptr;  // memory of the device
  const void* values_in = nullptr;
  /// Memory of the device for its part of the result, which continues the part of the shard before. May be the memory
  /// of the inputs. The parts together are the result.
  int64_t result_count = 0;
  void* keys_out = nullptr;
  void* values_out = nullptr;
};

class ShardedSort {
 public:
  static constexpr int kMaxShards = kMaxSplitInputs;

  struct Options {
    KeyType key_type = KeyType::kUint32;
    Order order = Order::kAscending;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    int32_t value_bytes = 0;  // 0: no values
    int64_t limit = -1;       // rows of the result; -1: all
    /// Least bytes of a tile. A shard has few tiles at most.
    int64_t tile_bytes = int64_t{32} << 20;
  };

  /// 1 to kMaxShards shards, each with streams of its own.
  ShardedSort(const Options& options, std::vector<Shard> shards);

  /// Upper bound of the device memory that a shard's streams hand out, beside inputs and outputs. `count`,
  /// `result_count`: the largest of all shards.
  static int64_t WorkspaceBytes(const Options& options, int64_t count, int64_t result_count, int shards,
                                const Engine& engine);

  /// Call these in this order, once each. If one fails, or the work is not wanted any more, finish the streams of all
  /// shards. They return the streams' errors.

  /// Enqueues the sorts of all shards. Some of them may wait for earlier work of their stream.
  absl::Status SortEach();
  /// Finds the cuts and waits for them. `stream`: of any of the devices, but not one of the shards'. It begins and
  /// finishes here.
  absl::Status Cut(EngineStream& stream);
  /// Enqueues the exchange and the merges. Each shard's stream has its result then. Finish all streams before one of
  /// them begins again.
  absl::Status MergePieces();

  /// What each sort found. Valid once the shard's stream has finished.
  const OperatorReport& report(int shard) const { return reports_[static_cast<size_t>(shard)]; }

 private:
  struct Rows {
    char* keys = nullptr;
    char* values = nullptr;
  };
  // One tile of a shard's part of the result.
  struct Tile {
    int64_t first = 0;  // row of the part
    int64_t count = 0;
    size_t cut = 0;                  // the number of its first cut; the next one ends it
    std::vector<MergeInput> pieces;  // by shard; the merge reads them until it ends
    const void* is_merged = nullptr;
    OperatorReport report;
  };

  size_t size() const { return shards_.size(); }
  absl::Status MergeTile(size_t shard, size_t tile);
  // Pulls the piece to where the pulled rows end.
  absl::Status Pull(EngineStream& stream, MergeInput* piece, Rows* pulled) const;

  const Options options_;
  const int64_t key_bytes_;
  const std::vector<Shard> shards_;
  std::vector<Rows> sorted_;                // by shard, KeptRows of each
  std::vector<const void*> are_sorted_;     // points of the shards' streams
  std::vector<std::vector<Tile>> tiles_;    // by shard
  std::vector<std::vector<Rows>> buffers_;  // by shard
  std::vector<int64_t> cuts_;               // for each cut a row of each shard
  std::vector<OperatorReport> reports_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
