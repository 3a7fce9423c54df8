// Sorts one array whose parts, the shards, lie on several devices.
//
// Algorithm: each device sorts its shard, or finds its first rows if only those are wanted. ShardedMerge merges the
//            sorted shards: each device sends the others pieces of its shard and makes a part of the result.
// Work: a sort of each shard, and one merge of the result; (shards - 1) / shards of its rows cross a link.
// Stability: equal keys keep the order of the shards and, within a shard, of its rows.
// Waits: the host waits once, for the cuts; twice where the devices do not reach each other's memory.
#ifndef CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
#define CORANK_KERNELS_ENGINE_SHARDED_SORT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/sharded_merge.h"

namespace corank {

/// The rows of one device.
struct Shard {
  int64_t count = 0;
  const void* keys = nullptr;  // memory of the device
  const void* values = nullptr;
  /// Its part of the result, which may take the memory of the rows.
  ShardResult result;
};

class ShardedSort {
 public:
  struct Options {
    KeyType key_type = KeyType::kUint32;
    Order order = Order::kAscending;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    int32_t value_bytes = 0;  // 0: no values
    int64_t limit = -1;       // rows of the result; -1: all
    int64_t offset = 0;       // rows that are left out before the limit counts
    bool are_linked = true;   // the devices reach each other's memory
    /// Whether each shard's part of the result is as long as its rows, and its memory apart from theirs. Sorts then use
    /// it until the merge writes it.
    bool lends_keys = false;
    bool lends_values = false;
    /// ShardedMerge::Options::tile_bytes.
    int64_t tile_bytes = ShardedMerge::Options().tile_bytes;
  };

  /// 1 to ShardedMerge::kMaxShards shards, each with streams of its own.
  ShardedSort(const Options& options, std::vector<Shard> shards);

  /// Upper bound of the device memory that a shard's streams hand out, beside inputs and outputs. `count`,
  /// `result_count`: the largest of all shards.
  static int64_t WorkspaceBytes(const Options& options, int64_t count, int64_t result_count, int shards,
                                const Engine& engine);
  /// The same for the pinned memory that the streams of all shards hand out, with kRelayBytes for each shard without
  /// links. An engine keeps some of these (EngineInfo::relay_bytes), but a request that finds them in use pins more.
  static int64_t HostBytes(const Options& options, int64_t count, int64_t result_count, int shards);

  /// Call these in this order, once each. If one fails, or the work is not wanted any more, finish the streams of all
  /// shards. They return the streams' errors.

  /// Enqueues the sorts of all shards. Some of them may wait for earlier work of their stream.
  absl::Status SortEach();
  /// ShardedMerge::Cut, or CutBySamples unless Options::are_linked, and Merge, of the sorted shards.
  absl::Status Cut(EngineStream& stream) { return merge_.Cut(sorted_, are_sorted_, stream); }
  absl::Status CutBySamples(const std::vector<EngineStream*>& streams) {
    return merge_.CutBySamples(sorted_, are_sorted_, streams);
  }
  absl::Status MergePieces() { return merge_.Merge(); }

  /// What each sort found. Valid once the shard's stream has finished.
  const OperatorReport& report(int shard) const { return reports_[static_cast<size_t>(shard)]; }

 private:
  absl::Status SortShard(size_t shard);

  const Options options_;
  const std::vector<Shard> shards_;
  std::vector<ShardedMerge::Run> sorted_;  // by shard, KeptRows of each
  std::vector<const void*> are_sorted_;    // points of the shards' streams
  std::vector<OperatorReport> reports_;
  ShardedMerge merge_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
