#include "client/cli/choices.h"

namespace corank::cli {
namespace {

template <typename T>
std::vector<std::pair<std::string, T>> Named(const char* (*name)(T), std::initializer_list<T> values) {
  std::vector<std::pair<std::string, T>> choices;
  for (const T value : values) choices.emplace_back(name(value), value);
  return choices;
}

}  // namespace

absl::StatusOr<Order> OrderChoice(const Arguments& arguments) {
  absl::StatusOr<Order> order = Choice<Order>(arguments, "order",
                                              {{"ascending", Order::kAscending},
                                               {"descending", Order::kDescending},
                                               {"asc", Order::kAscending},
                                               {"desc", Order::kDescending}});
  if (!order.ok() || !arguments.Has("descending")) return order;
  if (arguments.Has("order") && *order == Order::kAscending) {
    return UsageError("--descending contradicts --order ascending; give one of them");
  }
  return Order::kDescending;
}

absl::StatusOr<SortAlgorithm> SortAlgorithmChoice(const Arguments& arguments) {
  return Choice(arguments, "algorithm",
                Named<SortAlgorithm>(SortAlgorithmName, {SortAlgorithm::kAuto, SortAlgorithm::kMergesort,
                                                         SortAlgorithm::kRadix, SortAlgorithm::kOddEvenMergesort}));
}

absl::StatusOr<MergeAlgorithm> MergeAlgorithmChoice(const Arguments& arguments) {
  return Choice(arguments, "algorithm",
                Named<MergeAlgorithm>(MergeAlgorithmName,
                                      {MergeAlgorithm::kAuto, MergeAlgorithm::kMergePath, MergeAlgorithm::kBasic,
                                       MergeAlgorithm::kTiled, MergeAlgorithm::kCircularBuffer}));
}

absl::StatusOr<SearchBound> BoundChoice(const Arguments& arguments) {
  return Choice<SearchBound>(arguments, "bound", {{"lower", SearchBound::kLower}, {"upper", SearchBound::kUpper}});
}

}  // namespace corank::cli
