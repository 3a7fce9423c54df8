// Numbers of the contract's enums, and the values that they stand for.
#ifndef CORANK_SERVER_PLAN_PARSE_ENUMS_H_
#define CORANK_SERVER_PLAN_PARSE_ENUMS_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corank/v1/operators.pb.h"
#include "google/protobuf/repeated_field.h"
#include "kernels/common/types.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/field.h"

namespace corank {

/// The value of a number of an enum. `what`: names the enum in an error, such as "bound".
template <typename Value, typename Wire>
absl::StatusOr<Value> CheckEnum(Wire wire, absl::string_view field, absl::string_view what,
                                std::initializer_list<std::pair<Wire, Value>> known) {
  for (const auto& [number, value] : known) {
    if (number == wire) return value;
  }
  return InvalidField(field, absl::StrCat("not a known ", what, ": ", wire));
}

/// Sets the mark of each of a request's `outputs`; no mark is set before.
template <typename NameOf>
absl::Status MarkOutputs(const google::protobuf::RepeatedField<int>& outputs, const NameOf& name_of,
                         std::initializer_list<std::pair<int, bool*>> known) {
  for (int i = 0; i < outputs.size(); ++i) {
    const std::string field = Field{"outputs", i}.Path();
    CORANK_ASSIGN_OR_RETURN(bool* const mark, CheckEnum<bool*>(outputs[i], field, "output", known));
    if (*mark) return InvalidField(field, absl::StrCat(name_of(outputs[i]), " is already among the outputs"));
    *mark = true;
  }
  return absl::OkStatus();
}

/// Of Sort, key columns, Merge, Search and others.
inline absl::StatusOr<Order> CheckOrder(v1::SortOrder order, absl::string_view field = "order") {
  return CheckEnum<Order>(order, field, "order",
                          {{v1::SORT_ORDER_UNSPECIFIED, Order::kAscending},
                           {v1::SORT_ORDER_ASCENDING, Order::kAscending},
                           {v1::SORT_ORDER_DESCENDING, Order::kDescending}});
}

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_ENUMS_H_
