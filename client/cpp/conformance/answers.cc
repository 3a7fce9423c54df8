// Calls the client, and tells the results as JSON.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "client/cpp/conformance/requests.h"

namespace corank::conformance {
namespace {

void Add(std::optional<client::Array> array, std::vector<client::Array>& arrays) {
  if (array.has_value()) arrays.push_back(*std::move(array));
}

client::Array OffsetsArray(const std::vector<int64_t>& offsets) {
  return {KeyType::kInt64,
          std::string(reinterpret_cast<const char*>(offsets.data()), offsets.size() * sizeof(int64_t))};
}

// The results of each method of the client, in the order of their fields.
struct Calling {
  const Client& client;
  const client::CallOptions& options;

  absl::StatusOr<Answer> operator()(const client::SortRequest& request) const {
    auto result = client.Sort(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{}, result->stats, SortAlgorithmName(result->algorithm)};
    Add(std::move(result->keys), answer.arrays);
    Add(std::move(result->values), answer.arrays);
    Add(std::move(result->indices), answer.arrays);
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::ColumnSortRequest& request) const {
    auto result = client.SortColumns(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{}, result->stats, SortAlgorithmName(result->algorithm)};
    for (client::SortedColumn& column : result->columns) {
      answer.arrays.push_back(std::move(column.data));
      if (column.offsets.has_value()) answer.arrays.push_back(OffsetsArray(*column.offsets));
      if (!column.validity.has_value()) continue;
      answer.arrays.push_back({KeyType::kUint8, std::string(column.validity->begin(), column.validity->end())});
    }
    Add(std::move(result->values), answer.arrays);
    Add(std::move(result->indices), answer.arrays);
    Add(std::move(result->ranks), answer.arrays);
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::MergeRequest& request) const {
    auto result = client.Merge(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{std::move(result->keys)}, result->stats, MergeAlgorithmName(result->algorithm)};
    Add(std::move(result->values), answer.arrays);
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::LoadBalanceRequest& request) const {
    auto result = client.LoadBalance(request, options);
    if (!result.ok()) return result.status();
    return Answer{{std::move(result->objects), std::move(result->ranks)}, result->stats, ""};
  }
  absl::StatusOr<Answer> operator()(const client::GroupRequest& request) const {
    auto result = client.Group(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{}, result->stats, ""};
    for (auto* const array : {&result->keys, &result->counts, &result->firsts, &result->sums, &result->minima,
                              &result->maxima, &result->value_counts}) {
      Add(std::move(*array), answer.arrays);
    }
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::CombineSetsRequest& request) const {
    auto result = client.CombineSets(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{}, result->stats, ""};
    for (auto* const array : {&result->keys, &result->values, &result->count}) {
      Add(std::move(*array), answer.arrays);
    }
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::JoinRequest& request) const {
    auto result = client.Join(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{}, result->stats, ""};
    for (auto* const array : {&result->left_rows, &result->right_rows, &result->count}) {
      Add(std::move(*array), answer.arrays);
    }
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::SelectRequest& request) const {
    auto result = client.Select(request, options);
    if (!result.ok()) return result.status();
    Answer answer{{}, result->stats, ""};
    for (auto* const array : {&result->elements, &result->values, &result->indices, &result->count}) {
      Add(std::move(*array), answer.arrays);
    }
    return answer;
  }
  absl::StatusOr<Answer> operator()(const client::RankRequest& request) const {
    return One(client.Rank(request, options));
  }
  absl::StatusOr<Answer> operator()(const client::ExpandRequest& request) const {
    return One(client.ExpandIntervals(request, options));
  }
  absl::StatusOr<Answer> operator()(const client::MoveRequest& request) const {
    return One(client.MoveIntervals(request, options));
  }
  absl::StatusOr<Answer> operator()(const client::GatherRequest& request) const {
    return One(client.GatherIntervals(request, options));
  }
  absl::StatusOr<Answer> operator()(const client::ScatterRequest& request) const {
    return One(client.ScatterIntervals(request, options));
  }
  absl::StatusOr<Answer> operator()(const client::SearchRequest& request) const {
    return One(client.Search(request, options));
  }
  absl::StatusOr<Answer> operator()(const client::ColumnSearchRequest& request) const {
    return One(client.SearchColumns(request, options));
  }
  static absl::StatusOr<Answer> One(absl::StatusOr<client::RawResult> result) {
    if (!result.ok()) return result.status();
    return Answer{{std::move(result->array)}, result->stats, ""};
  }
};

}  // namespace

absl::StatusOr<Answer> Call(const Client& client, const Operator& made, const client::CallOptions& options) {
  return std::visit(Calling{client, options}, made.request);
}

Json ResultsJson(const Operator& made, const std::vector<client::Array>& arrays, const Json& keep, bool digest) {
  static const auto* const positions =
      new std::vector<std::string>{"indices", "objects", "ranks", "positions", "firsts"};
  Json results;
  size_t at = 0;
  if (std::count(made.results.begin(), made.results.end(), "columns") > 0) {
    for (const Operator::Column& given : made.columns) {
      Json column;
      Set(column, "data", ArrayJson(arrays.at(at++), digest, false));
      if (given.is_string) Set(column, "offsets", ArrayJson(arrays.at(at++), digest, false));
      if (given.may_be_null) Set(column, "validity", ArrayJson(arrays.at(at++), digest, false));
      Append(results, "columns", std::move(column));
    }
  }
  for (; at < made.results.size() && at < arrays.size(); ++at) {
    const std::string& name = made.results[at];
    const client::Array& array = arrays[at];
    if (!array.placed.has_value()) {
      const bool is_index = std::find(positions->begin(), positions->end(), name) != positions->end();
      Set(results, name, ArrayJson(array, digest, is_index));
    } else if (Find(keep, name) != nullptr) {
      Json kept;
      Set(kept, "kept", Text(keep, name));
      SetType(kept, array.type);
      Set(kept, "count", static_cast<double>(array.count()));
      Set(results, name, std::move(kept));
    }
  }
  return results;
}

}  // namespace corank::conformance
