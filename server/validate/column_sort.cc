#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/execute/column_sort_operation.h"
#include "server/execute/status_macros.h"
#include "server/respond/errors.h"
#include "server/validate/arrays.h"
#include "server/validate/order.h"
#include "server/validate/sort_parts.h"

namespace corank {
namespace {

// What a response takes for each column beside its bytes: tags, lengths, types and counts of two arrays.
constexpr int64_t kColumnOverheadBytes = 64;

absl::StatusOr<ColumnSortOperation::Column> CheckColumn(const v1::KeyColumn& message, const std::string& path) {
  const std::string data_path = path + ".data", offsets_path = path + ".offsets";
  const Field data{data_path}, offsets{offsets_path};
  ColumnSortOperation::Column column;
  CORANK_ASSIGN_OR_RETURN(column.data, CheckArray(message.has_data(), message.data(), data, ArrayUse::kMoved));
  CORANK_ASSIGN_OR_RETURN(column.order, CheckOrder(message.order(), path + ".order"));
  if (message.has_offsets()) {
    CORANK_ASSIGN_OR_RETURN(column.offsets, CheckArray(true, message.offsets(), offsets, ArrayUse::kInt64));
    if (column.data.type != v1::ELEMENT_TYPE_UINT8) {
      return InvalidField(data.Sub("type"), "uint8 where offsets are given: the bytes of the strings");
    }
    CORANK_RETURN_IF_ERROR(CheckRisingOffsets(*column.offsets, offsets, column.data.count, "strings", "bytes"));
  }
  CORANK_RETURN_IF_ERROR(CheckDestination(message.data_destination(), {path + ".data_destination"}));
  CORANK_RETURN_IF_ERROR(CheckDestination(message.offsets_destination(), {path + ".offsets_destination"}));
  return column;
}

// Bytes of the columns in a response of `rows` rows.
int64_t ResultBytes(const std::vector<ColumnSortOperation::Column>& columns, int64_t rows) {
  int64_t bytes = 0;
  for (const auto& column : columns) {
    bytes += kColumnOverheadBytes;
    if (column.offsets) {
      bytes += column.data.size_bytes() + (rows + 1) * static_cast<int64_t>(sizeof(int64_t));
    } else {
      bytes += rows * column.data.element_bytes;
    }
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> ValidateColumnSort(const v1::SortRequest& request, const Limits& limits) {
  constexpr absl::string_view kColumns = "key_columns";
  if (request.has_keys()) return InvalidField(kColumns, "not together with keys");
  if (request.key_columns_size() > kMaxKeyColumns) {
    return InvalidField(kColumns, absl::StrCat("1 to ", kMaxKeyColumns, " columns, not ", request.key_columns_size()));
  }
  if (request.order() != v1::SORT_ORDER_UNSPECIFIED) {
    return InvalidField("order", "not together with key_columns, each of which has its own");
  }
  if (request.has_segment_offsets()) return InvalidField("segment_offsets", "not together with key_columns");
  ColumnSortOperation::Spec spec;
  for (int i = 0; i < request.key_columns_size(); ++i) {
    const std::string path = absl::StrCat(kColumns, "[", i, "]");
    CORANK_ASSIGN_OR_RETURN(ColumnSortOperation::Column column, CheckColumn(request.key_columns(i), path));
    if (i > 0 && column.rows() != spec.rows()) {
      return InvalidField(path + (column.offsets ? ".offsets.count" : ".data.count"),
                          absl::StrCat(column.rows(), " rows, but key_columns[0] has ", spec.rows()));
    }
    spec.columns.push_back(std::move(column));
  }
  CORANK_ASSIGN_OR_RETURN(spec.algorithm, CheckSortAlgorithm(request.algorithm()));
  CORANK_ASSIGN_OR_RETURN(const SortOutputs outputs, CheckSortOutput(request.output()));
  spec.want_columns = outputs.keys;
  spec.want_indices = outputs.indices;
  CORANK_ASSIGN_OR_RETURN(spec.values, CheckSortValues(request, outputs));
  if (spec.values && spec.values->count != spec.rows()) {
    return InvalidField("values.count",
                        absl::StrCat(spec.values->count, " elements, but key_columns[0] has ", spec.rows(), " rows"));
  }
  CORANK_ASSIGN_OR_RETURN(spec.limit, CheckSortLimit(request));
  CORANK_RETURN_IF_ERROR(CheckSortDestinations(request));
  const int64_t rows = spec.limit >= 0 && spec.limit < spec.rows() ? spec.limit : spec.rows();
  const int64_t bytes = (spec.want_columns ? ResultBytes(spec.columns, rows) : 0) +
                        (spec.values ? rows * spec.values->element_bytes : 0) +
                        (spec.want_indices ? rows * IndexBytes(spec.rows() - 1) : 0);
  CORANK_RETURN_IF_ERROR(CheckResultBytes(bytes, 1, limits, {kColumns}));
  return std::make_unique<ColumnSortOperation>(std::move(spec));
}

}  // namespace corank
