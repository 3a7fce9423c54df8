// Bits of the positions where segments begin.
#ifndef CORANK_KERNELS_CUDA_COMMON_SET_HEADS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_SET_HEADS_CUH_

#include <cstdint>

#include "kernels/cuda/common/warp.h"

namespace corank::cuda {

/// Sets the bit of each lane's head, if it exists. Heads increase from lane to lane. A whole warp calls it.
__device__ __forceinline__ void SetHeads(int64_t head, bool exists, uint32_t* heads) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t word = exists ? head / 32 : -1;
  uint32_t bits = exists ? 1u << (head % 32) : 0;
  // Words increase from lane to lane, except for lanes without a head. Atomics combine the bits of lanes that are
  // apart.
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_down_sync(kAllLanes, bits, step);
    const int64_t other_word = __shfl_down_sync(kAllLanes, word, step);
    if (lane + step < 32 && other_word == word) bits |= other;
  }
  const int64_t word_before = __shfl_up_sync(kAllLanes, word, 1);
  if (exists && (lane == 0 || word_before != word)) atomicOr(&heads[word], bits);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_SET_HEADS_CUH_
