// Sorts of the few items that one thread holds in registers. All loops unroll: every index is a constant.
#ifndef CORANK_KERNELS_CUDA_SORT_THREAD_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_THREAD_SORT_H_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/unroll.h"
#include "kernels/cuda/sort/batcher.h"

namespace corank::cuda {

template <typename T>
CORANK_HOST_DEVICE void SwapIf(bool swap, T& x, T& y) {
  const T old = x;
  x = swap ? y : x;
  y = swap ? old : y;
}

/// Steps (kP, kK) and after of Batcher's network. A recursion over types, since the compiler does not unroll loops
/// whose strides double and halve.
template <bool kPositions, int kP, int kK, typename Bits, int kItems>
CORANK_HOST_DEVICE void NetworkSteps(Bits (&keys)[kItems], uint32_t (&positions)[kItems]) {
  CORANK_UNROLL
  for (int x = 0; x + kK < kItems; ++x) {
    if (!IsBatcherLower(x, kP, kK)) continue;
    bool swap = keys[x + kK] < keys[x];
    if constexpr (kPositions) {
      swap = swap || (keys[x + kK] == keys[x] && positions[x + kK] < positions[x]);
      SwapIf(swap, positions[x], positions[x + kK]);
    }
    SwapIf(swap, keys[x], keys[x + kK]);
  }
  if constexpr (kK > 1) {
    NetworkSteps<kPositions, kP, kK / 2>(keys, positions);
  } else if constexpr (2 * kP < kItems) {
    NetworkSteps<kPositions, 2 * kP, 2 * kP>(keys, positions);
  }
}

/// Sorts keys by Batcher's network. kPositions: (key, position) pairs, position breaking ties, so that the sort is
/// stable where positions rise with the input; otherwise positions are not touched and equal keys must be
/// indistinguishable.
template <bool kPositions, typename Bits, int kItems>
CORANK_HOST_DEVICE void NetworkSort(Bits (&keys)[kItems], uint32_t (&positions)[kItems]) {
  NetworkSteps<kPositions, 1, 1>(keys, positions);
}

/// Sorts each segment of the items for itself, stably, by odd-even transposition: only neighbours are compared, so a
/// segment's border is a comparator left out. Bit i of `heads`: item i starts a segment. kPositions: positions follow
/// their keys.
template <bool kPositions, typename Bits, int kItems>
CORANK_HOST_DEVICE void SegmentedTranspositionSort(uint32_t heads, Bits (&keys)[kItems],
                                                   uint32_t (&positions)[kItems]) {
  static_assert(kItems <= 32, "heads is a mask of 32 bits");
  CORANK_UNROLL
  for (int round = 0; round < kItems; ++round) {
    CORANK_UNROLL
    for (int x = round & 1; x + 1 < kItems; x += 2) {
      const bool swap = ((heads >> (x + 1)) & 1) == 0 && keys[x + 1] < keys[x];
      if constexpr (kPositions) SwapIf(swap, positions[x], positions[x + 1]);
      SwapIf(swap, keys[x], keys[x + 1]);
    }
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_THREAD_SORT_H_
