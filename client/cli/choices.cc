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

absl::StatusOr<client::Place> PlaceChoice(const Arguments& arguments) {
  std::vector<std::pair<std::string, client::Place>> places;
  for (const client::Place place :
       {client::Place::kAuto, client::Place::kInline, client::Place::kStream, client::Place::kSharedMemory}) {
    places.emplace_back(PlaceName(place), place);
  }
  return Choice(arguments, "place", places);
}

const char* PlaceName(client::Place place) {
  switch (place) {
    case client::Place::kAuto:
      return "auto";
    case client::Place::kInline:
      return "inline";
    case client::Place::kStream:
      return "stream";
    case client::Place::kSharedMemory:
      return "shared-memory";
  }
  return "unknown";
}

}  // namespace corank::cli
