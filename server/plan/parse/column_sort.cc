#include "server/run/device_ops/column_sort.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/columns.h"
#include "server/plan/parse/sort_parts.h"

namespace corank {
namespace {

// Upper bound of a response's overhead for each column: tags, lengths, types and counts of three arrays.
constexpr int64_t kColumnOverheadBytes = 96;

std::optional<int64_t> KnownRows(const ColumnSortOperation::Spec& spec) {
  return spec.has_rows() ? std::optional(spec.rows()) : std::nullopt;
}

absl::Status CheckValueCount(const Operand& values, const ColumnSortOperation::Spec& spec) {
  if (values.count == spec.rows() || !values.has_count || !spec.has_rows()) return absl::OkStatus();
  return InvalidField("values.count",
                      absl::StrCat(values.count, " elements, but key_columns[0] has ", spec.rows(), " rows"));
}

// Upper bound of the bytes of `rows` strings of a column. The exact number is known only after the sort.
int64_t MostStringBytes(const ColumnSortOperation::Column& column, int64_t rows) {
  const Int64View offsets(*column.offsets);
  if (column.offsets->is_pending || rows >= column.rows()) return column.data.count;
  int64_t longest = 0;
  for (int64_t i = 1; i < offsets.size(); ++i) longest = std::max(longest, offsets[i] - offsets[i - 1]);
  const bool are_fewer = rows == 0 || longest <= column.data.count / rows;  // their product does not overflow
  return are_fewer ? rows * longest : column.data.count;
}

// Finds the targets of a column's results, of `rows` rows, and adds the inline ones to `inline_bytes`.
absl::Status PlaceColumn(const v1::KeyColumn& message, const std::string& path, bool wanted, int64_t rows,
                         Places& places, ColumnSortOperation::Column& column, int64_t& inline_bytes) {
  const std::string data_path = path + ".data_destination", offsets_path = path + ".offsets_destination";
  const std::string validity_path = path + ".validity_destination";
  column.result_count = wanted && column.offsets ? MostStringBytes(column, rows) : rows;
  CORANK_ASSIGN_OR_RETURN(column.data_target, PlaceResult(message.data_destination(), {data_path}, column.result_count,
                                                          wanted ? column.data.element_bytes : 0, places));
  const bool with_offsets = wanted && column.offsets;
  CORANK_ASSIGN_OR_RETURN(column.offsets_target, PlaceResult(message.offsets_destination(), {offsets_path}, rows + 1,
                                                             with_offsets ? sizeof(int64_t) : 0, places));
  const bool with_validity = wanted && column.validity;
  CORANK_ASSIGN_OR_RETURN(column.validity_target, PlaceResult(message.validity_destination(), {validity_path},
                                                              ValidityBytes(rows), with_validity ? 1 : 0, places));
  if (!wanted) return absl::OkStatus();
  inline_bytes += kColumnOverheadBytes;
  if (IsInline(message.data_destination())) inline_bytes += column.result_count * column.data.element_bytes;
  if (with_offsets && IsInline(message.offsets_destination())) {
    inline_bytes += (rows + 1) * static_cast<int64_t>(sizeof(int64_t));
  }
  if (with_validity && IsInline(message.validity_destination())) inline_bytes += ValidityBytes(rows);
  return absl::OkStatus();
}

// The offsets of the runs; while they are pending, offsets of as many runs, or of the most if nobody announced how
// many.
absl::StatusOr<std::vector<int64_t>> CheckRuns(const v1::SortRequest& request, const ColumnSortOperation::Spec& spec,
                                               Places& places) {
  constexpr Field kRuns{"run_offsets"};
  CORANK_ASSIGN_OR_RETURN(const Operand offsets,
                          CheckArray(true, request.run_offsets(), kRuns, ArrayUse::kInt64, places));
  if (spec.algorithm != SortAlgorithm::kAuto) return InvalidField("algorithm", "cannot be combined with run_offsets");
  if (offsets.has_count && (offsets.count < 2 || offsets.count > kMaxMergeInputs + 1)) {
    return InvalidField(kRuns.Sub("count"),
                        absl::StrCat("must have 2 to ", kMaxMergeInputs + 1,
                                     " offsets, one more than there are runs, not ", offsets.count));
  }
  std::vector<int64_t> runs(static_cast<size_t>(offsets.has_count ? offsets.count : kMaxMergeInputs + 1), spec.rows());
  runs.front() = 0;
  if (offsets.is_pending) return runs;
  const Int64View given(offsets);
  CORANK_RETURN_IF_ERROR(CheckRisingOffsets(given, kRuns.name, KnownRows(spec), "runs", "rows"));
  for (size_t i = 0; i < runs.size(); ++i) runs[i] = given[static_cast<int64_t>(i)];
  return runs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> ValidateColumnSort(const v1::SortRequest& request, const Limits& limits,
                                                              Places& places) {
  constexpr absl::string_view kColumns = "key_columns";
  if (request.has_keys()) return InvalidField(kColumns, "cannot be combined with keys");
  if (request.order() != v1::SORT_ORDER_UNSPECIFIED) {
    return InvalidField("order", "cannot be combined with key_columns, which have their own");
  }
  ColumnSortOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(std::vector<InputColumn> columns, CheckColumns(request.key_columns(), kColumns, places));
  for (InputColumn& column : columns) spec.columns.push_back({std::move(column)});
  CORANK_ASSIGN_OR_RETURN(spec.algorithm, CheckSortAlgorithm(request.algorithm()));
  CORANK_ASSIGN_OR_RETURN(spec.segment_offsets, CheckSegments(request.has_segment_offsets(), request.segment_offsets(),
                                                              KnownRows(spec), "rows", places));
  if (request.has_run_offsets()) {
    if (spec.segment_offsets) return InvalidField("run_offsets", "cannot be combined with segments");
    CORANK_ASSIGN_OR_RETURN(spec.run_offsets, CheckRuns(request, spec, places));
  }
  CORANK_ASSIGN_OR_RETURN(const SortOutputs outputs, CheckSortOutput(request.output()));
  spec.want_columns = outputs.keys;
  spec.want_indices = outputs.indices;
  CORANK_ASSIGN_OR_RETURN(const std::optional<Operand> values, CheckSortValues(request, outputs, places));
  if (values) CORANK_RETURN_IF_ERROR(CheckValueCount(*values, spec));
  spec.values = values;
  CORANK_ASSIGN_OR_RETURN(spec.limit, CheckSortLimit(request));
  CORANK_ASSIGN_OR_RETURN(spec.offset, CheckSortOffset(request, outputs));
  spec.want_ranks = outputs.ranks;
  if (outputs.ranks && request.has_limit()) {
    return InvalidField("limit", "cannot be combined with an output of ranks, which are of all rows");
  }
  if (outputs.ranks && spec.segment_offsets) {
    return InvalidField("segment_offsets",
                        "cannot be combined with an output of ranks, which are of all rows; put the segment's number "
                        "into the first column instead");
  }
  if (!IsInline(request.keys_destination())) {
    return InvalidField("keys_destination", "cannot be combined with key_columns, which have their own");
  }
  const int64_t rows = spec.result_count();
  int64_t inline_bytes = 0;
  for (int i = 0; i < request.key_columns_size(); ++i) {
    CORANK_RETURN_IF_ERROR(PlaceColumn(request.key_columns(i), absl::StrCat(kColumns, "[", i, "]"), spec.want_columns,
                                       rows, places, spec.columns[static_cast<size_t>(i)], inline_bytes));
  }
  const int64_t value_bytes = BytesOf(spec.values);
  const int64_t index_bytes = spec.want_indices ? IndexBytes(spec.rows() - 1) : 0;
  CORANK_ASSIGN_OR_RETURN(spec.values_target,
                          PlaceResult(request.values_destination(), {"values_destination"}, rows, value_bytes, places));
  CORANK_ASSIGN_OR_RETURN(spec.indices_target, PlaceResult(request.indices_destination(), {"indices_destination"}, rows,
                                                           index_bytes, places));
  const int64_t rank_bytes = spec.want_ranks ? IndexBytes(spec.rows() - 1) : 0;
  CORANK_ASSIGN_OR_RETURN(spec.ranks_target,
                          PlaceResult(request.ranks_destination(), {"ranks_destination"}, rows, rank_bytes, places));
  if (IsInline(request.ranks_destination())) inline_bytes += rows * rank_bytes;
  if (IsInline(request.values_destination())) inline_bytes += rows * value_bytes;
  if (IsInline(request.indices_destination())) inline_bytes += rows * index_bytes;
  CORANK_RETURN_IF_ERROR(CheckResultBytes(inline_bytes, 1, limits, {kColumns}));
  return std::make_unique<ColumnSortOperation>(std::move(spec));
}

}  // namespace corank
