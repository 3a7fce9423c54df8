// Where a merge of two sorted ranges splits: how many of its first outputs come from the first range. Host and device.
//
// The split is the least position at which `before` holds, which says whether the second range's element comes before
// the first range's one there; from then on it holds. Positions count bytes, kSize an element.
//
// Source: S. Odeh, O. Green et al., "Merge Path", 2012 (the search itself).
#ifndef CORANK_KERNELS_CUDA_COMMON_SPLIT_SEARCH_H_
#define CORANK_KERNELS_CUDA_COMMON_SPLIT_SEARCH_H_

#include <algorithm>
#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// In [low, high], where `before` is asked for positions below high only.
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

/// How far from its mean, in elements, the split of two ranges is that interleave at random: for `count` of both
/// together 2 to 4 standard deviations, which are a quarter of the root at most. A power of two.
CORANK_HOST_DEVICE int SplitReach(int count) {
#if defined(__CUDA_ARCH__)
  const int log = 31 - __clz(count | 1);
#else
  int log = 0;
  while (count >> (log + 1) > 0) ++log;
#endif
  return 1 << (log / 2);
}

/// As FindSplit, fastest where the split is less than `reach` elements, 1 or more, from the element `guess`. Otherwise
/// the far end comes next, for ranges that do not interleave.
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
