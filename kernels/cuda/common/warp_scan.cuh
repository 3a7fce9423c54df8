// Scans and searches of a whole warp.
#ifndef CORANK_KERNELS_CUDA_COMMON_WARP_SCAN_CUH_
#define CORANK_KERNELS_CUDA_COMMON_WARP_SCAN_CUH_

#include <cstdint>

#include "kernels/cuda/common/integer_math.h"
#include "kernels/cuda/common/warp.h"

namespace corank::cuda {

/// An inclusive scan.
template <typename Count>
__device__ __forceinline__ Count ScanOverLanes(Count own) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const Count other = __shfl_up_sync(kAllLanes, own, step);
    if (lane >= step) own += other;
  }
  return own;
}

/// The last element of [low, high) with is_before. `is_before` is true for `low`, and false after the first false.
template <typename IsBefore>
__device__ __forceinline__ int64_t LastBefore(int64_t low, int64_t high, IsBefore is_before) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (high - low > 1) {
    const int64_t step = CeilDiv(high - low, 32);
    const int64_t probe = low + lane * step;
    const int holds = __popc(__ballot_sync(kAllLanes, lane == 0 || (probe < high && is_before(probe))));
    high = min(high, low + holds * step);
    low += (holds - 1) * step;
  }
  return low;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_WARP_SCAN_CUH_
