// Arguments of Group, as engines take them. Pointers, counts and lifetimes follow the rules of operators.h.
#ifndef CORANK_KERNELS_COMMON_GROUP_H_
#define CORANK_KERNELS_COMMON_GROUP_H_

#include <cstdint>
#include <type_traits>

#include "kernels/common/types.h"

namespace corank {

/// The type of the sums of values, always 64 bits: signed, unsigned or a float, as the values are.
constexpr KeyType SumType(KeyType value_type) {
  if (IsFloat(value_type)) return KeyType::kFloat64;
  return IsSigned(value_type) ? KeyType::kInt64 : KeyType::kUint64;
}

/// The rank of keys that are equal.
enum class RankMethod : uint8_t {
  kAverage = 1,  // the mean of the positions of the equal keys, from 1. In doubles
  kMin = 2,      // the least of these positions
  kMax = 3,      // the greatest of them
  kDense = 4,    // the number of the group, from 1
  kOrdinal = 5,  // the position of the key itself, from 1
};

/// Bytes of a rank of `count` keys.
constexpr int RankBytes(RankMethod method, int64_t count) {
  return method == RankMethod::kAverage ? 8 : IndexBytes(count);
}

/// The rank, but for kAverage, of the key at a position of a group that lies at [begin, end), with `groups` before it:
/// all of them counted from the first key of the segment.
CORANK_HOST_DEVICE constexpr int64_t RankOf(RankMethod method, int64_t position, int64_t groups, int64_t begin,
                                            int64_t end) {
  switch (method) {
    case RankMethod::kMin:
      return begin + 1;
    case RankMethod::kMax:
      return end;
    case RankMethod::kDense:
      return groups + 1;
    default:
      return position + 1;
  }
}
/// The mean of the ranks of a group.
CORANK_HOST_DEVICE constexpr double AverageRank(int64_t begin, int64_t end) {
  return static_cast<double>(begin + 1 + end) / 2;
}

/// Finds the groups of consecutive equal keys, and reduces the values of each. Keys that are sorted have one group for
/// each distinct key, in each segment. An output has room for `count` elements, and is null if the caller does not want
/// it; the elements from GroupReport::groups on are unspecified.
struct GroupArgs {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;  // only the check reads it
  bool check_sorted = true;         // report the first index that is out of order
  int64_t count = 0;
  const void* keys = nullptr;
  const void* indices = nullptr;  // null, or the permutation that sorted the keys. IndexBytes(count - 1) bytes each
  /// segment_count + 1 offsets, checked by the caller; null: one segment. Keys of two segments are never equal, and
  /// each segment is sorted, and ranked from 1, by itself.
  const int64_t* segment_offsets = nullptr;
  int64_t segment_count = 0;
  void* keys_out = nullptr;  // the first key of each group
  int64_t* counts_out = nullptr;
  /// The index of the first key of each group, IndexBytes(count - 1) bytes each: indices[i] instead of i if there are
  /// indices.
  void* firsts_out = nullptr;

  KeyType value_type = KeyType::kUint32;
  const void* values = nullptr;  // of key i: values[i], or values[indices[i]] if there are indices
  /// Null: every value counts. Otherwise a bitmap that lies as the values, as KeyColumn::validity: values whose bit is
  /// 0 change no sum, minimum, maximum or value count. A group without values has a sum of 0 (-0.0 for floats). Its
  /// minimum is the greatest number of the type and its maximum the least one; for floats, NaN and -infinity.
  const uint8_t* values_validity = nullptr;
  /// Of SumType(value_type). Integers: exact. Floats: a fixed tree adds them (run_reduction.h), in 64 bits.
  void* sums_out = nullptr;
  /// The least and the greatest value in the order of Sort's keys: a NaN is greater than every number. Zeros become
  /// +0.0, and NaNs one NaN.
  void* minima_out = nullptr;
  void* maxima_out = nullptr;
  int64_t* value_counts_out = nullptr;  // the number of values of each group, without those whose bit is 0

  RankMethod rank_method = RankMethod::kAverage;
  /// The rank of each key, RankBytes(rank_method, count) bytes each: that of key i at indices[i] if there are indices.
  /// Not with firsts_out.
  void* ranks_out = nullptr;

  bool HasSegments() const { return segment_offsets != nullptr && segment_count > 1; }
  bool ReadsValues() const { return sums_out != nullptr || minima_out != nullptr || maxima_out != nullptr; }
  bool Reduces() const { return ReadsValues() || value_counts_out != nullptr; }
};

/// Findings of a Group. Valid after EngineStream::Finish. Unless `unsorted` and `overflow` are -1, outputs are
/// unspecified.
struct GroupReport {
  int64_t groups = 0;
  int64_t unsorted = -1;  // the first index whose key comes before the previous key; then there are no other findings
  int64_t overflow = -1;  // the first group with a sum of integers that 64 bits do not hold
};
static_assert(std::has_unique_object_representations_v<GroupReport>, "no padding");

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_GROUP_H_
