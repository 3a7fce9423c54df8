// The sums of all earlier tiles, for blocks that take tiles in turn, without a launch in between.
//
// Algorithm: a block takes the next tile from a counter, and publishes the sum of that tile. Of the tiles before it,
//            the block knows the sum up to the last one that it asked for, and its threads add up those since.
//            A block that asks for a tile only after it has published the next one seldom waits. It never waits for
//            a block that does not run, because only running blocks take tiles.
// Source: of sums that blocks publish to each other, D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with
// Decoupled Look-back", 2016. That scan passes sums on from tile to tile; here each block adds up the own ones.
#ifndef CORANK_KERNELS_CUDA_COMMON_EARLIER_TILES_CUH_
#define CORANK_KERNELS_CUDA_COMMON_EARLIER_TILES_CUH_

#include <cstdint>

#include "kernels/cuda/common/warp.h"

namespace corank::cuda {

/// A word for the counter and one for each tile, all zero before the launch.
using TileWord = uint32_t;
constexpr int64_t TileWords(int64_t tiles) { return 1 + tiles; }

/// A block's view of the tiles. All its threads hold the same one.
class EarlierTiles {
 public:
  explicit __device__ __forceinline__ EarlierTiles(TileWord* words) : words_(words) {}

  /// One thread calls it. The number may be beyond the last tile: then none is left.
  __device__ __forceinline__ uint32_t Take() const { return atomicAdd(words_, 1U); }

  /// One thread calls it. sum < kMostSum.
  __device__ __forceinline__ void Publish(int64_t tile, uint32_t sum) const { SumOf(tile) = sum + 1; }

  /// The sum of the tiles before `tile`, which is not before the one of the last call. The block, of kWarps warps,
  /// calls it. There must be a barrier between two calls, because of s_sums.
  template <int kWarps>
  __device__ __forceinline__ int64_t Before(int64_t tile, uint32_t (&s_sums)[kWarps]) {
    constexpr int kThreads = 32 * kWarps, kLook = 4;
    static_assert(kThreads * kLook <= kMostTiles, "32 bits hold the sum");
    const int lane = static_cast<int>(threadIdx.x) % 32;
    while (known_ < tile) {
      const int64_t first = known_ + threadIdx.x, end = min(tile, known_ + kThreads * kLook);
      TileWord seen[kLook];
#pragma unroll
      for (int i = 0; i < kLook; ++i) seen[i] = first + i * kThreads < end ? SumOf(first + i * kThreads) : 1;
      uint32_t own = 0;
#pragma unroll
      for (int i = 0; i < kLook; ++i) {
        while (seen[i] == 0) seen[i] = SumOf(first + i * kThreads);
        own += seen[i] - 1;
      }
      own = __reduce_add_sync(kAllLanes, own);
      if (lane == 0) s_sums[threadIdx.x / 32] = own;
      __syncthreads();
      sum_ += __reduce_add_sync(kAllLanes, lane < kWarps ? s_sums[lane] : 0);
      known_ = end;
      if (known_ < tile) __syncthreads();
    }
    return sum_;
  }

  static constexpr uint32_t kMostSum = 1U << 18;
  static constexpr int kMostTiles = 1 << 13;

 private:
  __device__ __forceinline__ volatile TileWord& SumOf(int64_t tile) const { return words_[1 + tile]; }

  TileWord* words_;
  int64_t known_ = 0;  // a tile
  int64_t sum_ = 0;    // of the tiles before it
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_EARLIER_TILES_CUH_
