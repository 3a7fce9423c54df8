// The names of the operators in metrics and logs.
#ifndef CORANK_SERVER_MODEL_OPERATOR_H_
#define CORANK_SERVER_MODEL_OPERATOR_H_

#include <cstdint>

namespace corank {

enum class Operator : uint8_t {
  kSort,
  kMerge,
  kExpandIntervals,
  kMoveIntervals,
  kGatherIntervals,
  kScatterIntervals,
  kLoadBalance,
  kSearch,
};

inline constexpr int kOperatorCount = 8;

constexpr const char* OperatorName(Operator op) {
  constexpr const char* kNames[kOperatorCount] = {
      "sort",         "merge", "expand_intervals", "move_intervals", "gather_intervals", "scatter_intervals",
      "load_balance", "search"};
  return kNames[static_cast<int>(op)];
}

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_OPERATOR_H_
