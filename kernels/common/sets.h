// Arguments of CombineSets, as engines take them. Pointers, counts and lifetimes follow the rules of operators.h.
#ifndef CORANK_KERNELS_COMMON_SETS_H_
#define CORANK_KERNELS_COMMON_SETS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/common/operators.h"
#include "kernels/common/types.h"

namespace corank {

/// The four operations on sorted multisets. Where a key occurs m times on the left and n times on the right, the j-th
/// occurrences of both sides are partners, and those beyond min(m, n) have none.
enum class SetOperation : uint8_t {
  kUnion = 1,                // max(m, n) keys: those of the left, then those of the right without a partner
  kIntersection = 2,         // min(m, n) keys, of the left
  kDifference = 3,           // max(m - n, 0) keys: those of the left without a partner
  kSymmetricDifference = 4,  // |m - n| keys: those without a partner
};

/// Combines two sorted multisets. The result is sorted and has at most MostResults(args) elements.
struct SetArgs {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  SetOperation operation = SetOperation::kUnion;
  MergeInput left, right;    // equal keys need not have equal bits: the result has the bits of the side it comes from
  void* keys_out = nullptr;  // null: the caller does not want keys. Room for MostResults(args) elements
  /// Of each key of the result, the value of the side it comes from. Null: no values.
  void* values_out = nullptr;
  int32_t value_bytes = 0;       // 0 to kMaxRecordBytes; 0: no values
  int64_t* count_out = nullptr;  // null, or room for the number of elements of the result
};

/// Whether only the left side is in the result. Values of the right side are not read then.
constexpr bool IsFromLeftOnly(SetOperation operation) {
  return operation == SetOperation::kIntersection || operation == SetOperation::kDifference;
}

/// The most elements that the result of a set operation can have.
CORANK_HOST_DEVICE constexpr int64_t MostResults(SetOperation operation, int64_t left_count, int64_t right_count) {
  switch (operation) {
    case SetOperation::kIntersection:
      return left_count < right_count ? left_count : right_count;
    case SetOperation::kDifference:
      return left_count;
    default:
      return left_count + right_count;
  }
}
CORANK_HOST_DEVICE constexpr int64_t MostResults(const SetArgs& args) {
  return MostResults(args.operation, args.left.count, args.right.count);
}

/// Findings of a CombineSets. Valid after EngineStream::Finish. Unless `unsorted` is -1, outputs are unspecified.
struct SetReport {
  int64_t count = 0;      // of the result
  int64_t input = 0;      // the first unsorted input: 0 is the left one
  int64_t unsorted = -1;  // the first index of that input whose key comes before the previous key
};
static_assert(std::has_unique_object_representations_v<SetReport>, "no padding");

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_SETS_H_
