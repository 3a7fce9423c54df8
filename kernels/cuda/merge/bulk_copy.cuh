// Asynchronous copies between global and shared memory, and barriers in shared memory that signal their end.
//
// From sm_90 on, one thread requests a whole range at a time (cp.async.bulk). On older architectures, a warp loads
// vectors of 16 bytes, and the threads of a block store the result themselves. Ranges start at multiples of 16 bytes on
// both sides, and have lengths that are multiples of 16 bytes.
#ifndef CORANK_KERNELS_CUDA_MERGE_BULK_COPY_CUH_
#define CORANK_KERNELS_CUDA_MERGE_BULK_COPY_CUH_

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace corank::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kHasBulkCopies = true;
#else
inline constexpr bool kHasBulkCopies = false;
#endif

/// The number of arrivals of LoadRanges at its barrier. For device code.
inline constexpr int kLoadArrivals = kHasBulkCopies ? 1 : 32;

/// A barrier in shared memory with consecutive phases. A phase ends when `arrivals` threads have arrived and all
/// announced loads are done. Writes before an arrival are visible after the wait.
class SharedBarrier {
 public:
  __device__ __forceinline__ void Init(int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(Address()), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void Arrive() {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(Address()) : "memory");
  }
  /// Waits for the end of phase number `phase`, which must be the current or the previous one.
  __device__ __forceinline__ void Wait(int phase) {
    uint32_t done = 0;
    while (done == 0) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(Address()), "r"(phase & 1)
                   : "memory");
#else
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(Address()), "r"(phase & 1)
                   : "memory");
#endif
    }
  }
  __device__ __forceinline__ uint32_t Address() const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(&state_));
  }

 private:
  uint64_t state_;
};

/// Makes the barriers that this thread has initialised visible to the copies. A __syncthreads must follow.
__device__ __forceinline__ void PublishBarriers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// A request to copy global[0, bytes) to shared.
struct LoadRange {
  void* shared;
  const void* global;
  int bytes;  // may be 0
};

/// Loads the ranges and arrives at `barrier`, whose phase ends after the loads. Before sm_90, waits for the loads. All
/// lanes of a warp call it. Their earlier writes to shared memory are visible after the wait, too.
template <int kRanges>
__device__ __forceinline__ void LoadRanges(const LoadRange (&ranges)[kRanges], SharedBarrier& barrier) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __syncwarp();
  if (lane != 0) return;
  int bytes = 0;
  for (const LoadRange& range : ranges) bytes += range.bytes;
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(barrier.Address()),
               "r"(bytes)
               : "memory");
#pragma unroll
  for (const LoadRange& range : ranges) {
    if (range.bytes == 0) continue;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(range.shared))),
                 "l"(range.global), "r"(range.bytes), "r"(barrier.Address())
                 : "memory");
  }
#else
  for (const LoadRange& range : ranges) {
    for (int i = 16 * lane; i < range.bytes; i += 16 * 32) {
      __pipeline_memcpy_async(static_cast<char*>(range.shared) + i, static_cast<const char*>(range.global) + i, 16);
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  barrier.Arrive();
#endif
}

/// Each thread that wrote data for a store to shared memory calls it, before the barrier that precedes StoreRange.
__device__ __forceinline__ void PublishToStores() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Starts to store shared[0, bytes), as one group of stores of this thread. Does nothing before sm_90.
__device__ __forceinline__ void StoreRange(void* global, const void* shared, int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (bytes > 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))), "r"(bytes)
                 : "memory");
  }
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
/// Waits until all groups of stores of this thread except the last `kLeft` have read shared memory.
template <int kLeft>
__device__ __forceinline__ void WaitUntilStoresHaveRead() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
#endif
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_BULK_COPY_CUH_
