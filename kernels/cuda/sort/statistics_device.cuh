// The shared parts of kernels that examine keys: vectors of keys, sums over a warp, the last block, the letter to the
// host.
#ifndef CORANK_KERNELS_CUDA_SORT_STATISTICS_DEVICE_CUH_
#define CORANK_KERNELS_CUDA_SORT_STATISTICS_DEVICE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {

/// 16 bytes of keys in registers.
template <typename Bits>
struct KeyVector {
  static constexpr int kPer = 16 / static_cast<int>(sizeof(Bits));
  alignas(16) Bits keys[kPer];

  static __device__ __forceinline__ bool IsAligned(const void* p) { return (reinterpret_cast<uintptr_t>(p) & 15) == 0; }
  /// Keys of an array of `count` keys before its first 16-byte boundary.
  static __device__ __forceinline__ int64_t CountBefore(const Bits* keys, int64_t count) {
    const auto phase = static_cast<int64_t>((reinterpret_cast<uintptr_t>(keys) & 15) / sizeof(Bits));
    const int64_t before = (kPer - phase) % kPer;
    return before < count ? before : count;
  }
  __device__ __forceinline__ void Load(const Bits* aligned) {
    *reinterpret_cast<uint4*>(keys) = *reinterpret_cast<const uint4*>(aligned);
  }
  __device__ __forceinline__ void Store(Bits* aligned) const {
    *reinterpret_cast<uint4*>(aligned) = *reinterpret_cast<const uint4*>(keys);
  }
};

/// Adds, or ors, the values of all lanes to a value in shared memory. The whole warp calls it.
__device__ __forceinline__ void AddOfWarp(uint32_t* shared_sum, uint32_t value) {
  const uint32_t sum = __reduce_add_sync(kAllLanes, value);
  if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(shared_sum, sum);
}
__device__ __forceinline__ void OrOfWarp(unsigned long long* shared_or, uint64_t value) {
  const uint32_t low = __reduce_or_sync(kAllLanes, static_cast<uint32_t>(value));
  const uint32_t high = __reduce_or_sync(kAllLanes, static_cast<uint32_t>(value >> 32));
  if (threadIdx.x % 32 == 0) atomicOr(shared_or, static_cast<unsigned long long>(high) << 32 | low);
}

/// Whether all other blocks have called it, so that their earlier writes can be read. One thread of a block calls it,
/// after a barrier.
__device__ __forceinline__ bool IsLastBlock(uint32_t* blocks_done) {
  __threadfence();
  const bool is_last = atomicAdd(blocks_done, 1) + 1 == gridDim.x;
  __threadfence();
  return is_last;
}

/// Makes the letter, which this thread has written, visible to the host.
__device__ __forceinline__ void SendLetter(StatisticsLetter* letter) {
  __threadfence_system();
  *static_cast<volatile uint32_t*>(&letter->arrived) = 1;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STATISTICS_DEVICE_CUH_
