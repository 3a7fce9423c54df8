// Sort by several key columns.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_COLUMN_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_COLUMN_SORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/model/offsets.h"
#include "server/model/operand.h"
#include "server/run/device_ops/input_column.h"
#include "server/run/operation.h"

namespace corank {

class ColumnSortOperation final : public PhasedOperation {
 public:
  struct Column : InputColumn {
    int64_t result_count = 0;  // elements of `data` in the result; an upper bound for strings
    std::shared_ptr<ResultTarget> data_target = nullptr, offsets_target = nullptr, validity_target = nullptr;
  };
  struct Spec {
    std::vector<Column> columns;  // 1 to kMaxKeyColumns, all with the same number of rows
    std::optional<Operand> values;
    std::optional<Operand> segment_offsets = {};
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    bool want_columns = true;
    bool want_indices = false;
    bool want_ranks = false;
    int64_t limit = -1;  // of all, or of each segment; -1: all
    int64_t offset = 0;  // results that are left out before the limit counts; 0 with segments
    /// Where each sorted run of rows begins, and where the last one ends. Empty: rows are in no order. Until the
    /// offsets have arrived, others take as much memory.
    std::vector<int64_t> run_offsets = {};
    std::shared_ptr<ResultTarget> values_target = nullptr, indices_target = nullptr, ranks_target = nullptr;

    int64_t rows() const { return columns.front().rows(); }
    bool has_rows() const { return columns.front().has_rows(); }
    int64_t result_count() const { return LimitedCount(rows(), offset, limit, segment_offsets); }
  };
  explicit ColumnSortOperation(Spec spec);

  const Spec& spec() const { return spec_; }
  /// The arrays of a sort without strings, in the order of TableShape, without segments.
  static std::vector<const Operand*> ArraysOf(const Spec& sort);
  /// INVALID_ARGUMENT: row `row` of run `run` comes before the row in front of it.
  static absl::Status UnsortedRun(size_t run, int64_t row);

  Operator op() const override { return Operator::kSort; }
  std::unique_ptr<const ExternalWork> external() const override;
  Sharing sharing() const override;
  std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const override;
  absl::Status CheckShards(int devices) const override;
  int64_t device_bytes(const Engine& engine) const override { return work_bytes() + engine.WorkspaceBytes(args_); }
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.SortColumns(args_, report); }
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;

 private:
  const Spec spec_;
  std::vector<KeyColumn> columns_;
  ColumnSortArgs args_;
  std::vector<const int64_t*> string_bytes_;  // for each string column, in the stream's host memory
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_COLUMN_SORT_H_
