// Search from a guess: counts a lane's keys before a pivot, for the multiway partition.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_SEARCH_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_SEARCH_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/unroll.h"

namespace corank::cuda {

/// The strategy of a search. kWide reads several keys at a time and so waits for memory as rarely as possible: for
/// searches that run almost alone. kNarrow reads one key at a time and so reads as few as possible: for many searches
/// that hide each other's latency.
enum class SearchWidth { kNarrow, kWide };

/// The first position in [low, high) with !before(position), or high. `before` is true up to that position and false
/// from it on.
template <SearchWidth kWidth, typename Before>
CORANK_HOST_DEVICE int64_t FindBorder(int64_t low, int64_t high, Before before) {
  constexpr int kProbes = kWidth == SearchWidth::kWide ? 7 : 1;
  while (low < high) {
    const int64_t step = (high - low + kProbes) / (kProbes + 1);
    int count = 0;
    CORANK_UNROLL
    for (int i = 1; i <= kProbes; ++i) {
      const int64_t position = low + i * step - 1;
      const bool is_before = before(position < high ? position : high - 1);
      count += is_before && position < high ? 1 : 0;
    }
    low += count * step;
    if (count < kProbes && low + step - 1 < high) high = low + step - 1;
  }
  return low;
}

/// As FindBorder, from a `start` in [low, high] that is at or before the border (`up`), or at or after it. Looks at
/// distances of step, 4 * step, 16 * step and, for runs that do not overlap, at the far end, and then searches between
/// the two distances that enclose the border.
template <SearchWidth kWidth, typename Before>
CORANK_HOST_DEVICE int64_t Gallop(int64_t low, int64_t high, int64_t start, bool up, int64_t step, Before before) {
  constexpr int kReach = 4;
  const int64_t all = up ? high - start : start - low;
  if (all == 0) return start;
  const auto distance_of = [&](int i) { return i + 1 < kReach && step << (2 * i) < all ? step << (2 * i) : all; };
  int count = 0;  // the number of distances short of the border
  CORANK_UNROLL
  for (int i = 0; i < kReach; ++i) {
    if (kWidth == SearchWidth::kNarrow && count < i) break;
    count += before(up ? start + distance_of(i) - 1 : start - distance_of(i)) == up ? 1 : 0;
  }
  if (count == kReach) return up ? high : low;
  const int64_t near = count == 0 ? 0 : distance_of(count - 1), far = distance_of(count);
  return up ? FindBorder<kWidth>(start + near, start + far - 1, before)
            : FindBorder<kWidth>(start - far + 1, start - near, before);
}

/// About the square root of n, at least 1: the typical distance of n random keys from their expected places.
CORANK_HOST_DEVICE int64_t GallopStep(int64_t n) {
  int half_log = 0;
#if defined(__CUDA_ARCH__)
  half_log = (64 - __clzll(n)) / 2;
#else
  while (half_log < 31 && int64_t{1} << (2 * half_log + 1) <= n) ++half_log;
#endif
  return int64_t{1} << half_log;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_SEARCH_H_
