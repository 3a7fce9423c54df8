// The balanced path: cuts two sorted multisets into pieces that a set operation can treat on their own.
//
// The merge path takes all keys of one side before the equal keys of the other, so a cut may separate partners (see
// sets.h). On the balanced path, equal keys of the two sides take turns until one side has no more of them. A cut that
// would fall between two partners moves behind them.
//
// Source: S. Baxter, "Modern GPU", chapter Multisets, 2013; O. Green, R. McColl, D. Bader, "GPU Merge Path", 2012.
#ifndef CORANK_KERNELS_COMMON_BALANCED_PATH_H_
#define CORANK_KERNELS_COMMON_BALANCED_PATH_H_

#include <cstdint>

#include "kernels/common/merge_path.h"
#include "kernels/common/sets.h"
#include "kernels/common/types.h"

namespace corank {

/// How many keys of each side lie before a cut.
template <typename Index>
struct BalancedCut {
  Index a, b;
};

/// How many keys at the end of keys[0, end) are equal to `key`, if none of them comes after it. O(log of the answer).
template <typename Index, typename Keys, typename Key, typename Before>
CORANK_HOST_DEVICE Index EqualAtEnd(const Keys& keys, Index end, const Key& key, Before before) {
  // Steps back in doubling strides, then searches the last stride.
  Index equal = 0, stride = 1;
  while (equal < end && !before(keys[end - 1 - equal], key)) {
    const Index left = end - equal - 1;
    equal += 1;
    const Index step = stride < left ? stride : left;
    if (step == 0) break;
    if (!before(keys[end - equal - step], key)) {
      equal += step;
      stride *= 2;
      continue;
    }
    Index low = 0, high = step - 1;  // more equal keys: at least low, at most high
    while (low < high) {
      const Index middle = low + (high - low + 1) / 2;
      if (before(keys[end - equal - middle], key)) {
        high = middle - 1;
      } else {
        low = middle;
      }
    }
    return equal + low;
  }
  return equal;
}

/// How many keys at the start of keys[begin, begin + count) are equal to `key`, if none of them comes before it.
template <typename Index, typename Keys, typename Key, typename Before>
CORANK_HOST_DEVICE Index EqualAtStart(const Keys& keys, Index begin, Index count, const Key& key, Before before) {
  Index low = 0, high = count;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (before(key, keys[begin + middle])) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The cut on the balanced path after `diagonal` keys of both sides, or after one key more where those would separate
/// partners. 0 <= diagonal <= a_count + b_count. Unsorted sides lead to a wrong cut, but never to an access out of
/// bounds. `before(x, y)`: x comes strictly before y.
template <typename Index, typename A, typename B, typename Before>
CORANK_HOST_DEVICE BalancedCut<Index> BalancedPath(Index diagonal, const A& a, Index a_count, const B& b, Index b_count,
                                                   Before before) {
  BalancedCut<Index> cut;
  cut.a = CoRank(diagonal, a, a_count, b, b_count, before);
  cut.b = diagonal - cut.a;
  if (cut.b == b_count) return cut;
  // The merge path takes the keys of a first. So only a key that both sides have, and that b has behind the cut, can
  // lie on both sides of it.
  const auto key = b[cut.b];
  const Index a_taken = EqualAtEnd(a, cut.a, key, before);
  if (a_taken == 0) return cut;
  const Index b_taken = EqualAtEnd(b, cut.b, key, before);
  const Index taken = a_taken + b_taken;
  // The keys take turns, a first, until b has no more of them; a has enough of them, since a_taken >= the half or the
  // cut is behind all of a's.
  Index b_share = taken / 2 > b_taken ? taken / 2 : b_taken;
  const Index b_wanted = b_share + 1 - b_taken;  // and the partner of a last key of a
  const Index b_rest = b_count - cut.b;
  const Index b_more = EqualAtStart(b, cut.b, b_wanted < b_rest ? b_wanted : b_rest, key, before);
  if (b_share > b_taken + b_more) b_share = b_taken + b_more;
  const Index a_share = taken - b_share;
  cut.a += a_share - a_taken;
  cut.b += b_share - b_taken;
  if (a_share == b_share + 1 && b_share < b_taken + b_more) ++cut.b;
  return cut;
}

/// What becomes of a key of the result of a set operation.
struct SetRule {
  explicit CORANK_HOST_DEVICE SetRule(SetOperation operation)
      : keeps_left(operation != SetOperation::kIntersection),
        keeps_right(operation == SetOperation::kUnion || operation == SetOperation::kSymmetricDifference),
        keeps_partners(operation == SetOperation::kUnion || operation == SetOperation::kIntersection) {}
  bool keeps_left;      // a key of the left side without a partner
  bool keeps_right;     // a key of the right side without a partner
  bool keeps_partners;  // the left one of two partners
};

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_BALANCED_PATH_H_
