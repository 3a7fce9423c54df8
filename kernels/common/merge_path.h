// The co-rank function and the serial merge: pure arithmetic that the merges of both engines share.
//
// Source: C. Siebert, J. L. Träff, "Efficient MPI Implementation of a Parallel, Stable Merge Algorithm" / "Perfectly
// load-balanced, stable, synchronization-free parallel merge", 2013; S. Odeh, O. Green et al., "Merge Path", 2012.
#ifndef CORANK_KERNELS_COMMON_MERGE_PATH_H_
#define CORANK_KERNELS_COMMON_MERGE_PATH_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank {

/// Returns how many of the first `diagonal` outputs of merging a[0, a_count) and b[0, b_count) come from a. Among equal
/// keys, those of a come first. 0 <= diagonal <= a_count + b_count. O(log min(a_count, b_count)). `before(x, y)`: x
/// comes strictly before y. A and B may be pointers or anything with operator[].
template <typename Index, typename A, typename B, typename Before>
CORANK_HOST_DEVICE Index CoRank(Index diagonal, const A& a, Index a_count, const B& b, Index b_count, Before before) {
  Index low = diagonal > b_count ? diagonal - b_count : Index{0};
  Index high = diagonal < a_count ? diagonal : a_count;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (before(b[diagonal - 1 - middle], a[middle])) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The first position in keys[0, count) whose key does not come before `key`.
template <typename Index, typename Keys, typename Key, typename Before>
CORANK_HOST_DEVICE Index LowerBound(const Keys& keys, Index count, const Key& key, Before before) {
  Index low = 0;
  while (count > 0) {
    const Index half = count / 2;
    if (before(keys[low + half], key)) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

/// The first position in keys[0, count) whose key comes after `key`.
template <typename Index, typename Keys, typename Key, typename Before>
CORANK_HOST_DEVICE Index UpperBound(const Keys& keys, Index count, const Key& key, Before before) {
  Index low = 0;
  while (count > 0) {
    const Index half = count / 2;
    if (!before(key, keys[low + half])) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

/// Merges a[a_begin, a_end) and b[b_begin, b_end) and calls emit(step, from_a, position) for the first `steps` outputs
/// in order. Among equal keys, those of a come first. Stops early when both inputs are exhausted.
template <typename Index, typename A, typename B, typename Before, typename Emit>
CORANK_HOST_DEVICE void SerialMerge(const A& a, Index a_begin, Index a_end, const B& b, Index b_begin, Index b_end,
                                    Index steps, Before before, Emit emit) {
  for (Index step = 0; step < steps; ++step) {
    const bool a_left = a_begin < a_end;
    const bool b_left = b_begin < b_end;
    if (!a_left && !b_left) return;
    const bool take_a = a_left && (!b_left || !before(b[b_begin], a[a_begin]));
    emit(step, take_a, take_a ? a_begin : b_begin);
    if (take_a) {
      ++a_begin;
    } else {
      ++b_begin;
    }
  }
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_MERGE_PATH_H_
