// Binary search from a guess: how a lane of the multiway partition counts its keys before a pivot.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_SEARCH_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_SEARCH_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// The first position in [low, high) where !before(position), or high; `before` is true up to a position and false from
/// there on. Gallops from `start` in [low, high], known to be that position or after it (`up`), or that or before it.
/// Where the first step does not meet it, the far end is tried at once, for runs that do not overlap.
template <typename Before>
CORANK_HOST_DEVICE int64_t Gallop(int64_t low, int64_t high, int64_t start, bool up, int64_t step, Before before) {
  if (up) {
    low = start;
    for (bool first = true; high - low > step; first = false) {
      if (!before(low + step)) {
        high = low + step;
        break;
      }
      low += step + 1;
      step *= 4;
      if (first && low < high && before(high - 1)) return high;
    }
  } else {
    high = start;
    for (bool first = true; high - low > step; first = false) {
      if (before(high - 1 - step)) {
        low = high - step;
        break;
      }
      high -= step + 1;
      step *= 4;
      if (first && low < high && !before(low)) return low;
    }
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// About the square root of n, at least 1: how far n random keys may be from where they are expected.
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
