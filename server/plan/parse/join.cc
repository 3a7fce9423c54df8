#include "server/run/device_ops/join.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

constexpr Field kLeftKeys{"left"}, kRightKeys{"right"}, kMaxRows{"max_rows"};

absl::StatusOr<JoinKind> CheckJoinKind(v1::JoinKind kind) {
  if (kind == v1::JOIN_KIND_UNSPECIFIED) {
    return InvalidField("kind", "required: inner, left, right, full, semi or anti");
  }
  return CheckEnum<JoinKind>(kind, "kind", "kind of join",
                             {{v1::JOIN_KIND_INNER, JoinKind::kInner},
                              {v1::JOIN_KIND_LEFT, JoinKind::kLeft},
                              {v1::JOIN_KIND_RIGHT, JoinKind::kRight},
                              {v1::JOIN_KIND_FULL, JoinKind::kFull},
                              {v1::JOIN_KIND_SEMI, JoinKind::kSemi},
                              {v1::JOIN_KIND_ANTI, JoinKind::kAnti}});
}

// The rows of the result to plan for.
absl::StatusOr<int64_t> CheckMaxRows(const v1::JoinRequest& request, const JoinOperation::Spec& spec) {
  int64_t both = 0;
  if (__builtin_add_overflow(spec.left.count, spec.right.count, &both)) {
    return InvalidField(kRightKeys.Sub("count"), "both sides together have more than 2^63 elements");
  }
  if (!request.has_max_rows()) return std::min(both, MostJoinedRows(spec.kind, spec.left.count, spec.right.count));
  if (spec.count_only) return InvalidField(kMaxRows.Path(), "not allowed with count_only");
  if (request.max_rows() < 0) {
    return InvalidField(kMaxRows.Path(), absl::StrCat("must be 0 or more, not ", request.max_rows()));
  }
  return std::min(request.max_rows(), MostJoinedRows(spec.kind, spec.left.count, spec.right.count));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::JoinRequest& request, const Limits& limits,
                                                    Places& places) {
  JoinOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.kind, CheckJoinKind(request.kind()));
  CORANK_ASSIGN_OR_RETURN(spec.left,
                          CheckArray(request.has_left(), request.left(), kLeftKeys, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.right,
                          CheckArray(request.has_right(), request.right(), kRightKeys, ArrayUse::kKeys, places));
  CORANK_RETURN_IF_ERROR(CheckSameType(spec.right, kRightKeys, spec.left, kLeftKeys));
  spec.right_sorted = request.right_sorted();
  spec.count_only = request.count_only();
  CORANK_ASSIGN_OR_RETURN(spec.max_rows, CheckMaxRows(request, spec));
  const int row_bytes = spec.count_only ? 0 : JoinIndexBytes(spec.left.count, spec.right.count);
  const int right_bytes = IsLeftOnly(spec.kind) ? 0 : row_bytes;
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.left_rows_destination(), {"left_rows_destination"}, row_bytes, &spec.left_target},
                    {&request.right_rows_destination(), {"right_rows_destination"}, right_bytes, &spec.right_target}},
                   spec.max_rows, limits, places, request.has_max_rows() ? kMaxRows : kLeftKeys));
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.count_destination(), {"count_destination"}, spec.count_only ? 8 : 0, &spec.count_target}},
                   1, limits, places, {"count_only"}));
  return std::make_unique<JoinOperation>(std::move(spec));
}

}  // namespace corank
