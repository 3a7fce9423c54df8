// The operators: the one list that every stage reads.
#ifndef CORANK_SERVER_MODEL_OPERATOR_H_
#define CORANK_SERVER_MODEL_OPERATOR_H_

#include <cstdint>

/// ROW(Name, name) for each operator, in the order of v1::Operation, in which the field `name` holds it. Its messages
/// are v1::<Name>Request and v1::<Name>Response, and it is the method <Name> of CorankService. Metrics and logs call it
/// `name`, and so does its permission, with hyphens.
#define CORANK_OPERATORS(ROW)              \
  ROW(Sort, sort)                          \
  ROW(Merge, merge)                        \
  ROW(ExpandIntervals, expand_intervals)   \
  ROW(MoveIntervals, move_intervals)       \
  ROW(GatherIntervals, gather_intervals)   \
  ROW(ScatterIntervals, scatter_intervals) \
  ROW(LoadBalance, load_balance)           \
  ROW(Search, search)                      \
  ROW(Group, group)                        \
  ROW(CombineSets, combine_sets)           \
  ROW(Join, join)                          \
  ROW(Select, select)                      \
  ROW(Rank, rank)

namespace corank {

enum class Operator : uint8_t {
#define CORANK_ROW(Name, name) k##Name,
  CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW
};

#define CORANK_ROW(Name, name) +1
inline constexpr int kOperatorCount = 0 CORANK_OPERATORS(CORANK_ROW);
#undef CORANK_ROW

constexpr const char* OperatorName(Operator op) {
#define CORANK_ROW(Name, name) #name,
  constexpr const char* kNames[kOperatorCount] = {CORANK_OPERATORS(CORANK_ROW)};
#undef CORANK_ROW
  return kNames[static_cast<int>(op)];
}

/// Whether several devices may share a request of this operator.
constexpr bool IsShareable(Operator op) {
  return op == Operator::kSort || op == Operator::kMerge || op == Operator::kExpandIntervals ||
         op == Operator::kMoveIntervals || op == Operator::kGatherIntervals || op == Operator::kScatterIntervals ||
         op == Operator::kLoadBalance;
}

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_OPERATOR_H_
