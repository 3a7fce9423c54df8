// Sorts tables by columns out of core.
#ifndef CORANK_SERVER_RUN_EXTERNAL_COLUMN_SORT_H_
#define CORANK_SERVER_RUN_EXTERNAL_COLUMN_SORT_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/run/device_ops/column_sort.h"
#include "server/run/external_work.h"
#include "server/run/row_source.h"
#include "server/run/table.h"

namespace corank {

/// Sorts pieces of the table to runs in host memory, unless the caller brings sorted runs. Then cuts the runs into
/// tiles of the result: each tile's rows of all runs, one run behind the other, go to the device, which sorts them
/// again, or checks and merges the caller's runs. Sorts are stable, so equal rows keep their order. By segments, the
/// number of a row's segment is a column before the others, made on the host.
class ExternalColumnSort final : public ExternalOperation {
 public:
  /// Null unless the sort can run this way: without ranks, with arrays in streams or, beside others, small ones in the
  /// message, and results for streams or a few rows for the response; or with arrays in shared memory, small ones also
  /// inline, and results in host memory. Results of a merge lie apart from its inputs.
  static std::unique_ptr<const ExternalWork> For(const ColumnSortOperation::Spec& sort);
  /// Upper bound of its pinned memory. `parts`: number of calls that send chunks concurrently; 0: no chunks.
  static int64_t HostBytes(const ColumnSortOperation::Spec& sort, int64_t parts, const JobMemory& memory);

  ExternalColumnSort(ColumnSortOperation::Spec sort, ExternalMeans means)
      : ExternalOperation(ColumnSortOperation(sort), std::move(means)), spec_(std::move(sort)), shape_(spec_) {}

  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;

 private:
  absl::Status Work(Lane& lane, Outcome& outcome) override;
  // The number of each row's segment, in pinned memory. `field`: named by errors about too little memory.
  absl::StatusOr<Operand> SegmentNumbers(absl::string_view field) const;
  // The caller's own runs.
  std::vector<TableRun> GivenRuns(const std::vector<RowSource::Array>& inputs) const;
  // Names the first row of the runs that is out of order.
  absl::Status Unsorted(const std::vector<TableRun>& runs, Lane& lane) const;

  const ColumnSortOperation::Spec spec_;
  const TableShape shape_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_EXTERNAL_COLUMN_SORT_H_
