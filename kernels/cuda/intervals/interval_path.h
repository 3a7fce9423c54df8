// The arithmetic of load-balancing search: units of work and the intervals that they belong to, merged.
//
// Source: S. Baxter, moderngpu, "Load-Balancing Search", 2013, https://moderngpu.github.io/loadbalance.html
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_PATH_H_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_PATH_H_

#include <cstdint>

#include "kernels/common/merge_path.h"
#include "kernels/common/types.h"

namespace corank::cuda {

/// The numbers 0, 1, 2, ... as an array.
template <typename Index>
struct Counting {
  CORANK_HOST_DEVICE Index operator[](Index i) const { return i; }
};

/// Starts of intervals, in units, from starts in elements.
struct ScaledStarts {
  const int64_t* starts;
  int64_t units_per_element;
  CORANK_HOST_DEVICE int64_t operator[](int64_t i) const { return starts[i] * units_per_element; }
};

/// How many intervals are among the first `diagonal` steps of the merge path on which an interval comes right before
/// its first unit (an empty one before the unit that the next one starts with). The other steps are units. Starts
/// ascend.
template <typename Index, typename Starts>
CORANK_HOST_DEVICE Index IntervalsBefore(Index diagonal, const Starts& starts, Index interval_count, Index unit_count) {
  return CoRank(diagonal, starts, interval_count, Counting<Index>{}, unit_count,
                [](Index a, Index b) { return a < b; });
}

/// Walks `steps` steps of that path from the point where `interval` intervals and `unit` units are behind, and calls
/// emit(unit, interval) for each unit: the number of the last interval that started, -1 before the first.
template <typename Starts, typename Emit>
CORANK_HOST_DEVICE void WalkIntervals(const Starts& starts, int interval_count, int unit_count, int interval, int unit,
                                      int steps, Emit emit) {
  for (int step = 0; step < steps; ++step) {
    if (interval < interval_count && (unit >= unit_count || starts[interval] <= unit)) {
      ++interval;
    } else if (unit < unit_count) {
      emit(unit, interval - 1);
      ++unit;
    }
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_PATH_H_
