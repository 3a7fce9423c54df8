#include "server/run/device_ops/column_sort.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/run/device_ops/sharded_column_sort.h"
#include "server/run/device_ops/sharded_segment_sort.h"
#include "server/run/external_column_sort.h"
#include "server/run/sharded_operation.h"

namespace corank {

// The results are, for each column, its data, its offsets (of strings) and its validity (if it has one); then the
// values, the indices and the ranks.
ColumnSortOperation::ColumnSortOperation(Spec spec) : spec_(std::move(spec)), columns_(spec_.columns.size()) {
  args_.columns = columns_.data();
  args_.column_count = static_cast<int32_t>(columns_.size());
  args_.algorithm = spec_.algorithm;
  args_.count = spec_.rows();
  args_.limit = spec_.limit;
  args_.offset = spec_.offset;
  if (!spec_.run_offsets.empty()) {
    args_.run_offsets = spec_.run_offsets.data();
    args_.run_count = static_cast<int32_t>(spec_.run_offsets.size()) - 1;
  }
  if (spec_.segment_offsets) {
    AddInput(spec_.segment_offsets, &args_.segment_offsets);
    // While nobody knows how many, one takes as much memory as others.
    args_.segment_count = spec_.segment_offsets->has_count ? spec_.segment_offsets->count - 1 : 1;
  }
  const int64_t count = spec_.result_count();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& from = spec_.columns[i];
    KeyColumn& column = columns_[i];
    column = KeyColumnOf(from);
    AddInput(from.data, &column.data);
    AddInput(from.offsets, &column.offsets);
    AddInput(from.validity, &column.validity);
    if (!spec_.want_columns) continue;
    AddResult({ResultRole::kColumnData, from.data.type, from.data.element_bytes, from.result_count, from.data_target},
              &column.data_out);
    if (from.offsets) {
      AddResult({ResultRole::kColumnOffsets, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), count + 1, from.offsets_target},
                &column.offsets_out);
    }
    if (from.validity) {
      AddResult({ResultRole::kColumnValidity, v1::ELEMENT_TYPE_UINT8, 1, ValidityBytes(count), from.validity_target},
                &column.validity_out);
    }
  }
  if (spec_.values) {
    args_.value_bytes = spec_.values->element_bytes;
    AddInput(spec_.values, &args_.values_in);
    AddResult({ResultRole::kValues, spec_.values->type, args_.value_bytes, count, spec_.values_target},
              &args_.values_out);
  }
  if (spec_.want_indices) {
    const int index_bytes = IndexBytes(args_.count - 1);
    AddResult({ResultRole::kIndices, IndexType(index_bytes), index_bytes, count, spec_.indices_target},
              &args_.indices_out);
  }
  if (spec_.want_ranks) {
    const int rank_bytes = IndexBytes(args_.count);
    AddResult({ResultRole::kRanks, IndexType(rank_bytes), rank_bytes, args_.count, spec_.ranks_target},
              &args_.ranks_out);
  }
}

std::unique_ptr<const ExternalWork> ColumnSortOperation::external() const { return ExternalColumnSort::For(spec_); }

std::vector<const Operand*> ColumnSortOperation::ArraysOf(const Spec& sort) {
  std::vector<const Operand*> arrays;
  for (const Column& column : sort.columns) {
    arrays.push_back(&column.data);
    if (column.validity) arrays.push_back(&*column.validity);
  }
  if (sort.values) arrays.push_back(&*sort.values);
  return arrays;
}

Sharing ColumnSortOperation::sharing() const {
  const auto arrays = static_cast<int64_t>(ArraysOf(spec_).size());
  if (ShardedSegmentColumnSort::Takes(*this)) return {arrays, Exchange::kNone};
  if (!ShardedColumnSortOperation::Takes(spec_)) return {};
  return {arrays, Exchange::kCopies, ShardedColumnSortOperation::kCost};
}

std::unique_ptr<Operation> ColumnSortOperation::Sharded(const DeviceGroup& by) const {
  if (spec_.segment_offsets) return std::make_unique<ShardedSegmentColumnSort>(spec_, by.devices);
  return std::make_unique<ShardedColumnSortOperation>(spec_, by);
}

absl::Status ColumnSortOperation::CheckShards(int) const {
  for (size_t i = 0; i < spec_.columns.size(); ++i) {
    const Column& column = spec_.columns[i];
    if (!column.offsets || !IsSharded(column.data_target)) continue;
    return FieldError(v1::ERROR_REASON_PLACE_NOT_SUPPORTED,
                      absl::StrCat("key_columns[", i, "].data_destination.stored.sharded"),
                      "sorted strings of variable length are not sharded; keep them without sharding");
  }
  return absl::OkStatus();
}

absl::Status ColumnSortOperation::CopyIn(EngineStream& stream) {
  string_bytes_.clear();
  CORANK_RETURN_IF_ERROR(PhasedOperation::CopyIn(stream));
  // With a limit or an offset, strings may be shorter than their buffer, which is copied whole. Nobody may read the
  // lane's earlier data in the rest of it.
  const bool has_fewer = args_.limit >= 0 || args_.offset > 0;
  for (size_t i = 1; i < results().size() && has_fewer; ++i) {
    const PendingResult& data = results()[i - 1];
    if (results()[i].role != ResultRole::kColumnOffsets) continue;
    CORANK_RETURN_IF_ERROR(stream.Zero(data.buffer.device, data.size_bytes()));
  }
  return absl::OkStatus();
}

absl::Status ColumnSortOperation::CopyOut(EngineStream& stream) {
  CORANK_RETURN_IF_ERROR(PhasedOperation::CopyOut(stream));
  for (const PendingResult& result : results()) {
    if (result.role != ResultRole::kColumnOffsets) continue;
    CORANK_ASSIGN_OR_RETURN(void* last_offset, stream.AllocateHost(sizeof(int64_t)));
    const int64_t* const offsets = static_cast<const int64_t*>(result.buffer.device);
    CORANK_RETURN_IF_ERROR(stream.CopyToHost(last_offset, offsets + result.count - 1, sizeof(int64_t)));
    string_bytes_.push_back(static_cast<const int64_t*>(last_offset));
  }
  return absl::OkStatus();
}

void ColumnSortOperation::Collect(const OperatorReport& report, Outcome& outcome) const {
  PhasedOperation::Collect(report, outcome);
  auto string_bytes = string_bytes_.begin();
  for (size_t i = 1; i < outcome.results.size(); ++i) {
    if (outcome.results[i].role == ResultRole::kColumnOffsets) outcome.results[i - 1].count = **string_bytes++;
  }
  outcome.sort_algorithm = ToWire(report.sort_algorithm);
}

absl::Status ColumnSortOperation::FaultStatus(const OperatorReport& report) const {
  if (report.fault != OperatorReport::Fault::kUnsorted || spec_.run_offsets.empty()) return UnexpectedFault(report);
  const auto run = static_cast<size_t>(report.input);
  return UnsortedRun(run, spec_.run_offsets[run] + report.index);
}

absl::Status ColumnSortOperation::UnsortedRun(size_t run, int64_t row) {
  return FieldError(
      v1::ERROR_REASON_KEYS_NOT_SORTED, absl::StrCat("run_offsets[", run, "]"),
      absl::StrCat("the run is not sorted by its columns: row ", row, " of the table comes before row ", row - 1),
      {{"index", absl::StrCat(row)}});
}

}  // namespace corank
