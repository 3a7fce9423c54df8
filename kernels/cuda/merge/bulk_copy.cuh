// Copies between global and shared memory that run on their own, and barriers in shared memory that tell of their end.
//
// From sm_90 on, one thread asks for a whole range at once (cp.async.bulk); before, a warp asks for it in vectors of 16
// bytes, and the threads of a block store what goes back. Ranges start at multiples of 16 bytes on both sides and are
// as long.
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

/// How often LoadRanges arrives at its barrier. For device code.
inline constexpr int kLoadArrivals = kHasBulkCopies ? 1 : 32;

/// A barrier in shared memory, whose phases follow one another: each ends when `arrivals` threads have arrived and the
/// loads that were announced are done. What was written before an arrival is visible after the wait.
class SharedBarrier {
 public:
  __device__ __forceinline__ void Init(int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(Address()), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void Arrive() {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(Address()) : "memory");
  }
  /// Waits for the end of phase number `phase`, which must be the current one or the one before.
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

/// Makes the barriers that this thread has set up known to the copies; a __syncthreads follows.
__device__ __forceinline__ void PublishBarriers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// global[0, bytes) is to be copied to shared.
struct LoadRange {
  void* shared;
  const void* global;
  int bytes;  // may be 0
};

/// Loads the ranges and arrives at `barrier`, whose phase ends after the loads; waits for them only before sm_90. All
/// lanes of a warp call it; what they wrote to shared memory before is visible after the wait, too.
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

/// To be called by each thread that wrote to shared memory what is to be stored, before the barrier that StoreRange is
/// behind.
__device__ __forceinline__ void PublishToStores() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Starts to store shared[0, bytes), as one group of stores of this thread. Nothing before sm_90.
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
/// Waits until all groups of stores of this thread but the last `kLeft` have read shared memory.
template <int kLeft>
__device__ __forceinline__ void WaitUntilStoresHaveRead() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
#endif
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_BULK_COPY_CUH_
