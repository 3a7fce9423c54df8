#include "server/run/device_ops/search.h"

#include <utility>

#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/order.h"
#include "server/plan/parse/validate.h"

namespace corank {

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::SearchRequest& request, const Limits& limits,
                                                    Places& places) {
  constexpr Field kHaystack{"haystack"};
  constexpr Field kNeedles{"needles"};
  SearchOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.haystack,
                          CheckArray(request.has_haystack(), request.haystack(), kHaystack, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.needles,
                          CheckArray(request.has_needles(), request.needles(), kNeedles, ArrayUse::kKeys, places));
  CORANK_RETURN_IF_ERROR(CheckSameType(spec.needles, kNeedles, spec.haystack, kHaystack));
  switch (request.bound()) {
    case v1::SEARCH_BOUND_UNSPECIFIED:
    case v1::SEARCH_BOUND_LOWER:
      spec.bound = SearchBound::kLower;
      break;
    case v1::SEARCH_BOUND_UPPER:
      spec.bound = SearchBound::kUpper;
      break;
    default:
      return InvalidField("bound", absl::StrCat("not a known bound: ", request.bound()));
  }
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  spec.check_sorted = !request.assume_sorted();
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.destination(), {"destination"}, IndexBytes(spec.haystack.count), &spec.target}},
                   spec.needles.count, limits, places, kNeedles));
  return std::make_unique<SearchOperation>(std::move(spec));
}

}  // namespace corank
