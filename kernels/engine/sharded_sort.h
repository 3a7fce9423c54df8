// Sorts one array whose parts, the shards, lie on several devices.
//
// Algorithm: each device sorts its shard. Cuts at the shards' boundaries (EngineStream::SplitRuns: multi-sequence
//            selection over the memory of all devices) divide every sorted shard into one piece for each device. Each
//            device merges its pieces, which it reads from where they are, or from copies.
// Work: a sort of each shard, and one pass over all rows, of which (devices - 1) / devices cross a link.
// Balance: exact, whatever the keys are. There is no sample, so neither skew nor equal keys matter.
// Stability: equal keys keep the order of the shards and, within a shard, of its rows.
// Waits: the host waits once, for the cuts.
#ifndef CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
#define CORANK_KERNELS_ENGINE_SHARDED_SORT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"

namespace corank {

/// The rows of one device.
struct Shard {
  EngineStream* stream = nullptr;  // of the device; begun, and finished, by the caller
  int64_t count = 0;
  const void* keys_in = nullptr;  // memory of the device
  const void* values_in = nullptr;
  /// Memory of the device for `count` rows of the result: the rows of shard i follow those of shard i - 1. May be the
  /// memory of the inputs.
  void* keys_out = nullptr;
  void* values_out = nullptr;
};

class ShardedSort {
 public:
  static constexpr int kMaxShards = kMaxSplitInputs;

  /// How a device gets the pieces that lie on others.
  enum class Exchange : uint8_t {
    kRead,  // kernels read them over the link
    kCopy,  // copied first; works without a link
  };
  struct Options {
    KeyType key_type = KeyType::kUint32;
    Order order = Order::kAscending;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    int32_t value_bytes = 0;  // 0: no values
    Exchange exchange = Exchange::kRead;
  };

  /// 1 to kMaxShards shards. The streams must be different, and idle or with work that makes the inputs.
  ShardedSort(const Options& options, std::vector<Shard> shards);

  /// Upper bound of the device memory that the shard's stream hands out, beside inputs and outputs.
  static int64_t WorkspaceBytes(const Options& options, int64_t count, int shards, const Engine& engine);

  /// Call these in this order, once each. If one fails, or the work is not wanted any more, finish the streams of all
  /// shards. Errors are those of the streams.

  /// Enqueues the sorts of all shards. Some of them may wait for earlier work of their stream.
  absl::Status SortEach();
  /// Finds the cuts and waits for them. `stream`: of any of the devices, but not one of the shards'. It begins and
  /// finishes here.
  absl::Status Cut(EngineStream& stream);
  /// Enqueues the exchange and the merges. No shard's inputs or sorted rows may be freed before all streams finished.
  absl::Status MergePieces();

  /// What each sort found. Valid once the shard's stream has finished.
  const OperatorReport& report(int shard) const { return reports_[static_cast<size_t>(shard)].first; }

 private:
  struct Rows {
    char* keys = nullptr;
    char* values = nullptr;
  };

  size_t size() const { return shards_.size(); }
  // Memory of the shard's device.
  absl::Status Allocate(const Shard& shard, int64_t count, Rows* rows) const;
  absl::StatusOr<MergeInput> Piece(size_t from, size_t to, Rows* copies) const;
  int64_t CutAt(size_t boundary, size_t shard) const { return cuts_[boundary * size() + shard]; }

  const Options options_;
  const int64_t key_bytes_;
  const std::vector<Shard> shards_;
  std::vector<Rows> sorted_;                                        // by shard
  std::vector<const void*> are_sorted_;                             // points of the streams
  std::vector<int64_t> cuts_;                                       // (shards + 1) x shards
  std::vector<std::vector<MergeInput>> pieces_;                     // by shard; the merges read them until they end
  std::vector<std::pair<OperatorReport, OperatorReport>> reports_;  // of the sort and the merge
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
