// Sorts and merges inside one tile in shared memory.
//
// A chunk is the work of one thread: `items` adjacent keys of one segment, counted from the segment's start. A thread
// sorts its chunk in registers, with the smallest Batcher network that fits the warp's chunks. Rounds of merge path
// then double the sorted runs of segments with more than one chunk. Keys are padded in shared memory, one place after
// every row of banks, so that threads on adjacent chunks meet in few banks.
//
// Stability: with positions, the network breaks ties by them, and merges take the earlier run first.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_TILE_CUH_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_TILE_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/sort/run_pairs.h"
#include "kernels/cuda/sort/segment_chunks.h"
#include "kernels/cuda/sort/thread_sort.h"

namespace corank::cuda {

/// A tile of kCapacity keys, with the original position of each key, in shared memory.
template <typename Bits, bool kPositions, int kCapacity>
struct SegmentTileMemory {
  struct Empty {};
  Bits keys[Padded<Bits>(kCapacity + kTileSlack)];
  std::conditional_t<kPositions, uint16_t[Padded<Bits>(kCapacity)], Empty> positions;
};

/// Stores keys[i] and positions[i] at begin + step * i of a tile, for i in [0, count). count <= kItems.
template <bool kPositions, typename Memory, typename Bits, int kItems>
__device__ __forceinline__ void StoreChunk(Memory& tile, int begin, int step, int count, const Bits (&keys)[kItems],
                                           const uint32_t (&positions)[kItems]) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (i < count) {
      tile.keys[Padded<Bits>(begin)] = keys[i];
      if constexpr (kPositions) tile.positions[Padded<Bits>(begin)] = static_cast<uint16_t>(positions[i]);
    }
    begin += step;
  }
}

template <typename Bits, bool kPositions, int kCapacity, int kItems>
struct SegmentTileSort {
  static_assert(kItems == 16, "the networks below end with 16");
  using Memory = SegmentTileMemory<Bits, kPositions, kCapacity>;

  /// Sorts `length` <= kCount keys from `begin` on; backwards if `reversed`.
  template <int kCount>
  static __device__ __forceinline__ void SortChunkOf(Memory& tile, int begin, int length, bool reversed) {
    Bits keys[kCount];
    uint32_t positions[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      keys[i] = i < length ? tile.keys[Padded<Bits>(begin + i)] : static_cast<Bits>(~Bits{0});
      positions[i] = static_cast<uint32_t>(begin + i);
    }
    NetworkSort<kPositions>(keys, positions);
    StoreChunk<kPositions>(tile, reversed ? begin + length - 1 : begin, reversed ? -1 : 1, length, keys, positions);
  }

  /// Sorts segments, one chunk for each thread. The thread's chunk is number `chunk` of the segment of `length` keys
  /// from `begin` on; length 0 means no chunk. All threads of the block call it, with all chunks of each segment. The
  /// keys and positions[i] = i are visible to all of them. The results of the last chunks are visible after a barrier.
  ///
  /// Runs of `width` chunks are sorted, those with an odd number backwards, as MergeChunk requires.
  static __device__ __forceinline__ void Run(Memory& tile, int begin, int length, int chunk) {
    const int first = chunk * kItems;
    const int chunk_length = Min(length - first, kItems);
    const int widest = __reduce_max_sync(~0u, chunk_length);
    if (widest > 8) {
      SortChunkOf<16>(tile, begin + first, chunk_length, chunk % 2 != 0);
    } else if (widest > 4) {
      SortChunkOf<8>(tile, begin + first, chunk_length, chunk % 2 != 0);
    } else if (widest > 1) {
      SortChunkOf<4>(tile, begin + first, chunk_length, chunk % 2 != 0);
    }
    for (int width = 1; __syncthreads_or(width * kItems < length); width *= 2) {
      const int start = (chunk & ~(2 * width - 1)) * kItems;
      const int middle = Min(start + width * kItems, length), end = Min(start + 2 * width * kItems, length);
      const bool turns = (chunk & 2 * width) != 0;
      const bool works = width * kItems < length && (middle < end || turns);
      Bits keys[kItems];
      uint32_t positions[kItems];
      if (works) {
        MergeChunk<kPositions>(tile.keys, begin + start, begin + middle, begin + end, first - start, keys, positions);
        if constexpr (kPositions) {
#pragma unroll
          for (int i = 0; i < kItems; ++i) {
            if (i < chunk_length) positions[i] = tile.positions[Padded<Bits>(static_cast<int>(positions[i]))];
          }
        }
      }
      __syncthreads();
      if (works) {
        StoreChunk<kPositions>(tile, begin + (turns ? start + end - 1 - first : first), turns ? -1 : 1, chunk_length,
                               keys, positions);
      }
    }
  }
};

/// Calls move(i) for this thread's i in [begin, end), out of kThreads threads, with loads before stores: store(i,
/// value) gets the result of load(i).
template <int kThreads, int kItems, typename Load, typename Store>
__device__ __forceinline__ void MoveRange(int begin, int end, Load load, Store store) {
  using Value = decltype(load(0));
  for (int start = begin + static_cast<int>(threadIdx.x); start < end; start += kThreads * kItems) {
    Value values[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (start + k * kThreads < end) values[k] = load(start + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (start + k * kThreads < end) store(start + k * kThreads, values[k]);
    }
  }
}

/// out[out_start + i] = the payload at position source_at(i) of the input, or that position itself if payload_in is
/// null, for i in [begin, end). payload_bytes is 4 or 8.
template <int kThreads, int kItems, typename SourceAt>
__device__ __forceinline__ void MovePayloadRange(int payload_bytes, const void* payload_in, void* payload_out,
                                                 int64_t out_start, int begin, int end, SourceAt source_at) {
  const auto move = [&](auto* out) {
    using Payload = std::remove_reference_t<decltype(*out)>;
    const auto* in = static_cast<const Payload*>(payload_in);
    MoveRange<kThreads, kItems>(
        begin, end, [&](int i) { return in == nullptr ? static_cast<Payload>(source_at(i)) : in[source_at(i)]; },
        [&](int i, Payload value) { out[out_start + i] = value; });
  };
  if (payload_bytes == 4) {
    move(static_cast<uint32_t*>(payload_out));
  } else {
    move(static_cast<uint64_t*>(payload_out));
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_TILE_CUH_
