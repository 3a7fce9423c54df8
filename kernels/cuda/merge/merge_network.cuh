// A warp sorts, in registers, a sequence that falls and then rises.
//
// Algorithm   the last phase of a bitonic sort: log2 levels of compare-exchanges. Those at distances of 32 and more
//             elements are within a lane; then the sequence is laid out anew through shared memory, so that most of the
//             others are within a lane too.
// Work        32 * kItems * log2(32 * kItems) / 2 comparisons, the same for every input
// Stability   none: equal keys must be indistinguishable
// Source      K. E. Batcher, "Sorting networks and their applications", AFIPS 1968
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_NETWORK_CUH_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_NETWORK_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace corank::cuda {

/// Shared memory of a warp in which 32 * kItems elements of 4 or 8 bytes change between two layouts: rows, element e in
/// register e / 32 of lane e % 32, and chunks, element e in register e % kChunk of lane e / kChunk. Each chunk is
/// followed by 16 bytes of padding, so that lanes that access their chunks meet in no bank.
template <typename T, int kItems>
struct MergeStaging {
  static_assert(kItems <= 32 && (sizeof(T) == 4 || sizeof(T) == 8));
  static constexpr int kChunk = kItems > 16 ? 32 : kItems > 8 ? 16 : 8;
  static constexpr int kChunks = 32 * kItems / kChunk;
  static constexpr int kVectors = kChunk * static_cast<int>(sizeof(T)) / 16;  // of a chunk
  static constexpr int kChunkStride = kChunk + 16 / static_cast<int>(sizeof(T));
  static constexpr int kRowStride = 32 / kChunk * kChunkStride;

  uint4 vectors[kChunks * (kVectors + 1)];

  __device__ __forceinline__ T* RowPlace() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return reinterpret_cast<T*>(vectors) + lane / kChunk * kChunkStride + lane % kChunk;
  }
  __device__ __forceinline__ void RowsToChunk(const T (&rows)[kItems], T (&chunk)[kChunk]) {
    T* const place = RowPlace();
#pragma unroll
    for (int i = 0; i < kItems; ++i) place[i * kRowStride] = rows[i];
    __syncwarp();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint4* const mine = vectors + min(lane, kChunks - 1) * (kVectors + 1);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if constexpr (sizeof(T) == 4) {
        const uint4 vector = mine[i];
        chunk[4 * i] = vector.x;
        chunk[4 * i + 1] = vector.y;
        chunk[4 * i + 2] = vector.z;
        chunk[4 * i + 3] = vector.w;
      } else {
        const ulonglong2 vector = reinterpret_cast<const ulonglong2*>(mine)[i];
        chunk[2 * i] = vector.x;
        chunk[2 * i + 1] = vector.y;
      }
    }
    __syncwarp();
  }
  __device__ __forceinline__ void ChunkToRows(const T (&chunk)[kChunk], T (&rows)[kItems]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < kChunks) {
      uint4* const mine = vectors + lane * (kVectors + 1);
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        if constexpr (sizeof(T) == 4) {
          mine[i] = make_uint4(chunk[4 * i], chunk[4 * i + 1], chunk[4 * i + 2], chunk[4 * i + 3]);
        } else {
          reinterpret_cast<ulonglong2*>(mine)[i] = make_ulonglong2(chunk[2 * i], chunk[2 * i + 1]);
        }
      }
    }
    __syncwarp();
    const T* const place = RowPlace();
#pragma unroll
    for (int i = 0; i < kItems; ++i) rows[i] = place[i * kRowStride];
  }
};

/// The levels of the network at distances of kDistance, kDistance / 2, ..., 1 registers. A recursion over types, since
/// the compiler does not unroll loops whose distance halves.
template <int kDistance, int kItems, typename T>
__device__ __forceinline__ void SortWithinLanes(T (&items)[kItems]) {
  if constexpr (kDistance < kItems) {
#pragma unroll
    for (int x = 0; x + kDistance < kItems; ++x) {
      if ((x & kDistance) != 0) continue;
      const T low = min(items[x], items[x + kDistance]);
      items[x + kDistance] = max(items[x], items[x + kDistance]);
      items[x] = low;
    }
  }
  if constexpr (kDistance > 1) SortWithinLanes<kDistance / 2>(items);
}

/// The levels at distances of kDistance, ..., 1 lanes.
template <int kDistance, int kItems, typename T>
__device__ __forceinline__ void SortAcrossLanes(T (&items)[kItems]) {
  if constexpr (kDistance > 0) {
    const bool upper = (threadIdx.x & kDistance) != 0;
#pragma unroll
    for (int x = 0; x < kItems; ++x) {
      const T other = __shfl_xor_sync(~0u, items[x], kDistance);
      items[x] = upper ? max(items[x], other) : min(items[x], other);
    }
    SortAcrossLanes<kDistance / 2>(items);
  }
}

/// Sorts a sequence that falls and then rises, in rows. Rows that are missing to a power of two act as keys that come
/// after all others.
template <typename T, int kItems>
__device__ __forceinline__ void SortValley(T (&rows)[kItems], MergeStaging<T, kItems>& staging) {
  constexpr int kChunk = MergeStaging<T, kItems>::kChunk;
  SortWithinLanes<16>(rows);
  T chunk[kChunk];
  staging.RowsToChunk(rows, chunk);
  SortAcrossLanes<16 / kChunk>(chunk);
  SortWithinLanes<kChunk / 2>(chunk);
  staging.ChunkToRows(chunk, rows);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_NETWORK_CUH_
