// Sorts one array whose parts, the shards, lie on several devices, if the leading bytes of its keys are spread evenly.
//
// Algorithm: each device orders its rows by the leading byte of their keys, which divides them into 256 buckets. It
//            pulls the buckets that its part of the result needs from all devices, group by group, and sorts each
//            group, by the remaining bytes, while it pulls the next one. Both devices sort a bucket that belongs to two
//            parts.
// Beside ShardedMerge: the rows cross the links before they are sorted, which hides the copies; the pass by the leading
//            byte takes the place of one pass of the sort; there is no merge.
// Work: one sort of the rows of a part and of the rest of two buckets; (shards - 1) / shards of them cross a link.
// Stability: a bucket's rows are pulled in the order of the shards.
// Waits: the host waits twice, for a sample of the keys and for the sizes of the buckets.
#ifndef CORANK_KERNELS_ENGINE_SHARDED_BUCKETS_H_
#define CORANK_KERNELS_ENGINE_SHARDED_BUCKETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/shard.h"

namespace corank {

class ShardedBuckets {
 public:
  static constexpr int kBuckets = 256;
  /// A bucket has at most 1 / kLeastOfPart of the rows of a part.
  static constexpr int64_t kLeastOfPart = 16;
  /// Keys are sampled where they lie, kRunKeys neighbours at a time.
  static constexpr int64_t kRuns = 64, kRunKeys = 16;

  struct Options {
    KeyType key_type = KeyType::kUint32;
    Order order = Order::kAscending;
    int32_t value_bytes = 0;  // 0: no values
  };
  /// The rows of a shard by bucket, which its device keeps until all streams have finished.
  struct Rows {
    char* keys = nullptr;
    char* values = nullptr;
  };

  /// Two shards or more, whose parts have all their rows. No float keys.
  ShardedBuckets(const Options& options, std::vector<Shard> shards);

  /// Upper bounds of the device memory that a shard's streams hand out, beside Rows: up to Cut, and in Sort.
  static int64_t DivisionBytes(const Options& options, int64_t count, const Engine& engine);
  static int64_t SortBytes(const Options& options, int64_t result_count, const Engine& engine);

  /// Whether a sample, the runs of all shards one after the other, promises buckets that are small enough. Rows that
  /// are in order already are left to sorts that notice it.
  static bool Promises(const Options& options, const void* h_sample, int64_t keys, int shards);

  /// Call these in this order, as long as they say true. If one fails, or the work is not wanted any more, finish the
  /// streams of all shards. They return the streams' errors. `waits`: a stream of any of the devices, but not one of
  /// the shards'. It begins and finishes here.

  /// Samples the keys, and waits for them. Whether the buckets promise to be small enough.
  absl::StatusOr<bool> Look(EngineStream& waits);
  /// Enqueues the order by bucket: `to` by shard.
  absl::Status Divide(std::vector<Rows> to);
  /// Waits for the sizes of the buckets. Whether they are small enough. If not, nothing was written but Rows.
  absl::StatusOr<bool> Cut(EngineStream& waits);
  /// Enqueues copies and sorts, and ends the streams' phases. Each shard's stream has its part then.
  absl::Status Sort();

 private:
  // Some buckets in turn, of which a device sorts all rows.
  struct Group {
    int first = 0, last = 0;  // buckets, the last one excluded
    int64_t begin = 0;        // row of the whole
    int64_t count = 0;
    bool is_whole = false;  // all rows belong to the device's part; otherwise it is one bucket
    size_t offsets = 0;     // where its part of Device::offsets begins
  };
  struct Device {
    std::vector<int64_t> runs;  // where the sampled runs begin
    const void* h_positions = nullptr;
    std::vector<int64_t> starts;   // where each bucket of the shard begins, and the end
    std::vector<Group> groups;     // the largest ones first
    std::vector<int64_t> offsets;  // for each group, where its buckets begin, and the end
    const int64_t* d_offsets = nullptr;
    std::vector<Rows> slots;              // for pulled rows
    Rows edge;                            // the sorted rows of a group that is not whole
    std::vector<const void*> are_sorted;  // by group
    OperatorReport report, search_report;
  };

  static absl::Status WaitForAll(const std::vector<const void*>& points, EngineStream& waits);
  void FindGroups(size_t shard);
  absl::Status AllocateBuffers(size_t shard);
  absl::Status Pull(size_t shard, const Group& group, const Rows& slot) const;
  absl::Status SortGroup(size_t shard, size_t number);

  const Options options_;
  const int64_t key_bytes_;
  const std::vector<Shard> shards_;
  const std::vector<char> needles_;       // the least key of each bucket but the first
  std::vector<int64_t> lengths_;          // of the sampled runs
  std::vector<Device> devices_;           // by shard
  std::vector<Rows> rows_;                // by shard
  std::vector<const void*> are_divided_;  // points of the shards' streams
  std::vector<int64_t> starts_;           // where each bucket of the whole begins, and the end
  std::vector<int64_t> parts_;            // where each part begins, and the end
  int64_t largest_part_ = 0;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARDED_BUCKETS_H_
