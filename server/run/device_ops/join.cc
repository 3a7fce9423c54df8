#include "server/run/device_ops/join.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace corank {

JoinOperation::JoinOperation(Spec spec) : spec_(std::move(spec)) {
  args_.key_type = KeyTypeOf(spec_.left.type);
  args_.kind = spec_.kind;
  args_.left_count = spec_.left.count;
  args_.right_count = spec_.right.count;
  args_.right_sorted = spec_.right_sorted;
  args_.count_only = spec_.count_only;
  AddInput(spec_.left, &args_.left);
  AddInput(spec_.right, &args_.right);
  if (spec_.count_only) {
    AddResult({ResultRole::kCount, v1::ELEMENT_TYPE_INT64, 8, 1, spec_.count_target}, &args_.count_out, true);
    return;
  }
  args_.max_rows = spec_.max_rows;
  const int index_bytes = JoinIndexBytes(args_.left_count, args_.right_count);
  const v1::ElementType type = index_bytes == 4 ? v1::ELEMENT_TYPE_INT32 : v1::ELEMENT_TYPE_INT64;
  AddResult({ResultRole::kLeftRows, type, index_bytes, spec_.max_rows, spec_.left_target}, &args_.left_out);
  if (IsLeftOnly(spec_.kind)) return;
  AddResult({ResultRole::kRightRows, type, index_bytes, spec_.max_rows, spec_.right_target}, &args_.right_out);
}

absl::StatusOr<int64_t> JoinOperation::Count() const {
  if (report_.unsorted >= 0) return NotSorted("right", report_.unsorted, Order::kAscending);
  if (spec_.count_only || report_.rows <= spec_.max_rows) return report_.rows;
  return FieldError(v1::ERROR_REASON_TOO_MANY_ROWS, "max_rows",
                    absl::StrCat("the join has ", report_.rows, " rows, and the request has room for ", spec_.max_rows,
                                 "; set max_rows to the number of rows"),
                    {{"rows", absl::StrCat(report_.rows)}});
}

}  // namespace corank
