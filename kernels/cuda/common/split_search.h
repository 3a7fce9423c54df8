// The split of a merge of two sorted ranges: how many of its first outputs come from the first range. Host and device.
//
// The split is the least position at which `before` holds; it holds at all later positions too. `before` tells whether,
// at a position, the element of the second range comes before that of the first. Positions count bytes, kSize for each
// element.
//
//
// Source: S. Odeh, O. Green et al., "Merge Path", 2012 (the search itself).
#ifndef CORANK_KERNELS_CUDA_COMMON_SPLIT_SEARCH_H_
#define CORANK_KERNELS_CUDA_COMMON_SPLIT_SEARCH_H_

#include <algorithm>
#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// Returns a position in [low, high]. Calls `before` for positions below high only.
template <int kSize, typename Before>
CORANK_HOST_DEVICE uint32_t FindSplit(uint32_t low, uint32_t high, Before before) {
  while (low < high) {
    const uint32_t middle = (low + high) / 2 & ~uint32_t{kSize - 1};
    const bool is_before = before(middle);
    low = is_before ? low : middle + kSize;
    high = is_before ? middle : high;
  }
  return low;
}

/// The usual distance, in elements, of the split from its mean if two ranges interleave at random: 2 to 4 standard
/// deviations for `count` elements in total. One standard deviation is at most a quarter of the square root of `count`.
/// A power of two.
CORANK_HOST_DEVICE int SplitReach(int count) {
#if defined(__CUDA_ARCH__)
  const int log = 31 - __clz(count | 1);
#else
  int log = 0;
  while (count >> (log + 1) > 0) ++log;
#endif
  return 1 << (log / 2);
}

/// As FindSplit. Fastest if the split is less than `reach` (1 or more) elements from the element `guess`. Otherwise it
/// tries the far end next, for ranges that do not interleave.
template <int kSize, typename Before>
CORANK_HOST_DEVICE uint32_t FindSplitNear(uint32_t low, uint32_t high, int guess, int reach, Before before) {
  const int nearest = std::max(static_cast<int>(low), std::min(static_cast<int>(high), (guess - reach) * kSize));
  const auto first = static_cast<uint32_t>(nearest);
  const uint32_t last = std::min(high, first + static_cast<uint32_t>((2 * reach - 1) * kSize));
  const uint32_t split = FindSplit<kSize>(first, last, before);
  if (split == first && first > low && before(first - kSize)) {
    if (before(low)) return low;
    low += kSize;
    high = first - kSize;
  } else if (split == last && last < high && !before(last)) {
    if (!before(high - kSize)) return high;
    low = last + kSize;
    high -= kSize;
  } else {
    return split;
  }
  return FindSplit<kSize>(low, high, before);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_SPLIT_SEARCH_H_
