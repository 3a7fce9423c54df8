// Sorts tables by columns out of core.
#ifndef CORANK_SERVER_RUN_EXTERNAL_COLUMN_SORT_H_
#define CORANK_SERVER_RUN_EXTERNAL_COLUMN_SORT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "server/run/device_ops/column_sort.h"
#include "server/run/external_work.h"
#include "server/run/table.h"

namespace corank {

/// Sorts pieces of the table to runs in host memory. Then cuts the runs into tiles of the result: each tile's rows of
/// all runs, one run behind the other, go to the device, which sorts them again. Sorts are stable, so equal rows keep
/// their order.
class ExternalColumnSort final : public Operation {
 public:
  /// Null unless the sort can run this way: of columns of known length without ranks, whose arrays all
  /// come in chunks, with results for streams or a few rows for the response; or whose arrays lie in shared memory,
  /// small ones also inline, with results in host memory.
  static std::unique_ptr<const ExternalWork> For(const ColumnSortOperation::Spec& sort);
  /// Upper bound of its pinned memory. `parts`: number of calls that send chunks concurrently; 0: no chunks.
  static int64_t HostBytes(const ColumnSortOperation::Spec& sort, int64_t parts, const JobMemory& memory);

  ExternalColumnSort(ColumnSortOperation::Spec sort, ExternalMeans means)
      : spec_(std::move(sort)), means_(std::move(means)), shape_(spec_) {}

  Operator op() const override { return Operator::kSort; }
  int64_t work_bytes() const override;
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  bool waits_for_caller() const override { return means_.pipe != nullptr; }
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  absl::Status Sort(Lane& lane, Outcome& outcome);

  const ColumnSortOperation::Spec spec_;
  const ExternalMeans means_;
  const TableShape shape_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_EXTERNAL_COLUMN_SORT_H_
