// Copies between global and shared memory, 16 bytes at a time wherever the range starts.
//
// A range of elements rarely starts at a 16-byte boundary. The tile in shared memory is therefore placed with the same
// phase (address modulo 16) as its range in global memory: the middle of the range moves as 16-byte vectors on both
// sides, the few elements before and after it one by one. Nothing outside the range is read or written. LoadPairs
// and StoreWhole do the same between global memory and registers.
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_IO_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_IO_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <cstring>

namespace corank::cuda {

/// Elements of T in a 16-byte vector.
template <typename T>
inline constexpr int kPerVector = 16 / static_cast<int>(sizeof(T));

/// numbers[first, first + kItems), 0 behind `count`, two at a time where `numbers` is at a 16-byte boundary (`first` is
/// even). No shared memory: what two vectors of a thread leave of a sector is in the cache for the other.
template <int kItems>
__device__ __forceinline__ void LoadPairs(const int64_t* numbers, int64_t first, int64_t count,
                                          int64_t (&items)[kItems]) {
  static_assert(kItems % 2 == 0, "pairs");
  if (first + kItems <= count && (reinterpret_cast<uintptr_t>(numbers) & 15) == 0) {
#pragma unroll
    for (int i = 0; i < kItems; i += 2) {
      const longlong2 two = __ldg(reinterpret_cast<const longlong2*>(numbers + first + i));
      items[i] = two.x;
      items[i + 1] = two.y;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) items[i] = first + i < count ? numbers[first + i] : 0;
}

/// Writes a vector to device memory at a 16-byte boundary, by one store: the compiler takes an assignment apart where
/// it has its elements in registers. Nothing of what is written is read in the same kernel.
template <typename T>
__device__ __forceinline__ void StoreWhole(const T (&elements)[kPerVector<T>], T* to) {
  uint32_t words[4];
  memcpy(words, elements, sizeof(words));
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3]));
}

/// Elements between the last 16-byte boundary and p: where the range that starts at p goes in an aligned tile.
template <typename T>
__device__ __forceinline__ int PhaseOf(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) & 15) / static_cast<int>(sizeof(T));
}

/// The least offset >= `used` elements whose 16-byte phase is that of p.
template <typename T>
__device__ __forceinline__ int PlaceAfter(int used, const T* p) {
  return (used + kPerVector<T> - 1) / kPerVector<T> * kPerVector<T> + PhaseOf(p);
}

/// Calls copy_vector(first element of the vector) and copy_element(element) for the parts of [0, count) that fall to
/// this thread of kThreads, where element 0 has the given phase.
template <int kThreads, typename T, typename CopyVector, typename CopyElement>
__device__ __forceinline__ void ForEachPart(int phase, int count, CopyVector copy_vector, CopyElement copy_element) {
  static_assert(kThreads >= 16, "one step copies the elements before and after the vectors");
  const int thread = static_cast<int>(threadIdx.x);
  const int head = min(count, (kPerVector<T> - phase) % kPerVector<T>);
  const int vectors = (count - head) / kPerVector<T>;
  const int tail = head + vectors * kPerVector<T>;
  for (int v = thread; v < vectors; v += kThreads) copy_vector(head + v * kPerVector<T>);
  if (thread < head) copy_element(thread);
  if (tail + thread < count) copy_element(tail + thread);
}

/// Starts the copy of global[0, count) to tile[0, count), which has the same phase. FinishLoads and then __syncthreads
/// make it visible. All of the block's kThreads threads call it.
template <int kThreads, typename T>
__device__ __forceinline__ void StartLoad(const T* global, T* tile, int count) {
  ForEachPart<kThreads, T>(
      PhaseOf(global), count, [&](int i) { __pipeline_memcpy_async(tile + i, global + i, 16); },
      [&](int i) { tile[i] = global[i]; });
}

__device__ __forceinline__ void FinishLoads() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

/// Copies tile[0, count) to global[0, count), which has the same phase. All of the block's kThreads threads call it.
template <int kThreads, typename T>
__device__ __forceinline__ void StoreTile(const T* tile, T* global, int count) {
  ForEachPart<kThreads, T>(
      PhaseOf(global), count,
      [&](int i) { *reinterpret_cast<uint4*>(global + i) = *reinterpret_cast<const uint4*>(tile + i); },
      [&](int i) { global[i] = tile[i]; });
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_IO_CUH_
