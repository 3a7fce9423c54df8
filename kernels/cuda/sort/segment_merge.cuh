// Merges the pieces of one tile: up to 16 sorted runs become one, in shared memory.
//
// Algorithm: the pieces lie one after the other, those with an odd number backwards, as MergeChunk requires. On each
//            level, adjacent ranges of pieces are merged in pairs. The pairs are divided into chunks of kItems outputs,
//            one for each thread, counted from the start of each pair, so that no thread works on two pairs.
// Work: O(tile log ways).
// Stability: with positions, the earlier piece comes first.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_MERGE_CUH_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_MERGE_CUH_

#include <cstdint>

#include "kernels/cuda/sort/segment_pass.h"
#include "kernels/cuda/sort/segment_tile.cuh"

namespace corank::cuda {

/// The places of a tile's pieces, in the tile and in memory. Lies in shared memory.
struct MergePieces {
  int start[kMergeWays + 1];                    // in the tile; then the end of the last one
  int slots[kMergeLevels][kMergeWays / 2 + 1];  // [level][pair]: the first thread of the pair; then the end
  int64_t source[kMergeWays];                   // in memory: the place of the piece's first key, minus start

  __device__ __forceinline__ int PieceAt(int i) const {
    int piece = 0;
#pragma unroll
    for (int step = kMergeWays / 2; step > 0; step /= 2) piece += start[piece + step] <= i ? step : 0;
    return piece;
  }

  /// Warp 0 calls it: lane w < kMergeWays adds piece w, `count` keys from `begin` in memory on.
  template <int kItems>
  __device__ __forceinline__ void Fill(int64_t begin, int count) {
    const int lane = static_cast<int>(threadIdx.x);
    int end = count;
#pragma unroll
    for (int step = 1; step < kMergeWays; step *= 2) {
      const int other = __shfl_up_sync(~0u, end, step);
      if (lane >= step) end += other;
    }
    if (lane < kMergeWays) {
      if (lane == 0) start[0] = 0;
      start[lane + 1] = end;
      source[lane] = begin - (end - count);
    }
#pragma unroll
    for (int level = 0; level < kMergeLevels; ++level) {
      count += __shfl_down_sync(~0u, count, 1 << level);  // of the pair that begins with this piece
      const int pairs = kMergeWays >> (level + 1);
      int all = __shfl_sync(~0u, (count + kItems - 1) / kItems, lane % pairs << (level + 1));
      const int own = all;
#pragma unroll
      for (int step = 1; step < pairs; step *= 2) {
        const int other = __shfl_up_sync(~0u, all, step);
        if (lane % pairs >= step) all += other;
      }
      if (lane < pairs) {
        slots[level][lane] = all - own;
        if (lane + 1 == pairs) slots[level][pairs] = all;
      }
    }
  }
};

/// Merges tiles of kTile keys with kThreads threads.
template <typename Bits, bool kPositions, int kTile, int kThreads>
struct PieceMerge {
  static constexpr int kItems = kTile / kThreads + 1;
  static_assert((kTile + kMergeWays / 2 * (kItems - 1)) / kItems <= kThreads, "a chunk of each pair may be short");
  using Memory = SegmentTileMemory<Bits, kPositions, kTile>;

  /// Loads the pieces of `keys`. The table is visible to all threads.
  static __device__ __forceinline__ void Load(const Bits* keys, const MergePieces& pieces, Memory& tile) {
    constexpr int kShare = kTile / (kThreads / 32), kBatch = 8;
    const int lane = static_cast<int>(threadIdx.x % 32), total = pieces.start[kMergeWays];
    int i = static_cast<int>(threadIdx.x / 32) * kShare + lane;
    const int share_end = Min(i - lane + kShare, total);
    int piece = pieces.PieceAt(i);
    for (; i < share_end; i += 32 * kBatch) {
      Bits values[kBatch];
      int places[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const int position = i + 32 * k;
        if (position >= share_end) continue;
        while (position >= pieces.start[piece + 1]) ++piece;
        values[k] = keys[pieces.source[piece] + position];
        places[k] = piece % 2 == 0 ? position : pieces.start[piece] + pieces.start[piece + 1] - 1 - position;
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const int position = i + 32 * k;
        if (position >= share_end) continue;
        tile.keys[Padded<Bits>(places[k])] = values[k];
        if constexpr (kPositions) tile.positions[Padded<Bits>(places[k])] = static_cast<uint16_t>(position);
      }
    }
  }

  /// Merges the loaded pieces. Positions then count through the pieces, one after the other. The result is visible
  /// after a barrier.
  static __device__ __forceinline__ void Run(const MergePieces& pieces, int levels, Memory& tile) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int level = 0; level < levels; ++level) {
      const int* const slots = pieces.slots[level];
      const int pairs = kMergeWays >> (level + 1);
      int pair = 0;
      for (int step = pairs / 2; step > 0; step /= 2) pair += slots[pair + step] <= thread ? step : 0;
      const int piece = pair << (level + 1);
      const int begin = pieces.start[piece], middle = pieces.start[piece + (1 << level)];
      const int end = pieces.start[piece + (2 << level)];
      const int first = (thread - slots[pair]) * kItems;
      const int count = Min(kItems, end - begin - first);
      Bits keys[kItems];
      uint32_t positions[kItems];
      __syncthreads();
      if (count > 0) {
        MergeChunk<kPositions>(tile.keys, begin, middle, end, first, keys, positions);
        if constexpr (kPositions) {
#pragma unroll
          for (int i = 0; i < kItems; ++i) {
            if (i < count) positions[i] = tile.positions[Padded<Bits>(static_cast<int>(positions[i]))];
          }
        }
      }
      __syncthreads();
      if (count > 0) {
        const bool turns = pair % 2 != 0;
        StoreChunk<kPositions>(tile, turns ? end - 1 - first : begin + first, turns ? -1 : 1, count, keys, positions);
      }
    }
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_MERGE_CUH_
