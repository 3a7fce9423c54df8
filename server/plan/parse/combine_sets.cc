#include "server/run/device_ops/combine_sets.h"

#include <utility>

#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

constexpr Field kLeft{"left"}, kRight{"right"}, kLeftValues{"left_values"}, kRightValues{"right_values"};

absl::StatusOr<SetOperation> CheckOperation(v1::SetOperation operation) {
  if (operation == v1::SET_OPERATION_UNSPECIFIED) {
    return InvalidField("operation", "required: union, intersection, difference or symmetric difference");
  }
  return CheckEnum<SetOperation>(operation, "operation", "set operation",
                                 {{v1::SET_OPERATION_UNION, SetOperation::kUnion},
                                  {v1::SET_OPERATION_INTERSECTION, SetOperation::kIntersection},
                                  {v1::SET_OPERATION_DIFFERENCE, SetOperation::kDifference},
                                  {v1::SET_OPERATION_SYMMETRIC_DIFFERENCE, SetOperation::kSymmetricDifference}});
}

absl::Status CheckValues(const v1::CombineSetsRequest& request, CombineSetsOperation::Spec& spec, Places& places) {
  const bool needs_right = !IsFromLeftOnly(spec.operation);
  if (request.count_only() && (request.has_left_values() || request.has_right_values())) {
    return InvalidField((request.has_left_values() ? kLeftValues : kRightValues).Path(), "not allowed with count_only");
  }
  if (request.has_right_values() && !needs_right) {
    return InvalidField(kRightValues.Path(),
                        "not allowed for an intersection or a difference: every key of the result "
                        "is from the left side");
  }
  if (request.has_right_values() && !request.has_left_values()) {
    return InvalidField(kLeftValues.Path(), "required, because there are right_values");
  }
  if (!request.has_left_values()) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(spec.left_values,
                          CheckArray(true, request.left_values(), kLeftValues, ArrayUse::kMoved, places));
  CORANK_RETURN_IF_ERROR(CheckSameCount(*spec.left_values, kLeftValues, spec.left, kLeft));
  if (!needs_right) return absl::OkStatus();
  if (!request.has_right_values()) {
    return InvalidField(kRightValues.Path(),
                        "required, because there are left_values and keys may come from the right "
                        "side");
  }
  CORANK_ASSIGN_OR_RETURN(spec.right_values,
                          CheckArray(true, request.right_values(), kRightValues, ArrayUse::kMoved, places));
  CORANK_RETURN_IF_ERROR(CheckSameType(*spec.right_values, kRightValues, *spec.left_values, kLeftValues));
  return CheckSameCount(*spec.right_values, kRightValues, spec.right, kRight);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::CombineSetsRequest& request, const Limits& limits,
                                                    Places& places) {
  CombineSetsOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.operation, CheckOperation(request.operation()));
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  CORANK_ASSIGN_OR_RETURN(spec.left, CheckArray(request.has_left(), request.left(), kLeft, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.right,
                          CheckArray(request.has_right(), request.right(), kRight, ArrayUse::kKeys, places));
  CORANK_RETURN_IF_ERROR(CheckSameType(spec.right, kRight, spec.left, kLeft));
  int64_t total = 0;
  if (__builtin_add_overflow(spec.left.count, spec.right.count, &total)) {
    return InvalidField(kRight.Sub("count"), "both sides together have more than 2^63 elements");
  }
  CORANK_RETURN_IF_ERROR(CheckValues(request, spec, places));
  spec.count_only = request.count_only();
  const int64_t key_bytes = spec.count_only ? 0 : spec.left.element_bytes;
  CORANK_RETURN_IF_ERROR(PlaceResults(
      {{&request.keys_destination(), {"keys_destination"}, key_bytes, &spec.keys_target},
       {&request.values_destination(), {"values_destination"}, BytesOf(spec.left_values), &spec.values_target}},
      MostResults(spec.operation, spec.left.count, spec.right.count), limits, places, kLeft));
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.count_destination(), {"count_destination"}, spec.count_only ? 8 : 0, &spec.count_target}},
                   1, limits, places, {"count_only"}));
  return std::make_unique<CombineSetsOperation>(std::move(spec));
}

}  // namespace corank
