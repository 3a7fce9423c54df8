// The first results of each sorted segment, side by side.
#ifndef CORANK_KERNELS_CPU_SEGMENT_LIMIT_H_
#define CORANK_KERNELS_CPU_SEGMENT_LIMIT_H_

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Copies the first `limit` items of each from[offsets[s], offsets[s + 1]) to `to`, one segment behind the other, and
/// returns their number. `begins`: room for segments + 1 numbers.
template <typename Item>
int64_t PackSegments(const Item* from, Item* to, const int64_t* offsets, int64_t segments, int64_t limit,
                     int64_t* begins, Parallel& parallel) {
  constexpr int64_t kGrain = int64_t{1} << 14;
  begins[0] = 0;
  for (int64_t segment = 0; segment < segments; ++segment) {
    begins[segment + 1] = begins[segment] + std::min(limit, offsets[segment + 1] - offsets[segment]);
  }
  // Cut by items: segments may be long, or empty.
  parallel.ForRange(begins[segments], kGrain, [&](int64_t begin, int64_t end) {
    int64_t segment = std::upper_bound(begins, begins + segments, begin) - begins - 1;
    for (int64_t at = begin; at < end; ++segment) {
      const int64_t last = std::min(end, begins[segment + 1]);
      const Item* const first = from + offsets[segment] + (at - begins[segment]);
      std::copy(first, first + (last - at), to + at);
      at = last;
    }
  });
  return begins[segments];
}

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_SEGMENT_LIMIT_H_
