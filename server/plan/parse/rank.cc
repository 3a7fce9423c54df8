#include "server/run/device_ops/rank.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/order.h"
#include "server/plan/parse/validate.h"

namespace corank {

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::RankRequest& request, const Limits& limits,
                                                    Places& places) {
  constexpr Field kRanked{"keys"};
  RankOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.keys, CheckArray(request.has_keys(), request.keys(), kRanked, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  if (!v1::RankMethod_IsValid(request.method())) {
    return InvalidField("method", absl::StrCat("not a known method: ", request.method()));
  }
  // They have the same numbers.
  if (request.method() != v1::RANK_METHOD_UNSPECIFIED) spec.method = static_cast<RankMethod>(request.method());
  spec.keys_sorted = request.keys_sorted();
  CORANK_RETURN_IF_ERROR(PlaceResults(
      {{&request.ranks_destination(), {"ranks_destination"}, RankBytes(spec.method, spec.keys.count), &spec.target}},
      spec.keys.count, limits, places, kRanked));
  return std::make_unique<RankOperation>(std::move(spec));
}

}  // namespace corank
