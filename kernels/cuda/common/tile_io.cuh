// Copies between global and shared memory, 16 bytes at a time at any alignment of the range.
//
// A range of elements rarely starts at a 16-byte boundary. The tile in shared memory therefore gets the same phase
// (address modulo 16) as its range in global memory. The middle of the range then moves as 16-byte vectors on both
// sides, and the few elements before and after it move one by one. Nothing outside the range is read or written.
// LoadPairs and StoreWhole do the same between global memory and registers.
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_IO_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_IO_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <cstring>

namespace corank::cuda {

/// Elements of T in a 16-byte vector.
template <typename T>
inline constexpr int kPerVector = 16 / static_cast<int>(sizeof(T));

/// numbers[first, first + kItems), with 0 from `count` on; two at a time if `numbers` is at a 16-byte boundary (`first`
/// is even). Uses no shared memory: the cache keeps the half of a sector that one vector of a thread leaves for the
/// other.
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

/// Writes a vector to device memory at a 16-byte boundary with one store. The compiler would split an assignment whose
/// elements are in registers. The kernel must not read what it writes.
template <typename T>
__device__ __forceinline__ void StoreWhole(const T (&elements)[kPerVector<T>], T* to) {
  uint32_t words[4];
  memcpy(words, elements, sizeof(words));
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3]));
}

/// Elements between the last 16-byte boundary and p: the offset of a range that starts at p in an aligned tile.
template <typename T>
__device__ __forceinline__ int PhaseOf(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) & 15) / static_cast<int>(sizeof(T));
}

/// The least offset >= `used` elements with the same 16-byte phase as p.
template <typename T>
__device__ __forceinline__ int PlaceAfter(int used, const T* p) {
  return (used + kPerVector<T> - 1) / kPerVector<T> * kPerVector<T> + PhaseOf(p);
}

/// Calls copy_vector(first element of the vector) and copy_element(element) for this thread's parts of [0, count), out
/// of kThreads threads. Element 0 has the given phase.
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

/// Starts the copy of global[0, count) to tile[0, count), which has the same phase. Visible after FinishLoads and then
/// __syncthreads. All kThreads threads of the block call it.
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

/// Copies tile[0, count) to global[0, count), which has the same phase. All kThreads threads of the block call it.
template <int kThreads, typename T>
__device__ __forceinline__ void StoreTile(const T* tile, T* global, int count) {
  ForEachPart<kThreads, T>(
      PhaseOf(global), count,
      [&](int i) { *reinterpret_cast<uint4*>(global + i) = *reinterpret_cast<const uint4*>(tile + i); },
      [&](int i) { global[i] = tile[i]; });
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_IO_CUH_
