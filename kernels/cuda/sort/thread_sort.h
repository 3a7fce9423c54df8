// Sorts the few items that one thread holds in registers. All loops unroll, so that every index is a constant.
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

/// Steps (kP, kK) and following of Batcher's network. A recursion over types, because the compiler does not unroll
/// loops whose strides double and halve.
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

/// Sorts keys with Batcher's network. kPositions: sorts (key, position) pairs with ties broken by position, so that the
/// sort is stable if positions ascend with the input. Otherwise positions are not touched, and equal keys must be
/// identical.
template <bool kPositions, typename Bits, int kItems>
CORANK_HOST_DEVICE void NetworkSort(Bits (&keys)[kItems], uint32_t (&positions)[kItems]) {
  NetworkSteps<kPositions, 1, 1>(keys, positions);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_THREAD_SORT_H_
