#include "server/run/device_ops/select.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

constexpr Field kElements{"elements"}, kSelectedValues{"values"}, kFlags{"flags"}, kBitmap{"bitmap"},
    kPositionsField{"positions"}, kThreshold{"threshold"};

absl::StatusOr<Comparison> CheckComparison(const v1::SelectRequest& request) {
  if (request.comparison() == v1::COMPARISON_UNSPECIFIED) {
    return InvalidField("comparison", "required with a threshold: less, equal, greater or a combination of two");
  }
  return CheckEnum<Comparison>(request.comparison(), "comparison", "comparison",
                               {{v1::COMPARISON_LESS, Comparison::kLess},
                                {v1::COMPARISON_EQUAL, Comparison::kEqual},
                                {v1::COMPARISON_LESS_OR_EQUAL, Comparison::kLessOrEqual},
                                {v1::COMPARISON_GREATER, Comparison::kGreater},
                                {v1::COMPARISON_NOT_EQUAL, Comparison::kNotEqual},
                                {v1::COMPARISON_GREATER_OR_EQUAL, Comparison::kGreaterOrEqual}});
}

// Checks the array that decides, of this type and length. A count of -1: any.
absl::Status CheckPredicate(const v1::Array& array, Field field, v1::ElementType type, const char* type_name,
                            int64_t count, SelectOperation::Spec& spec, Places& places) {
  CORANK_ASSIGN_OR_RETURN(spec.predicate, CheckArray(true, array, field, ArrayUse::kMoved, places));
  if (spec.predicate.type != type) return InvalidField(field.Sub("type"), absl::StrCat("must be ", type_name));
  if (count < 0 || !spec.predicate.has_count || !spec.elements.has_count || spec.predicate.count == count)
    return absl::OkStatus();
  return InvalidField(field.Sub("count"), absl::StrCat("must be ", count, " for ", spec.elements.count,
                                                       " elements, not ", spec.predicate.count));
}

absl::Status CheckPredicates(const v1::SelectRequest& request, SelectOperation::Spec& spec, Places& places) {
  const int predicates = static_cast<int>(request.has_flags()) + static_cast<int>(request.has_bitmap()) +
                         static_cast<int>(request.has_positions()) + static_cast<int>(request.has_threshold());
  if (predicates != 1) {
    return InvalidField(kFlags.Path(), "exactly one of flags, bitmap, positions and threshold is required");
  }
  if (!request.has_threshold() && request.comparison() != v1::COMPARISON_UNSPECIFIED) {
    return InvalidField("comparison", "not allowed without a threshold");
  }
  if (request.has_flags()) {
    spec.by = SelectBy::kFlags;
    return CheckPredicate(request.flags(), kFlags, v1::ELEMENT_TYPE_UINT8, "UINT8", spec.elements.count, spec, places);
  }
  if (request.has_bitmap()) {
    spec.by = SelectBy::kBitmap;
    return CheckPredicate(request.bitmap(), kBitmap, v1::ELEMENT_TYPE_UINT8, "UINT8", BitmapBytes(spec.elements.count),
                          spec, places);
  }
  if (request.has_positions()) {
    spec.by = SelectBy::kPositions;
    return CheckPredicate(request.positions(), kPositionsField, v1::ELEMENT_TYPE_INT64, "INT64", -1, spec, places);
  }
  spec.by = SelectBy::kThreshold;
  CORANK_ASSIGN_OR_RETURN(spec.comparison, CheckComparison(request));
  CORANK_ASSIGN_OR_RETURN(spec.predicate, CheckArray(true, request.threshold(), kThreshold, ArrayUse::kKeys, places));
  CORANK_RETURN_IF_ERROR(CheckSameType(spec.predicate, kThreshold, spec.elements, kElements));
  if (!spec.predicate.has_count || spec.predicate.count == 1) return absl::OkStatus();
  return InvalidField(kThreshold.Sub("count"), absl::StrCat("must be 1, not ", spec.predicate.count));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::SelectRequest& request, const Limits& limits,
                                                    Places& places) {
  SelectOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.elements,
                          CheckArray(request.has_elements(), request.elements(), kElements, ArrayUse::kMoved, places));
  if (request.has_values()) {
    CORANK_ASSIGN_OR_RETURN(spec.values, CheckArray(true, request.values(), kSelectedValues, ArrayUse::kMoved, places));
    CORANK_RETURN_IF_ERROR(CheckSameCount(*spec.values, kSelectedValues, spec.elements, kElements));
  }
  CORANK_RETURN_IF_ERROR(CheckPredicates(request, spec, places));
  if (request.outputs_size() == 0) spec.wants_elements = true;
  CORANK_RETURN_IF_ERROR(MarkOutputs(request.outputs(), v1::SelectOutput_Name<int>,
                                     {{v1::SELECT_OUTPUT_ELEMENTS, &spec.wants_elements},
                                      {v1::SELECT_OUTPUT_INDICES, &spec.wants_indices},
                                      {v1::SELECT_OUTPUT_COUNT, &spec.wants_count}}));
  spec.negate = request.negate();
  spec.partition = request.partition();
  const int64_t element_bytes = spec.wants_elements ? spec.elements.element_bytes : 0;
  const int64_t index_bytes = spec.wants_indices ? IndexBytes(spec.elements.count - 1) : 0;
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.elements_destination(), {"elements_destination"}, element_bytes, &spec.elements_target},
                    {&request.values_destination(), {"values_destination"}, BytesOf(spec.values), &spec.values_target},
                    {&request.indices_destination(), {"indices_destination"}, index_bytes, &spec.indices_target}},
                   spec.elements.count, limits, places, kElements));
  CORANK_RETURN_IF_ERROR(PlaceResults(
      {{&request.count_destination(), {"count_destination"}, spec.wants_count ? 8 : 0, &spec.count_target}}, 1, limits,
      places, {"outputs"}));
  return std::make_unique<SelectOperation>(std::move(spec));
}

}  // namespace corank
