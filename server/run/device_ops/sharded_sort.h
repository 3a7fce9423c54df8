// Sort of one array on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SORT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/engine/sharded_sort.h"
#include "server/run/device_ops/sort.h"
#include "server/run/sharded_operation.h"

namespace corank {

/// Each device takes an equal part of the rows over its own bus, sorts it, and exchanges pieces with the others
/// (kernels/engine/sharded_sort.h).
class ShardedSortOperation final : public ShardedOperation {
 public:
  /// Whether the sort can run on several devices: its arrays and results are sharded or in host memory.
  static bool Takes(const SortOperation::Spec& sort);

  ShardedSortOperation(SortOperation::Spec sort, const DeviceGroup& by);

  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;

 private:
  absl::Status Enqueue(Lane& lane, std::vector<ShardResult> results) override;
  absl::StatusOr<bool> Conclude(Outcome& outcome) const override;

  ShardedSort::Options SortOptions() const;
  absl::Status Cut(Lane& lane);
  absl::StatusOr<std::vector<Shard>> CopyIn(std::vector<ShardResult> results) const;

  const SortOperation::Spec spec_;
  const bool are_linked_;
  const RowShape shape_;
  std::unique_ptr<ShardedSort> sort_;  // of the last run
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SORT_H_
