#include "server/plan/parse/columns.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"

namespace corank {
namespace {

absl::StatusOr<NullOrder> CheckNulls(v1::NullOrder nulls, absl::string_view field) {
  return CheckEnum<NullOrder>(nulls, field, "order of nulls",
                              {{v1::NULL_ORDER_UNSPECIFIED, NullOrder::kLast},
                               {v1::NULL_ORDER_LAST, NullOrder::kLast},
                               {v1::NULL_ORDER_FIRST, NullOrder::kFirst}});
}

absl::StatusOr<NanOrder> CheckNans(v1::NanOrder nans, absl::string_view field) {
  return CheckEnum<NanOrder>(nans, field, "order of NaNs",
                             {{v1::NAN_ORDER_UNSPECIFIED, NanOrder::kGreatest},
                              {v1::NAN_ORDER_GREATEST, NanOrder::kGreatest},
                              {v1::NAN_ORDER_BESIDE_NULLS, NanOrder::kBesideNulls},
                              {v1::NAN_ORDER_AS_NULLS, NanOrder::kAsNulls}});
}

absl::StatusOr<InputColumn> CheckColumn(const v1::KeyColumn& message, const std::string& path, Places& places) {
  const std::string data_path = path + ".data", offsets_path = path + ".offsets", validity_path = path + ".validity";
  const Field data{data_path}, offsets{offsets_path}, validity{validity_path};
  InputColumn column;
  CORANK_ASSIGN_OR_RETURN(column.data, CheckArray(message.has_data(), message.data(), data, ArrayUse::kMoved, places));
  CORANK_ASSIGN_OR_RETURN(column.order, CheckOrder(message.order(), path + ".order"));
  CORANK_ASSIGN_OR_RETURN(column.nulls, CheckNulls(message.nulls(), path + ".nulls"));
  CORANK_ASSIGN_OR_RETURN(column.nans, CheckNans(message.nans(), path + ".nans"));
  if (message.has_offsets()) {
    CORANK_ASSIGN_OR_RETURN(column.offsets, CheckArray(true, message.offsets(), offsets, ArrayUse::kInt64, places));
    if (column.data.type != v1::ELEMENT_TYPE_UINT8) {
      return InvalidField(data.Sub("type"), "must be uint8 with offsets: the bytes of the strings");
    }
    if (!column.offsets->is_pending) {
      CORANK_RETURN_IF_ERROR(
          CheckRisingOffsets(Int64View(*column.offsets), offsets_path, KnownCount(column.data), "strings", "bytes"));
    }
  }
  if (message.has_validity()) {
    CORANK_ASSIGN_OR_RETURN(column.validity, CheckArray(true, message.validity(), validity, ArrayUse::kMoved, places));
    CORANK_RETURN_IF_ERROR(
        CheckValidity(*column.validity, validity, column.has_rows() ? std::optional(column.rows()) : std::nullopt));
  }
  return column;
}

}  // namespace

absl::StatusOr<std::vector<InputColumn>> CheckColumns(const KeyColumns& messages, absl::string_view name,
                                                      Places& places) {
  if (messages.size() > kMaxKeyColumns) {
    return InvalidField(name, absl::StrCat("must have 1 to ", kMaxKeyColumns, " columns, not ", messages.size()));
  }
  std::vector<InputColumn> columns;
  for (int i = 0; i < messages.size(); ++i) {
    const std::string path = absl::StrCat(name, "[", i, "]");
    CORANK_ASSIGN_OR_RETURN(InputColumn column, CheckColumn(messages[i], path, places));
    if (i > 0 && column.has_rows() && columns[0].has_rows() && column.rows() != columns[0].rows()) {
      return InvalidField(path + (column.offsets ? ".offsets.count" : ".data.count"),
                          absl::StrCat(column.rows(), " rows, but ", name, "[0] has ", columns[0].rows()));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace corank
