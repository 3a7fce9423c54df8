// The order of keys, for Sort, key columns, Merge and Search.
#ifndef CORANK_SERVER_PLAN_PARSE_ORDER_H_
#define CORANK_SERVER_PLAN_PARSE_ORDER_H_

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corank/v1/operators.pb.h"
#include "kernels/common/types.h"
#include "server/base/errors.h"

namespace corank {

inline absl::StatusOr<Order> CheckOrder(v1::SortOrder order, absl::string_view field = "order") {
  switch (order) {
    case v1::SORT_ORDER_UNSPECIFIED:
    case v1::SORT_ORDER_ASCENDING:
      return Order::kAscending;
    case v1::SORT_ORDER_DESCENDING:
      return Order::kDescending;
    default:
      return InvalidField(field, absl::StrCat("not a known order: ", order));
  }
}

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_ORDER_H_
