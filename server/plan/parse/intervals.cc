// ExpandIntervals, MoveIntervals, GatherIntervals, ScatterIntervals, LoadBalance.
#include <optional>
#include <utility>

#include "server/base/status_macros.h"
#include "server/model/operator_traits.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/validate.h"
#include "server/run/device_ops/expand.h"
#include "server/run/device_ops/load_balance.h"
#include "server/run/device_ops/move.h"

namespace corank {
namespace {

constexpr Field kSource{"source"};
constexpr Field kCounts{"counts"};
constexpr Field kSourceOffsets{"source_offsets"};
constexpr Field kDestinationOffsets{"destination_offsets"};
constexpr Field kDestination{"destination"};

template <typename Request>
absl::Status PlaceInitial(const Request& request, const Limits& limits, Places& places, Field made_by,
                          MoveOperation::Spec& spec) {
  return PlaceResults(
      {{&request.result_destination(), {"result_destination"}, spec.source.element_bytes, &spec.target}},
      spec.result_count, limits, places, made_by);
}

// Checks the oneof `initial` of Move and Scatter. Sets result_count, target and, if an array is given, initial.
template <typename Request>
absl::Status CheckInitial(const Request& request, const Limits& limits, Places& places, MoveOperation::Spec& spec) {
  switch (request.initial_case()) {
    case Request::kDestinationCount:
      if (request.destination_count() < 0) {
        return InvalidField("destination_count", absl::StrCat("must be 0 or more, not ", request.destination_count()));
      }
      spec.result_count = request.destination_count();
      return PlaceInitial(request, limits, places, {"destination_count"}, spec);
    case Request::kDestination: {
      CORANK_ASSIGN_OR_RETURN(spec.initial,
                              CheckArray(true, request.destination(), kDestination, ArrayUse::kMoved, places));
      CORANK_RETURN_IF_ERROR(CheckSameType(*spec.initial, kDestination, spec.source, kSource));
      spec.result_count = spec.initial->count;
      return PlaceInitial(request, limits, places, kDestination, spec);
    }
    case Request::INITIAL_NOT_SET:
      break;
  }
  return InvalidField("initial", "required: destination_count or destination");
}

// Checks offsets of intervals in `of`: one for each count, and each interval inside.
absl::StatusOr<Operand> CheckOffsets(bool present, const v1::Array& array, Field field, const Operand& counts,
                                     std::optional<int64_t> size, absl::string_view of, Places& places) {
  CORANK_ASSIGN_OR_RETURN(Operand offsets, CheckArray(present, array, field, ArrayUse::kInt64, places));
  CORANK_RETURN_IF_ERROR(CheckSameCount(offsets, field, counts, kCounts));
  CORANK_RETURN_IF_ERROR(CheckIntervals(offsets, field, counts, size, of));
  return offsets;
}

// The number of elements of the destination, if it is already known.
std::optional<int64_t> ResultCount(const MoveOperation::Spec& spec) {
  return spec.initial ? KnownCount(*spec.initial) : spec.result_count;
}

template <typename Request>
absl::StatusOr<MoveOperation::Spec> ReadMove(const Request& request, Places& places) {
  MoveOperation::Spec spec;
  spec.op = OperatorTraits<Request>::kOperator;
  CORANK_ASSIGN_OR_RETURN(spec.source,
                          CheckArray(request.has_source(), request.source(), kSource, ArrayUse::kMoved, places));
  CORANK_ASSIGN_OR_RETURN(spec.counts,
                          CheckArray(request.has_counts(), request.counts(), kCounts, ArrayUse::kInt64, places));
  CORANK_ASSIGN_OR_RETURN(spec.total, SumCounts(spec.counts, kCounts));
  return spec;
}

template <typename Request>
absl::StatusOr<Operand> SourceOffsets(const Request& request, const MoveOperation::Spec& spec, Places& places) {
  return CheckOffsets(request.has_source_offsets(), request.source_offsets(), kSourceOffsets, spec.counts,
                      KnownCount(spec.source), "source", places);
}

template <typename Request>
absl::StatusOr<Operand> DestinationOffsets(const Request& request, const MoveOperation::Spec& spec, Places& places) {
  return CheckOffsets(request.has_destination_offsets(), request.destination_offsets(), kDestinationOffsets,
                      spec.counts, ResultCount(spec), "destination", places);
}

// Intervals of a Move may share their source, so the request's arrays do not limit their sum and thereby the work.
absl::Status CheckMovedSum(const MoveOperation::Spec& spec, const Limits& limits) {
  if (spec.check_overlap) {
    const std::optional<int64_t> size = ResultCount(spec);
    if (!size || spec.total <= *size) return absl::OkStatus();
    return FieldError(v1::ERROR_REASON_INTERVALS_OVERLAP, kCounts.Path(),
                      absl::StrCat("their sum is ", spec.total, ", but the destination has ", spec.result_count,
                                   " elements, so intervals must overlap in it; set allow_overlap to permit this"));
  }
  if (spec.total <= limits.max_response_bytes / spec.source.element_bytes) return absl::OkStatus();
  return TooLargeField(kCounts.Path(),
                       absl::StrCat("their sum is ", spec.total, " elements of ", spec.source.element_bytes,
                                    " bytes, more than one request may move ", "(max_response_bytes is ",
                                    limits.max_response_bytes, ")"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::ExpandIntervalsRequest& request, const Limits& limits,
                                                    Places& places) {
  constexpr Field kValues{"values"};
  ExpandOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.values,
                          CheckArray(request.has_values(), request.values(), kValues, ArrayUse::kMoved, places));
  CORANK_ASSIGN_OR_RETURN(spec.counts,
                          CheckArray(request.has_counts(), request.counts(), kCounts, ArrayUse::kInt64, places));
  CORANK_RETURN_IF_ERROR(CheckSameCount(spec.counts, kCounts, spec.values, kValues));
  CORANK_ASSIGN_OR_RETURN(spec.total, SumCounts(spec.counts, kCounts));
  CORANK_RETURN_IF_ERROR(PlaceResults({{&request.destination(), kDestination, spec.values.element_bytes, &spec.target}},
                                      spec.total, limits, places, kCounts));
  return std::make_unique<ExpandOperation>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::MoveIntervalsRequest& request, const Limits& limits,
                                                    Places& places) {
  CORANK_ASSIGN_OR_RETURN(MoveOperation::Spec spec, ReadMove(request, places));
  CORANK_RETURN_IF_ERROR(CheckInitial(request, limits, places, spec));
  CORANK_ASSIGN_OR_RETURN(spec.source_offsets, SourceOffsets(request, spec, places));
  CORANK_ASSIGN_OR_RETURN(spec.destination_offsets, DestinationOffsets(request, spec, places));
  spec.check_overlap = !request.allow_overlap();
  CORANK_RETURN_IF_ERROR(CheckMovedSum(spec, limits));
  return std::make_unique<MoveOperation>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::GatherIntervalsRequest& request, const Limits& limits,
                                                    Places& places) {
  CORANK_ASSIGN_OR_RETURN(MoveOperation::Spec spec, ReadMove(request, places));
  CORANK_ASSIGN_OR_RETURN(spec.source_offsets, SourceOffsets(request, spec, places));
  spec.result_count = spec.total;
  CORANK_RETURN_IF_ERROR(PlaceResults({{&request.destination(), kDestination, spec.source.element_bytes, &spec.target}},
                                      spec.total, limits, places, kCounts));
  return std::make_unique<MoveOperation>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::ScatterIntervalsRequest& request, const Limits& limits,
                                                    Places& places) {
  CORANK_ASSIGN_OR_RETURN(MoveOperation::Spec spec, ReadMove(request, places));
  if (spec.source.has_count && spec.source.count != spec.total && !spec.counts.is_pending) {
    return InvalidField(kSource.Sub("count"),
                        absl::StrCat(spec.source.count, " elements, but the counts sum to ", spec.total));
  }
  CORANK_RETURN_IF_ERROR(CheckInitial(request, limits, places, spec));
  CORANK_ASSIGN_OR_RETURN(spec.destination_offsets, DestinationOffsets(request, spec, places));
  spec.check_overlap = !request.allow_overlap();
  return std::make_unique<MoveOperation>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::LoadBalanceRequest& request, const Limits& limits,
                                                    Places& places) {
  LoadBalanceOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.counts,
                          CheckArray(request.has_counts(), request.counts(), kCounts, ArrayUse::kInt64, places));
  CORANK_ASSIGN_OR_RETURN(spec.total, SumCounts(spec.counts, kCounts));
  const int index_bytes = IndexBytes(std::max(spec.counts.count, spec.total) - 1);
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.objects_destination(), {"objects_destination"}, index_bytes, &spec.objects_target},
                    {&request.ranks_destination(), {"ranks_destination"}, index_bytes, &spec.ranks_target}},
                   spec.total, limits, places, kCounts));
  return std::make_unique<LoadBalanceOperation>(std::move(spec));
}

}  // namespace corank
