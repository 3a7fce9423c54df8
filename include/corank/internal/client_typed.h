// Bodies of the typed calls. Include corank/client.h instead.
#ifndef CORANK_INTERNAL_CLIENT_TYPED_H_
#define CORANK_INTERNAL_CLIENT_TYPED_H_

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "corank/client.h"

namespace corank::client {

template <typename T, typename Request>
absl::StatusOr<ElementsResult<T>> Client::RunElements(const Request& request, const CallOptions& call) const {
  ElementsResult<T> result;
  VectorBuffer<T> elements(&result.elements);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&elements});
  if (!outcome.ok()) return outcome.status();
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Destination>
InitialDestination Client::Initial(const Destination& destination) {
  if constexpr (std::is_integral_v<Destination>) {
    return static_cast<int64_t>(destination);
  } else {
    return ViewOf(destination);
  }
}

template <typename Keys, typename Key>
absl::StatusOr<SortResult<Key>> Client::Sort(const Keys& keys, const SortOptions& options,
                                             const CallOptions& call) const {
  SortResult<Key> result;
  VectorBuffer<Key> sorted(&result.keys);
  absl::StatusOr<Outcome> outcome =
      RunInto(SortRequest{options, ViewOf(keys), std::nullopt, SortOutput::kKeys}, call, {&sorted});
  if (!outcome.ok()) return outcome.status();
  result.algorithm = outcome->sort_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Keys, typename Values, typename Key, typename Value>
absl::StatusOr<SortResult<Key, Value>> Client::SortWithValues(const Keys& keys, const Values& values,
                                                              const SortOptions& options,
                                                              const CallOptions& call) const {
  SortResult<Key, Value> result;
  VectorBuffer<Key> sorted(&result.keys);
  VectorBuffer<Value> moved(&result.values);
  absl::StatusOr<Outcome> outcome =
      RunInto(SortRequest{options, ViewOf(keys), ViewOf(values), SortOutput::kKeys}, call, {&sorted, &moved});
  if (!outcome.ok()) return outcome.status();
  result.algorithm = outcome->sort_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Keys, typename Key>
absl::StatusOr<RequestStats> Client::SortInto(const Keys& keys, absl::Span<Key> sorted, const SortOptions& options,
                                              const CallOptions& call) const {
  absl::StatusOr<RawSortResult> raw =
      Sort(SortRequest{options, ViewOf(keys), std::nullopt, SortOutput::kKeys, Into(sorted)}, call);
  if (!raw.ok()) return raw.status();
  return std::move(raw->stats);
}

template <typename Keys, typename Key>
absl::StatusOr<IndicesResult> Client::Argsort(const Keys& keys, const SortOptions& options,
                                              const CallOptions& call) const {
  absl::StatusOr<RawSortResult> raw =
      Sort(SortRequest{options, ViewOf(keys), std::nullopt, SortOutput::kIndices}, call);
  if (!raw.ok()) return raw.status();
  if (!raw->indices.has_value()) return absl::InternalError("the server answered without indices");
  return TypedIndices(*raw->indices, std::move(raw->stats));
}

template <typename Inputs, typename Key>
absl::StatusOr<MergeResult<Key>> Client::Merge(const Inputs& inputs, const MergeOptions& options,
                                               const CallOptions& call) const {
  MergeRequest request{options, {}, {}};
  for (const auto& input : inputs) request.keys.push_back(ViewOf(input));
  MergeResult<Key> result;
  VectorBuffer<Key> merged(&result.keys);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&merged});
  if (!outcome.ok()) return outcome.status();
  result.algorithm = outcome->merge_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Inputs, typename Key>
absl::StatusOr<RequestStats> Client::MergeInto(const Inputs& inputs, absl::Span<Key> merged,
                                               const MergeOptions& options, const CallOptions& call) const {
  MergeRequest request{options, {}, {}, Into(merged)};
  for (const auto& input : inputs) request.keys.push_back(ViewOf(input));
  absl::StatusOr<RawMergeResult> raw = Merge(request, call);
  if (!raw.ok()) return raw.status();
  return std::move(raw->stats);
}

template <typename Inputs, typename Values, typename Key, typename Value>
absl::StatusOr<MergeResult<Key, Value>> Client::MergeWithValues(const Inputs& keys, const Values& values,
                                                                const MergeOptions& options,
                                                                const CallOptions& call) const {
  MergeRequest request{options, {}, {}};
  for (const auto& input : keys) request.keys.push_back(ViewOf(input));
  for (const auto& input : values) request.values.push_back(ViewOf(input));
  MergeResult<Key, Value> result;
  VectorBuffer<Key> merged(&result.keys);
  VectorBuffer<Value> moved(&result.values);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&merged, &moved});
  if (!outcome.ok()) return outcome.status();
  result.algorithm = outcome->merge_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Values, typename T>
absl::StatusOr<ElementsResult<T>> Client::ExpandIntervals(const Values& values, absl::Span<const int64_t> counts,
                                                          const CallOptions& call) const {
  return RunElements<T>(ExpandRequest{ViewOf(values), counts}, call);
}

template <typename Source, typename Destination, typename T>
absl::StatusOr<ElementsResult<T>> Client::MoveIntervals(const Source& source, absl::Span<const int64_t> source_offsets,
                                                        absl::Span<const int64_t> destination_offsets,
                                                        absl::Span<const int64_t> counts,
                                                        const Destination& destination, const CallOptions& call) const {
  return RunElements<T>(MoveRequest{ViewOf(source), source_offsets, destination_offsets, counts, Initial(destination)},
                        call);
}

template <typename Source, typename T>
absl::StatusOr<ElementsResult<T>> Client::GatherIntervals(const Source& source,
                                                          absl::Span<const int64_t> source_offsets,
                                                          absl::Span<const int64_t> counts,
                                                          const CallOptions& call) const {
  return RunElements<T>(GatherRequest{ViewOf(source), source_offsets, counts}, call);
}

template <typename Source, typename Destination, typename T>
absl::StatusOr<ElementsResult<T>> Client::ScatterIntervals(const Source& source,
                                                           absl::Span<const int64_t> destination_offsets,
                                                           absl::Span<const int64_t> counts,
                                                           const Destination& destination,
                                                           const CallOptions& call) const {
  return RunElements<T>(ScatterRequest{ViewOf(source), destination_offsets, counts, Initial(destination)}, call);
}

template <typename Haystack, typename Needles, typename Key>
absl::StatusOr<IndicesResult> Client::Search(const Haystack& haystack, const Needles& needles,
                                             const SearchOptions& options, const CallOptions& call) const {
  absl::StatusOr<RawResult> raw = Search(SearchRequest{options, ViewOf(haystack), ViewOf(needles)}, call);
  if (!raw.ok()) return raw.status();
  return TypedIndices(raw->array, std::move(raw->stats));
}

template <typename Keys, typename Key>
absl::StatusOr<GroupResult<Key>> Client::Group(const Keys& keys, const GroupOptions& options,
                                               const CallOptions& call) const {
  GroupRequest request{options, ViewOf(keys), std::nullopt};
  GroupResult<Key> result;
  VectorBuffer<Key> distinct(&result.keys);
  VectorBuffer<int64_t> counts(&result.counts);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&distinct, &counts});
  if (!outcome.ok()) return outcome.status();
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Keys, typename Values, typename Key, typename Value>
absl::StatusOr<GroupValuesResult<Key, Value>> Client::GroupValues(const Keys& keys, const Values& values,
                                                                  const GroupOptions& options,
                                                                  const CallOptions& call) const {
  GroupRequest request{options, ViewOf(keys), ViewOf(values)};
  request.wants.sums = request.wants.minima = request.wants.maxima = true;
  GroupValuesResult<Key, Value> result;
  VectorBuffer<Key> distinct(&result.keys);
  VectorBuffer<int64_t> counts(&result.counts);
  VectorBuffer<SumOf<Value>> sums(&result.sums);
  VectorBuffer<Value> minima(&result.minima), maxima(&result.maxima);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&distinct, &counts, &sums, &minima, &maxima});
  if (!outcome.ok()) return outcome.status();
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Left, typename Right, typename Key>
absl::StatusOr<CombineSetsResult<Key>> Client::CombineSets(SetOperation operation, const Left& left, const Right& right,
                                                           Order order, const CallOptions& call) const {
  const CombineSetsRequest request{operation, order, ViewOf(left), ViewOf(right)};
  CombineSetsResult<Key> result;
  VectorBuffer<Key> keys(&result.keys);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&keys});
  if (!outcome.ok()) return outcome.status();
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Left, typename Right>
absl::StatusOr<CountSetsResult> Client::CountSets(SetOperation operation, const Left& left, const Right& right,
                                                  Order order, const CallOptions& call) const {
  CombineSetsRequest request{operation, order, ViewOf(left), ViewOf(right)};
  request.count_only = true;
  std::vector<int64_t> count;
  VectorBuffer<int64_t> buffer(&count);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&buffer});
  if (!outcome.ok()) return outcome.status();
  return CountSetsResult{count.front(), std::move(outcome->stats)};
}

template <typename Left, typename Right>
absl::StatusOr<JoinResult> Client::Join(JoinKind kind, const Left& left, const Right& right, const JoinOptions& options,
                                        const CallOptions& call) const {
  absl::StatusOr<RawJoinResult> raw = Join(JoinRequest{options, kind, ViewOf(left), ViewOf(right)}, call);
  if (!raw.ok()) return raw.status();
  return TypedRows(*std::move(raw));
}

template <typename Left, typename Right>
absl::StatusOr<CountJoinResult> Client::CountJoin(JoinKind kind, const Left& left, const Right& right,
                                                  bool right_sorted, const CallOptions& call) const {
  JoinRequest request{{right_sorted, std::nullopt}, kind, ViewOf(left), ViewOf(right)};
  request.count_only = true;
  std::vector<int64_t> count;
  VectorBuffer<int64_t> buffer(&count);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&buffer});
  if (!outcome.ok()) return outcome.status();
  return CountJoinResult{count.front(), std::move(outcome->stats)};
}

template <typename Elements, typename T>
absl::StatusOr<ElementsResult<T>> Client::Select(const Elements& elements, absl::Span<const uint8_t> flags,
                                                 const CallOptions& call) const {
  SelectRequest request{ViewOf(elements)};
  request.flags = ViewOf(flags);
  return RunElements<T>(request, call);
}

template <typename Keys, typename Key>
absl::StatusOr<ElementsResult<Key>> Client::SelectWhere(const Keys& keys, Comparison comparison,
                                                        internal::KeyOf<Keys> threshold,
                                                        const CallOptions& call) const {
  SelectRequest request{ViewOf(keys)};
  request.threshold = ViewOf(absl::MakeConstSpan(&threshold, 1));
  request.comparison = comparison;
  return RunElements<Key>(request, call);
}

template <typename Elements, typename T>
absl::StatusOr<ElementsResult<T>> Client::Remove(const Elements& elements, absl::Span<const int64_t> positions,
                                                 const CallOptions& call) const {
  SelectRequest request{ViewOf(elements)};
  request.positions = ViewOf(positions);
  request.negate = true;
  return RunElements<T>(request, call);
}

template <typename Elements, typename T>
absl::StatusOr<PartitionResult<T>> Client::Partition(const Elements& elements, absl::Span<const uint8_t> flags,
                                                     const CallOptions& call) const {
  SelectRequest request{ViewOf(elements)};
  request.flags = ViewOf(flags);
  request.partition = request.wants.count = true;
  PartitionResult<T> result;
  std::vector<int64_t> count;
  VectorBuffer<T> ordered(&result.elements);
  VectorBuffer<int64_t> selected(&count);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&ordered, &selected});
  if (!outcome.ok()) return outcome.status();
  result.selected = count.front();
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Elements, typename Inserted, typename T>
absl::StatusOr<ElementsResult<T>> Client::Insert(const Elements& elements, absl::Span<const int64_t> positions,
                                                 const Inserted& inserted, const CallOptions& call) const {
  static_assert(std::is_same_v<T, internal::ElementOf<Inserted>>, "both arrays have elements of one type");
  const auto count = static_cast<int64_t>(std::size(elements));
  absl::StatusOr<InsertionIntervals> intervals =
      IntervalsToInsert(count, positions, static_cast<int64_t>(std::size(inserted)));
  if (!intervals.ok()) return intervals.status();
  std::vector<T> both(std::data(elements), std::data(elements) + count);
  both.insert(both.end(), std::data(inserted), std::data(inserted) + std::size(inserted));
  return GatherIntervals(both, intervals->source_offsets, intervals->counts, call);
}

template <typename Keys, typename Key>
absl::StatusOr<IndicesResult> Client::Rank(const Keys& keys, const RankOptions& options,
                                           const CallOptions& call) const {
  if (options.method == RankMethod::kAverage) {
    return absl::InvalidArgumentError("method: mean ranks are no integers; call AverageRank");
  }
  absl::StatusOr<RawResult> raw = Rank(RankRequest{options, ViewOf(keys)}, call);
  if (!raw.ok()) return raw.status();
  return TypedIndices(raw->array, std::move(raw->stats));
}

template <typename Keys, typename Key>
absl::StatusOr<ElementsResult<double>> Client::AverageRank(const Keys& keys, const RankOptions& options,
                                                           const CallOptions& call) const {
  RankRequest request{options, ViewOf(keys)};
  request.method = RankMethod::kAverage;
  return RunElements<double>(request, call);
}

}  // namespace corank::client

#endif  // CORANK_INTERNAL_CLIENT_TYPED_H_
