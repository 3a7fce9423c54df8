#include "server/run/device_ops/merge.h"

#include <optional>
#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

absl::StatusOr<MergeAlgorithm> CheckAlgorithm(v1::MergeAlgorithm algorithm) {
  const std::optional<MergeAlgorithm> known = FromWire(algorithm);
  if (!known.has_value()) return InvalidField("algorithm", absl::StrCat("not a known merge algorithm: ", algorithm));
  return *known;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::MergeRequest& request, const Limits& limits,
                                                    Places& places) {
  if (request.keys_size() < 2 || request.keys_size() > kMaxMergeInputs) {
    return InvalidField("keys", absl::StrCat("must have 2 to ", kMaxMergeInputs, " inputs, not ", request.keys_size()));
  }
  if (request.values_size() != 0 && request.values_size() != request.keys_size()) {
    return InvalidField("values", absl::StrCat("must have none, or one for each of the ", request.keys_size(),
                                               " inputs, not ", request.values_size()));
  }
  MergeOperation::Spec spec;
  spec.keys.reserve(static_cast<size_t>(request.keys_size()));
  spec.values.reserve(static_cast<size_t>(request.values_size()));
  int64_t total = 0;
  for (int i = 0; i < request.keys_size(); ++i) {
    const Field field{"keys", i};
    CORANK_ASSIGN_OR_RETURN(Operand keys, CheckArray(true, request.keys(i), field, ArrayUse::kKeys, places));
    if (i > 0) CORANK_RETURN_IF_ERROR(CheckSameType(keys, field, spec.keys[0], {"keys", 0}));
    if (__builtin_add_overflow(total, keys.count, &total)) {
      return InvalidField(field.Sub("count"), "the inputs up to here have more than 2^63 elements");
    }
    spec.keys.push_back(keys);
  }
  for (int i = 0; i < request.values_size(); ++i) {
    const Field field{"values", i};
    CORANK_ASSIGN_OR_RETURN(Operand values, CheckArray(true, request.values(i), field, ArrayUse::kMoved, places));
    if (i > 0) CORANK_RETURN_IF_ERROR(CheckSameType(values, field, spec.values[0], {"values", 0}));
    CORANK_RETURN_IF_ERROR(CheckSameCount(values, field, spec.keys[static_cast<size_t>(i)], {"keys", i}));
    spec.values.push_back(values);
  }
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  CORANK_ASSIGN_OR_RETURN(spec.algorithm, CheckAlgorithm(request.algorithm()));
  spec.check_sorted = !request.assume_sorted();
  const int64_t value_bytes = spec.values.empty() ? 0 : spec.values[0].element_bytes;
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.keys_destination(), {"keys_destination"}, spec.keys[0].element_bytes, &spec.keys_target},
                    {&request.values_destination(), {"values_destination"}, value_bytes, &spec.values_target}},
                   total, limits, places, {"keys"}));
  return std::make_unique<MergeOperation>(std::move(spec));
}

}  // namespace corank
