// Sort of segments on several devices at a time.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SEGMENT_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SEGMENT_SORT_H_

#include <cstdint>
#include <vector>

#include "server/run/device_ops/column_sort.h"
#include "server/run/device_ops/sort.h"
#include "server/run/sharded_segments.h"
#include "server/run/table.h"

namespace corank {

/// Of keys.
class ShardedSegmentSort final : public ShardedSegments {
 public:
  /// ShardedSegments::Takes.
  static bool Takes(const SortOperation& whole);

  ShardedSegmentSort(SortOperation::Spec sort, uint64_t devices);

 private:
  int64_t TileBytes(int64_t rows, int64_t segments, const Engine& engine) const override;
  absl::StatusOr<std::vector<const void*>> SortTile(EngineStream& stream, const SegmentTile& tile,
                                                    OperatorReport* report) const override;

  const SortOperation::Spec spec_;
  const RowShape shape_;
};

/// Of rows by columns.
class ShardedSegmentColumnSort final : public ShardedSegments {
 public:
  /// ShardedSegments::Takes, without strings.
  static bool Takes(const ColumnSortOperation& whole);

  ShardedSegmentColumnSort(ColumnSortOperation::Spec sort, uint64_t devices);

 private:
  int64_t TileBytes(int64_t rows, int64_t segments, const Engine& engine) const override;
  absl::StatusOr<std::vector<const void*>> SortTile(EngineStream& stream, const SegmentTile& tile,
                                                    OperatorReport* report) const override;

  const ColumnSortOperation::Spec spec_;
  const TableShape shape_;  // without segments
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SHARDED_SEGMENT_SORT_H_
