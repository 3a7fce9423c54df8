// Finds the first element that is out of order.
#ifndef CORANK_KERNELS_CPU_SORTED_CHECK_H_
#define CORANK_KERNELS_CPU_SORTED_CHECK_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// The least i in [1, count) with out_of_order(i), or `count`. Reads the input of out_of_order once, and less of it if
/// an element is found early.
template <typename OutOfOrder>
int64_t FirstOutOfOrder(int64_t count, Parallel& parallel, const OutOfOrder& out_of_order) {
  // A block is tested without a branch per element, so that the compiler can vectorise the test.
  constexpr int64_t kBlock = 1024;
  constexpr int64_t kFirstBlock = 64;  // most unsorted arrays fail here
  std::atomic<int64_t> least{count};
  parallel.ForRange(count, 16 * kBlock, [&](int64_t begin, int64_t end) {
    int64_t block_end = begin;
    for (int64_t block = std::max<int64_t>(begin, 1); block < end; block = block_end) {
      if (block >= least.load(std::memory_order_relaxed)) return;
      block_end = std::min(block + (block_end == begin ? kFirstBlock : kBlock), end);
      bool any = false;
      for (int64_t i = block; i < block_end; ++i) any |= out_of_order(i);
      if (!any) continue;
      int64_t found = block;
      while (!out_of_order(found)) ++found;
      int64_t known = least.load(std::memory_order_relaxed);
      while (found < known && !least.compare_exchange_weak(known, found)) {
      }
      return;
    }
  });
  return least.load();
}

/// The least index whose key comes before the previous key, or `count` if the keys are sorted.
template <typename Bits, typename Ordering>
int64_t FirstUnsorted(const Bits* keys, int64_t count, const Ordering& order, Parallel& parallel) {
  return FirstOutOfOrder(count, parallel, [&](int64_t i) { return order.Before(keys[i], keys[i - 1]); });
}

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_SORTED_CHECK_H_
