// Group and Rank.
#include "server/run/device_ops/group.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

constexpr Field kKeys{"keys"}, kValues{"values"}, kValidity{"values_validity"};

absl::Status CheckInput(const v1::GroupRequest& request, GroupOperation::Spec& spec) {
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  switch (request.input()) {
    case v1::GROUP_INPUT_UNSPECIFIED:
    case v1::GROUP_INPUT_UNSORTED:
      return absl::OkStatus();
    case v1::GROUP_INPUT_SORTED:
      spec.sorts = false;
      spec.check_sorted = true;
      return absl::OkStatus();
    case v1::GROUP_INPUT_RUNS:
      spec.sorts = false;
      if (request.order() == v1::SORT_ORDER_UNSPECIFIED) return absl::OkStatus();
      return InvalidField("order", "cannot be combined with GROUP_INPUT_RUNS, whose groups keep the order of the keys");
    default:
      return InvalidField("input", absl::StrCat("not a known input: ", request.input()));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::GroupRequest& request, const Limits& limits,
                                                    Places& places) {
  GroupOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.keys, CheckArray(request.has_keys(), request.keys(), kKeys, ArrayUse::kKeys, places));
  CORANK_RETURN_IF_ERROR(CheckInput(request, spec));
  if (request.outputs_size() == 0) spec.keys_out.is_wanted = spec.counts.is_wanted = true;
  CORANK_RETURN_IF_ERROR(MarkOutputs(request.outputs(), v1::GroupOutput_Name<int>,
                                     {{v1::GROUP_OUTPUT_KEYS, &spec.keys_out.is_wanted},
                                      {v1::GROUP_OUTPUT_COUNTS, &spec.counts.is_wanted},
                                      {v1::GROUP_OUTPUT_FIRSTS, &spec.firsts.is_wanted},
                                      {v1::GROUP_OUTPUT_SUMS, &spec.sums.is_wanted},
                                      {v1::GROUP_OUTPUT_MINIMA, &spec.minima.is_wanted},
                                      {v1::GROUP_OUTPUT_MAXIMA, &spec.maxima.is_wanted},
                                      {v1::GROUP_OUTPUT_VALUE_COUNTS, &spec.value_counts.is_wanted}}));
  const bool reduces =
      spec.sums.is_wanted || spec.minima.is_wanted || spec.maxima.is_wanted || spec.value_counts.is_wanted;
  if (reduces && !request.has_values()) {
    return InvalidField(kValues.Path(), "required for sums, minima, maxima and value counts");
  }
  if (!reduces && request.has_values()) {
    return InvalidField(kValues.Path(),
                        "allowed only with the outputs that need it: sums, minima, maxima, value counts");
  }
  if (!reduces && request.has_values_validity()) {
    return InvalidField(kValidity.Path(), "allowed only with values, whose bitmap it is");
  }
  if (reduces) {
    CORANK_ASSIGN_OR_RETURN(spec.values, CheckArray(true, request.values(), kValues, ArrayUse::kKeys, places));
    CORANK_RETURN_IF_ERROR(CheckSameCount(*spec.values, kValues, spec.keys, kKeys));
  }
  if (request.has_values_validity()) {
    CORANK_ASSIGN_OR_RETURN(spec.validity,
                            CheckArray(true, request.values_validity(), kValidity, ArrayUse::kMoved, places));
    CORANK_RETURN_IF_ERROR(CheckValidity(*spec.validity, kValidity, KnownCount(spec.keys)));
  }
  const auto bytes = [](const GroupOperation::Wanted& wanted, int64_t element_bytes) {
    return wanted.is_wanted ? element_bytes : 0;
  };
  const int64_t key_bytes = bytes(spec.keys_out, spec.keys.element_bytes);
  const int64_t first_bytes = bytes(spec.firsts, IndexBytes(spec.keys.count - 1));
  const int64_t minimum_bytes = bytes(spec.minima, BytesOf(spec.values));
  const int64_t maximum_bytes = bytes(spec.maxima, BytesOf(spec.values));
  const int64_t number_bytes = bytes(spec.value_counts, 8);
  CORANK_RETURN_IF_ERROR(PlaceResults(
      {{&request.keys_destination(), {"keys_destination"}, key_bytes, &spec.keys_out.target},
       {&request.counts_destination(), {"counts_destination"}, bytes(spec.counts, 8), &spec.counts.target},
       {&request.firsts_destination(), {"firsts_destination"}, first_bytes, &spec.firsts.target},
       {&request.sums_destination(), {"sums_destination"}, bytes(spec.sums, 8), &spec.sums.target},
       {&request.minima_destination(), {"minima_destination"}, minimum_bytes, &spec.minima.target},
       {&request.maxima_destination(), {"maxima_destination"}, maximum_bytes, &spec.maxima.target},
       {&request.value_counts_destination(), {"value_counts_destination"}, number_bytes, &spec.value_counts.target}},
      spec.keys.count, limits, places, kKeys));
  return std::make_unique<GroupOperation>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::RankRequest& request, const Limits& limits,
                                                    Places& places) {
  GroupOperation::Spec spec;
  spec.op = Operator::kRank;
  CORANK_ASSIGN_OR_RETURN(spec.keys, CheckArray(request.has_keys(), request.keys(), kKeys, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  CORANK_ASSIGN_OR_RETURN(spec.rank_method, CheckEnum<RankMethod>(request.method(), "method", "method",
                                                                  {{v1::RANK_METHOD_UNSPECIFIED, RankMethod::kAverage},
                                                                   {v1::RANK_METHOD_AVERAGE, RankMethod::kAverage},
                                                                   {v1::RANK_METHOD_MIN, RankMethod::kMin},
                                                                   {v1::RANK_METHOD_MAX, RankMethod::kMax},
                                                                   {v1::RANK_METHOD_DENSE, RankMethod::kDense},
                                                                   {v1::RANK_METHOD_ORDINAL, RankMethod::kOrdinal}}));
  CORANK_ASSIGN_OR_RETURN(spec.segment_offsets, CheckSegments(request.has_segment_offsets(), request.segment_offsets(),
                                                              KnownCount(spec.keys), "keys", places));
  spec.check_sorted = request.keys_sorted();
  spec.sorts = !request.keys_sorted();
  spec.ranks.is_wanted = true;
  const int rank_bytes = RankBytes(spec.rank_method, spec.keys.count);
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.ranks_destination(), {"ranks_destination"}, rank_bytes, &spec.ranks.target}},
                   spec.keys.count, limits, places, kKeys));
  return std::make_unique<GroupOperation>(std::move(spec));
}

}  // namespace corank
