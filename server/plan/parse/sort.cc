#include "server/run/device_ops/sort.h"

#include <optional>
#include <utility>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/sort_parts.h"
#include "server/plan/parse/validate.h"

namespace corank {

absl::StatusOr<SortAlgorithm> CheckSortAlgorithm(v1::SortAlgorithm algorithm) {
  const std::optional<SortAlgorithm> known = FromWire(algorithm);
  if (!known.has_value()) return InvalidField("algorithm", absl::StrCat("not a known sort algorithm: ", algorithm));
  if (!IsRequestable(*known)) {
    return InvalidField("algorithm", absl::StrCat(v1::SortAlgorithm_Name(algorithm), " appears in responses only"));
  }
  return *known;
}

absl::StatusOr<SortOutputs> CheckSortOutput(v1::SortOutput output) {
  return CheckEnum<SortOutputs>(output, "output", "output",
                                {{v1::SORT_OUTPUT_UNSPECIFIED, {true, false, false}},
                                 {v1::SORT_OUTPUT_KEYS, {true, false, false}},
                                 {v1::SORT_OUTPUT_INDICES, {false, true, false}},
                                 {v1::SORT_OUTPUT_KEYS_AND_INDICES, {true, true, false}},
                                 {v1::SORT_OUTPUT_RANKS, {false, false, true}}});
}

absl::StatusOr<std::optional<Operand>> CheckSortValues(const v1::SortRequest& request, const SortOutputs& outputs,
                                                       Places& places) {
  if (!request.has_values()) return std::nullopt;
  constexpr Field kValues{"values"};
  if (outputs.indices) return InvalidField(kValues.Path(), "cannot be combined with an index output");
  if (outputs.ranks) return InvalidField(kValues.Path(), "cannot be combined with an output of ranks");
  return CheckArray(true, request.values(), kValues, ArrayUse::kMoved, places);
}

absl::StatusOr<int64_t> CheckSortLimit(const v1::SortRequest& request) {
  if (!request.has_limit()) return -1;
  if (request.limit() < 0) return InvalidField("limit", absl::StrCat("must be 0 or more, not ", request.limit()));
  return request.limit();
}

absl::StatusOr<int64_t> CheckSortOffset(const v1::SortRequest& request, const SortOutputs& outputs) {
  if (!request.has_offset()) return 0;
  if (request.offset() < 0) return InvalidField("offset", absl::StrCat("must be 0 or more, not ", request.offset()));
  if (request.has_segment_offsets()) {
    return InvalidField("offset", "cannot be combined with segment_offsets; sort without it and skip results instead");
  }
  if (outputs.ranks) return InvalidField("offset", "cannot be combined with an output of ranks, which are of all rows");
  return request.offset();
}

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::SortRequest& request, const Limits& limits,
                                                    Places& places) {
  if (request.key_columns_size() > 0) return ValidateColumnSort(request, limits, places);
  if (request.has_run_offsets()) {
    return InvalidField("run_offsets", "needs key_columns; Merge takes sorted keys");
  }
  constexpr Field kKeys{"keys"};
  SortOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.keys, CheckArray(request.has_keys(), request.keys(), kKeys, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  CORANK_ASSIGN_OR_RETURN(spec.algorithm, CheckSortAlgorithm(request.algorithm()));
  CORANK_ASSIGN_OR_RETURN(const SortOutputs outputs, CheckSortOutput(request.output()));
  if (outputs.ranks) return InvalidField("output", "ranks need key_columns, of which there may be one");
  spec.want_keys = outputs.keys;
  spec.want_indices = outputs.indices;
  CORANK_ASSIGN_OR_RETURN(spec.values, CheckSortValues(request, outputs, places));
  if (spec.values) CORANK_RETURN_IF_ERROR(CheckSameCount(*spec.values, {"values"}, spec.keys, kKeys));
  CORANK_ASSIGN_OR_RETURN(spec.segment_offsets, CheckSegments(request.has_segment_offsets(), request.segment_offsets(),
                                                              KnownCount(spec.keys), "keys", places));
  CORANK_ASSIGN_OR_RETURN(spec.limit, CheckSortLimit(request));
  CORANK_ASSIGN_OR_RETURN(spec.offset, CheckSortOffset(request, outputs));
  std::shared_ptr<ResultTarget> no_ranks;
  const int64_t key_bytes = spec.want_keys ? spec.keys.element_bytes : 0;
  const int64_t index_bytes = spec.want_indices ? IndexBytes(spec.keys.count - 1) : 0;
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.keys_destination(), {"keys_destination"}, key_bytes, &spec.keys_target},
                    {&request.values_destination(), {"values_destination"}, BytesOf(spec.values), &spec.values_target},
                    {&request.indices_destination(), {"indices_destination"}, index_bytes, &spec.indices_target},
                    {&request.ranks_destination(), {"ranks_destination"}, 0, &no_ranks}},
                   spec.result_count(), limits, places, kKeys));
  return std::make_unique<SortOperation>(std::move(spec));
}

}  // namespace corank
