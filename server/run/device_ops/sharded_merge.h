// Merge of sorted arrays on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_MERGE_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_MERGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/engine/sharded_merge.h"
#include "server/run/device_ops/merge.h"
#include "server/run/sharded_operation.h"

namespace corank {

/// Each device takes the pieces of all arrays that make its part of the result, over its own bus, in tiles: one is
/// copied in while another is merged and a third is copied out. If an array or a result is sharded, each device first
/// takes an equal part of each array that is not, and the devices exchange the pieces.
class ShardedMergeOperation final : public ShardedOperation {
 public:
  /// The most sorted runs, one for each part of each array, if one of them or of the results is sharded.
  static constexpr int kMaxRuns = ShardedMerge::kMaxRuns;

  /// Whether an array or a result is sharded.
  static bool AnyIsSharded(const MergeOperation::Spec& merge);
  /// Whether the merge can run on several devices: its arrays and results are sharded or in host memory. If none is
  /// sharded, the results must lie apart from the arrays.
  static bool Takes(const MergeOperation& whole);

  ShardedMergeOperation(MergeOperation::Spec merge, uint64_t devices);

  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;

 private:
  absl::Status Enqueue(Lane& lane, std::vector<ShardResult> results) override;
  absl::StatusOr<bool> Conclude(Outcome& outcome) const override;

  ShardedMerge::Options MergeOptions() const;
  int runs() const { return static_cast<int>(spec_.keys.size()) * (is_on_host_ ? 1 : shards()); }
  std::vector<ShardedMerge::Run> RunsOnHost() const;
  absl::StatusOr<std::vector<ShardedMerge::Run>> RunsOnDevices(const std::vector<ShardResult>& results) const;

  const MergeOperation::Spec spec_;
  const bool is_on_host_;
  std::unique_ptr<ShardedMerge> merge_;  // of the last run
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_MERGE_H_
