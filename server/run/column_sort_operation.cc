#include "server/run/column_sort_operation.h"

#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"

namespace corank {

ColumnSortOperation::ColumnSortOperation(Spec spec) : spec_(std::move(spec)), columns_(spec_.columns.size()) {
  args_.columns = columns_.data();
  args_.column_count = static_cast<int32_t>(columns_.size());
  args_.algorithm = spec_.algorithm;
  args_.count = spec_.rows();
  args_.limit = spec_.limit;
  const int64_t count = args_.ResultCount();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& from = spec_.columns[i];
    KeyColumn& column = columns_[i];
    column.order = from.order;
    if (from.offsets) {
      column.kind = ColumnKind::kStrings;
      column.data_bytes = from.data.size_bytes();
    } else if (from.data.type == v1::ELEMENT_TYPE_RECORD) {
      column.kind = ColumnKind::kBytes;
      column.row_bytes = from.data.element_bytes;
    } else {
      column.kind = ColumnKind::kNumbers;
      column.type = static_cast<KeyType>(from.data.type);  // keys have the numbers of corank.v1.ElementType
      column.row_bytes = from.data.element_bytes;
    }
    if (!spec_.want_columns) continue;
    results_.push_back(
        {ResultRole::kColumnData, from.data.type, from.data.element_bytes, from.result_count, from.data_target});
    if (from.offsets) {
      results_.push_back(
          {ResultRole::kColumnOffsets, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), count + 1, from.offsets_target});
    }
  }
  if (spec_.values) {
    args_.value_bytes = spec_.values->element_bytes;
    values_ = PendingResult{ResultRole::kValues, spec_.values->type, args_.value_bytes, count, spec_.values_target};
  }
  if (spec_.want_indices) {
    const int index_bytes = IndexBytes(args_.count - 1);
    indices_ = PendingResult{ResultRole::kIndices, IndexType(index_bytes), index_bytes, count, spec_.indices_target};
  }
}

int64_t ColumnSortOperation::work_bytes() const {
  int64_t bytes = spec_.values ? spec_.values->size_bytes() : 0;
  for (const Column& column : spec_.columns) {
    bytes += column.data.size_bytes() + (column.offsets ? column.offsets->size_bytes() : 0);
  }
  for (const PendingResult& result : results_) bytes += result.size_bytes();
  return bytes + (values_ ? values_->size_bytes() : 0) + (indices_ ? indices_->size_bytes() : 0);
}

int64_t ColumnSortOperation::device_bytes(const Engine& engine) const {
  return work_bytes() + engine.WorkspaceBytes(args_);
}

absl::Status ColumnSortOperation::CopyIn(EngineStream& stream) {
  string_bytes_.clear();
  auto result = results_.begin();
  for (size_t i = 0; i < columns_.size(); ++i) {
    CORANK_ASSIGN_OR_RETURN(columns_[i].data, Upload(stream, spec_.columns[i].data));
    if (spec_.columns[i].offsets) {
      CORANK_ASSIGN_OR_RETURN(const void* offsets, Upload(stream, *spec_.columns[i].offsets));
      columns_[i].offsets = static_cast<const int64_t*>(offsets);
    }
    if (!spec_.want_columns) continue;
    CORANK_RETURN_IF_ERROR(result->Allocate(stream));
    columns_[i].data_out = result->buffer.device;
    const int64_t most_bytes = (result++)->size_bytes();
    if (spec_.columns[i].offsets) {
      // With a limit, strings may be shorter than their buffer, which is copied whole. Nobody may read the lane's
      // earlier data in the rest of it.
      if (args_.limit >= 0) CORANK_RETURN_IF_ERROR(stream.Zero(columns_[i].data_out, most_bytes));
      CORANK_RETURN_IF_ERROR(result->Allocate(stream));
      columns_[i].offsets_out = static_cast<int64_t*>((result++)->buffer.device);
    }
  }
  if (values_) {
    CORANK_ASSIGN_OR_RETURN(args_.values_in, Upload(stream, *spec_.values));
    CORANK_RETURN_IF_ERROR(values_->Allocate(stream));
    args_.values_out = values_->buffer.device;
  }
  if (indices_) {
    CORANK_RETURN_IF_ERROR(indices_->Allocate(stream));
    args_.indices_out = indices_->buffer.device;
  }
  return absl::OkStatus();
}

absl::Status ColumnSortOperation::Run(EngineStream& stream, OperatorReport* report) {
  return stream.SortColumns(args_, report);
}

absl::Status ColumnSortOperation::CopyOut(EngineStream& stream) {
  for (const PendingResult& result : results_) CORANK_RETURN_IF_ERROR(result.Check());
  for (const auto* result : {&values_, &indices_}) {
    if (*result) CORANK_RETURN_IF_ERROR((*result)->Check());
  }
  for (const PendingResult& result : results_) {
    CORANK_RETURN_IF_ERROR(result.Download(stream));
    if (result.role != ResultRole::kColumnOffsets) continue;
    CORANK_ASSIGN_OR_RETURN(void* last_offset, stream.AllocateHost(sizeof(int64_t)));
    const int64_t* const offsets = static_cast<const int64_t*>(result.buffer.device);
    CORANK_RETURN_IF_ERROR(stream.CopyToHost(last_offset, offsets + result.count - 1, sizeof(int64_t)));
    string_bytes_.push_back(static_cast<const int64_t*>(last_offset));
  }
  if (values_) CORANK_RETURN_IF_ERROR(values_->Download(stream));
  return indices_ ? indices_->Download(stream) : absl::OkStatus();
}

void ColumnSortOperation::Collect(const OperatorReport& report, Outcome& outcome) const {
  auto string_bytes = string_bytes_.begin();
  for (const PendingResult& result : results_) {
    outcome.results.push_back(result.Collect());
    if (result.role == ResultRole::kColumnOffsets) {
      outcome.results[outcome.results.size() - 2].count = **string_bytes++;
    }
  }
  if (values_) outcome.results.push_back(values_->Collect());
  if (indices_) outcome.results.push_back(indices_->Collect());
  outcome.sort_algorithm = ToWire(report.sort_algorithm);
}

absl::Status ColumnSortOperation::FaultStatus(const OperatorReport& report) const { return UnexpectedFault(report); }

}  // namespace corank
