// Bodies of the typed calls. Include client/cpp/client.h instead.
#ifndef CORANK_CLIENT_CPP_CLIENT_TYPED_H_
#define CORANK_CLIENT_CPP_CLIENT_TYPED_H_

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/cpp/client.h"

namespace corank::client {

template <typename Key, typename Value, typename Result>
absl::Status Client::FillKeys(const Array* keys, const Array* values, Result* result) {
  if (keys == nullptr) return absl::InternalError("the server answered without keys");
  absl::StatusOr<std::vector<Key>> typed_keys = ToVector<Key>(*keys);
  if (!typed_keys.ok()) return typed_keys.status();
  result->keys = *std::move(typed_keys);
  if constexpr (!std::is_same_v<Value, NoValues>) {
    if (values == nullptr) return absl::InternalError("the server answered without values");
    absl::StatusOr<std::vector<Value>> typed_values = ToVector<Value>(*values);
    if (!typed_values.ok()) return typed_values.status();
    result->values = *std::move(typed_values);
  }
  return absl::OkStatus();
}

template <typename Key, typename Value, typename Result, typename Raw>
absl::StatusOr<Result> Client::TypedKeys(absl::StatusOr<Raw> raw) {
  if (!raw.ok()) return raw.status();
  Result result;
  result.algorithm = raw->algorithm;
  result.stats = std::move(raw->stats);
  const absl::Status filled = FillKeys<Key, Value>(Pointer(raw->keys), Pointer(raw->values), &result);
  if (!filled.ok()) return filled;
  return result;
}

template <typename T>
absl::StatusOr<ElementsResult<T>> Client::TypedElements(absl::StatusOr<RawResult> raw) {
  if (!raw.ok()) return raw.status();
  absl::StatusOr<std::vector<T>> elements = ToVector<T>(raw->array);
  if (!elements.ok()) return elements.status();
  return ElementsResult<T>{*std::move(elements), std::move(raw->stats)};
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
  return TypedKeys<Key, NoValues, SortResult<Key>>(
      Sort(SortRequest{options, ViewOf(keys), std::nullopt, SortOutput::kKeys}, call));
}

template <typename Keys, typename Values, typename Key, typename Value>
absl::StatusOr<SortResult<Key, Value>> Client::SortWithValues(const Keys& keys, const Values& values,
                                                              const SortOptions& options,
                                                              const CallOptions& call) const {
  return TypedKeys<Key, Value, SortResult<Key, Value>>(
      Sort(SortRequest{options, ViewOf(keys), ViewOf(values), SortOutput::kKeys}, call));
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
  return TypedKeys<Key, NoValues, MergeResult<Key>>(Merge(request, call));
}

template <typename Inputs, typename Values, typename Key, typename Value>
absl::StatusOr<MergeResult<Key, Value>> Client::MergeWithValues(const Inputs& keys, const Values& values,
                                                                const MergeOptions& options,
                                                                const CallOptions& call) const {
  MergeRequest request{options, {}, {}};
  for (const auto& input : keys) request.keys.push_back(ViewOf(input));
  for (const auto& input : values) request.values.push_back(ViewOf(input));
  return TypedKeys<Key, Value, MergeResult<Key, Value>>(Merge(request, call));
}

template <typename Values, typename T>
absl::StatusOr<ElementsResult<T>> Client::ExpandIntervals(const Values& values, absl::Span<const int64_t> counts,
                                                          const CallOptions& call) const {
  return TypedElements<T>(ExpandIntervals(ExpandRequest{ViewOf(values), counts}, call));
}

template <typename Source, typename Destination, typename T>
absl::StatusOr<ElementsResult<T>> Client::MoveIntervals(const Source& source, absl::Span<const int64_t> source_offsets,
                                                        absl::Span<const int64_t> destination_offsets,
                                                        absl::Span<const int64_t> counts,
                                                        const Destination& destination, const CallOptions& call) const {
  return TypedElements<T>(MoveIntervals(
      MoveRequest{ViewOf(source), source_offsets, destination_offsets, counts, Initial(destination)}, call));
}

template <typename Source, typename T>
absl::StatusOr<ElementsResult<T>> Client::GatherIntervals(const Source& source,
                                                          absl::Span<const int64_t> source_offsets,
                                                          absl::Span<const int64_t> counts,
                                                          const CallOptions& call) const {
  return TypedElements<T>(GatherIntervals(GatherRequest{ViewOf(source), source_offsets, counts}, call));
}

template <typename Source, typename Destination, typename T>
absl::StatusOr<ElementsResult<T>> Client::ScatterIntervals(const Source& source,
                                                           absl::Span<const int64_t> destination_offsets,
                                                           absl::Span<const int64_t> counts,
                                                           const Destination& destination,
                                                           const CallOptions& call) const {
  return TypedElements<T>(
      ScatterIntervals(ScatterRequest{ViewOf(source), destination_offsets, counts, Initial(destination)}, call));
}

template <typename Haystack, typename Needles, typename Key>
absl::StatusOr<IndicesResult> Client::Search(const Haystack& haystack, const Needles& needles,
                                             const SearchOptions& options, const CallOptions& call) const {
  absl::StatusOr<RawResult> raw = Search(SearchRequest{options, ViewOf(haystack), ViewOf(needles)}, call);
  if (!raw.ok()) return raw.status();
  return TypedIndices(raw->array, std::move(raw->stats));
}

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CLIENT_TYPED_H_
