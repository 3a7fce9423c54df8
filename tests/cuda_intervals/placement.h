// Places for intervals.
#ifndef CORANK_TESTS_CUDA_INTERVALS_PLACEMENT_H_
#define CORANK_TESTS_CUDA_INTERVALS_PLACEMENT_H_

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/distributions.h"

namespace corank::testing {

using Counts = std::vector<int64_t>;

/// Consecutive offsets in the order of `order`, from `next` on, with a gap before one interval in `gaps` (0: no gaps).
/// Returns the number of elements needed.
inline int64_t Place(const Counts& counts, const std::vector<size_t>& order, int64_t next, int64_t gaps, Random& random,
                     Counts& offsets) {
  offsets.resize(counts.size());
  for (size_t i : order) {
    if (gaps > 0 && random.OneIn(gaps)) next += 1 + random.Below(5);
    offsets[i] = next;
    next += counts[i];
  }
  return next;
}

inline std::vector<size_t> InOrder(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

inline std::vector<size_t> Shuffled(size_t count, Random& random) {
  std::vector<size_t> order = InOrder(count);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[size_t(random.Below(int64_t(i)))]);
  return order;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_CUDA_INTERVALS_PLACEMENT_H_
