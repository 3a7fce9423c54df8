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
/// copied in while another is merged and a third is copied out.
class ShardedMergeOperation final : public ShardedOperation {
 public:
  /// Whether the merge can run on several devices: its arrays and results are in host memory, and apart.
  static bool Takes(const MergeOperation::Spec& merge);

  ShardedMergeOperation(MergeOperation::Spec merge, uint64_t devices);

  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;

 private:
  absl::Status Enqueue(Lane& lane, std::vector<ShardResult> results) override;
  bool Conclude(Outcome& outcome) const override;

  ShardedMerge::Options MergeOptions() const;

  const MergeOperation::Spec spec_;
  std::unique_ptr<ShardedMerge> merge_;  // of the last run
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_MERGE_H_
