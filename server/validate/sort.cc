#include <optional>
#include <utility>

#include "proto/wire_enums.h"
#include "server/execute/ordered_operations.h"
#include "server/execute/status_macros.h"
#include "server/validate/arrays.h"
#include "server/validate/order.h"
#include "server/validate/validate.h"

namespace corank {
namespace {

absl::StatusOr<SortAlgorithm> CheckAlgorithm(v1::SortAlgorithm algorithm) {
  const std::optional<SortAlgorithm> known = FromWire(algorithm);
  if (!known.has_value()) return InvalidField("algorithm", absl::StrCat("not a known sort algorithm: ", algorithm));
  if (known == SortAlgorithm::kCopy) return InvalidField("algorithm", "SORT_ALGORITHM_COPY is for responses only");
  return *known;
}

absl::Status CheckSegments(const Operand& offsets, const Operand& keys) {
  constexpr Field kField{"segment_offsets"};
  const Int64View view(offsets);
  if (view.size() == 0) return InvalidField(kField.Path(), "one offset more than there are segments, so at least one");
  if (view[0] != 0) return InvalidField(kField.Element(0), absl::StrCat("the first offset is 0, not ", view[0]));
  for (int64_t i = 1; i < view.size(); ++i) {
    if (view[i] < view[i - 1]) {
      return InvalidField(kField.Element(i),
                          absl::StrCat(view[i], " is smaller than the offset before it, ", view[i - 1]));
    }
  }
  const int64_t last = view.size() - 1;
  if (view[last] != keys.count) {
    return InvalidField(kField.Element(last),
                        absl::StrCat("the last offset is the number of keys, ", keys.count, ", not ", view[last]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::SortRequest& request, const Limits& limits) {
  constexpr Field kKeys{"keys"};
  constexpr Field kValues{"values"};
  SortOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.keys, CheckArray(request.has_keys(), request.keys(), kKeys, ArrayUse::kKeys));
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  CORANK_ASSIGN_OR_RETURN(spec.algorithm, CheckAlgorithm(request.algorithm()));
  switch (request.output()) {
    case v1::SORT_OUTPUT_UNSPECIFIED:
    case v1::SORT_OUTPUT_KEYS:
      break;
    case v1::SORT_OUTPUT_INDICES:
      spec.want_keys = false;
      spec.want_indices = true;
      break;
    case v1::SORT_OUTPUT_KEYS_AND_INDICES:
      spec.want_indices = true;
      break;
    default:
      return InvalidField("output", absl::StrCat("not a known output: ", request.output()));
  }
  if (request.has_values()) {
    if (spec.want_indices) return InvalidField(kValues.Path(), "not together with an index output");
    CORANK_ASSIGN_OR_RETURN(spec.values, CheckArray(true, request.values(), kValues, ArrayUse::kMoved));
    CORANK_RETURN_IF_ERROR(CheckSameCount(*spec.values, kValues, spec.keys, kKeys));
  }
  if (request.has_segment_offsets()) {
    CORANK_ASSIGN_OR_RETURN(spec.segment_offsets,
                            CheckArray(true, request.segment_offsets(), {"segment_offsets"}, ArrayUse::kInt64));
    CORANK_RETURN_IF_ERROR(CheckSegments(*spec.segment_offsets, spec.keys));
  }
  if (request.has_limit()) {
    if (request.limit() < 0) return InvalidField("limit", absl::StrCat("0 or more, not ", request.limit()));
    if (request.has_segment_offsets()) return InvalidField("limit", "not together with segments");
    spec.limit = request.limit();
  }
  CORANK_RETURN_IF_ERROR(CheckDestination(request.keys_destination(), {"keys_destination"}));
  CORANK_RETURN_IF_ERROR(CheckDestination(request.values_destination(), {"values_destination"}));
  CORANK_RETURN_IF_ERROR(CheckDestination(request.indices_destination(), {"indices_destination"}));
  const int64_t count = spec.limit >= 0 && spec.limit < spec.keys.count ? spec.limit : spec.keys.count;
  const int64_t element_bytes = (spec.want_keys ? spec.keys.element_bytes : 0) +
                                (spec.values ? spec.values->element_bytes : 0) +
                                (spec.want_indices ? IndexBytes(spec.keys.count - 1) : 0);
  CORANK_RETURN_IF_ERROR(CheckResultBytes(count, element_bytes, limits, kKeys));
  return std::make_unique<SortOperation>(std::move(spec));
}

}  // namespace corank
