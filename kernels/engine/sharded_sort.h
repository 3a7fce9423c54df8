// Sorts one array whose parts, the shards, lie on several devices.
//
// Algorithm: ShardedBuckets, for many integers whose leading bytes are spread evenly. Otherwise each device sorts its
//            shard, or finds its first rows if only those are wanted, and ShardedMerge merges the sorted shards: each
//            device pulls pieces from the others and makes a part of the result.
// Work: a sort of each shard, and one merge of the result; (shards - 1) / shards of its rows cross a link.
// Stability: equal keys keep the order of the shards and, within a shard, of its rows.
// Waits: the host waits for the cuts, and before for what decides the algorithm.
#ifndef CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
#define CORANK_KERNELS_ENGINE_SHARDED_SORT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/shard.h"
#include "kernels/engine/sharded_buckets.h"
#include "kernels/engine/sharded_merge.h"

namespace corank {

class ShardedSort {
 public:
  struct Options {
    KeyType key_type = KeyType::kUint32;
    Order order = Order::kAscending;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    int32_t value_bytes = 0;  // 0: no values
    int64_t limit = -1;       // rows of the result; -1: all
    /// ShardedMerge::Options::tile_bytes.
    int64_t tile_bytes = ShardedMerge::Options().tile_bytes;
    /// Least rows of an average bucket of ShardedBuckets. Sorts of shorter ones are slower.
    int64_t least_bucket_rows = int64_t{1} << 19;
  };

  /// 1 to ShardedMerge::kMaxShards shards, each with streams of its own.
  ShardedSort(const Options& options, std::vector<Shard> shards);

  /// Upper bound of the device memory that a shard's streams hand out, beside inputs and outputs. `count`,
  /// `result_count`: the largest of all shards.
  static int64_t WorkspaceBytes(const Options& options, int64_t count, int64_t result_count, int shards,
                                const Engine& engine);

  /// Call these in this order, once each. If one fails, or the work is not wanted any more, finish the streams of all
  /// shards. They return the streams' errors. `waits`: a stream of any of the devices, but not one of the shards'. It
  /// begins and finishes here.

  /// Enqueues the sorts of all shards, or their division into buckets. Waits for earlier work of the shards' streams.
  absl::Status SortEach(EngineStream& waits);
  /// Waits for the cuts of the shards.
  absl::Status Cut(EngineStream& waits);
  /// Enqueues the exchange of rows. Each shard's stream has its part then.
  absl::Status Exchange();

  /// What the sort of a shard found. Valid once its stream has finished.
  const OperatorReport& report(int shard) const { return reports_[static_cast<size_t>(shard)]; }
  /// Whether the rows are sorted by bucket.
  bool takes_buckets() const { return takes_buckets_; }

 private:
  absl::Status AllocateRows();
  absl::Status SortShards();

  const Options options_;
  const std::vector<Shard> shards_;
  std::vector<ShardedBuckets::Rows> rows_;  // by shard, room for KeptRows of each
  std::vector<ShardedMerge::Run> sorted_;   // by shard, in rows_
  std::vector<const void*> are_sorted_;     // points of the shards' streams
  std::vector<OperatorReport> reports_;
  bool takes_buckets_ = false;
  ShardedBuckets buckets_;
  ShardedMerge merge_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARDED_SORT_H_
