// Sort by several key columns on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_COLUMN_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_COLUMN_SORT_H_

#include <cstdint>
#include <vector>

#include "server/run/device_ops/column_sort.h"
#include "server/run/row_sink.h"
#include "server/run/sharded_table.h"

namespace corank {

/// Each device takes an equal part of the rows over its own bus, sorts it, and exchanges pieces with the others
/// (sharded_table.h).
class ShardedColumnSortOperation final : public Operation {
 public:
  /// Whether the sort can run on several devices: columns without strings, segments, runs and ranks, with arrays and
  /// results that are sharded or in host memory.
  static bool Takes(const ColumnSortOperation::Spec& sort);
  /// Sharing::cost. The host waits twice, compares rows to cut tables, and sorts each tile again. So two H200s were 1.2
  /// to 1.3 times as fast as one with 64 MiB of arrays and results for each device, and slower with 16 MiB.
  static constexpr int64_t kCost = 2;

  /// `tile_bytes`: ShardedTable::Options::tile_bytes.
  ShardedColumnSortOperation(ColumnSortOperation::Spec sort, const DeviceGroup& by,
                             int64_t tile_bytes = ShardedTable::Options().tile_bytes);

  Operator op() const override { return Operator::kSort; }
  int64_t work_bytes() const override { return whole_.work_bytes(); }
  bool is_repeatable() const override { return !whole_.OverwritesInputs(); }
  /// Of each device.
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  bool has_rows() const { return options_.rows > 0 && options_.limit != 0; }
  absl::Status Sort(Lane& lane, const std::vector<RowResult>& results, Outcome& outcome) const;

  const ColumnSortOperation::Spec spec_;
  const ColumnSortOperation whole_;  // the same work on one device
  const TableShape shape_;
  const std::vector<int> devices_;
  const ShardedTable::Options options_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_COLUMN_SORT_H_
