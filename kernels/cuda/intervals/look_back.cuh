// The sum of what all blocks before have counted, without a launch between.
//
// Algorithm   A block publishes its sum and looks back over those before it, whose blocks have published sums of their
//             own or sums of all up to them; then it publishes the latter (decoupled look-back). Blocks are taken to
//             start in the order of their numbers, or at least every block before one that runs to run at some time.
// Source      D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016
#ifndef CORANK_KERNELS_CUDA_INTERVALS_LOOK_BACK_CUH_
#define CORANK_KERNELS_CUDA_INTERVALS_LOOK_BACK_CUH_

#include <cstdint>

#include "kernels/cuda/intervals/interval_tuning.h"

namespace corank::cuda {

/// What a tile has published for those behind it: a sum and how far it reaches, in one word so that no fence is needed.
using TileSum = unsigned long long;
inline constexpr TileSum kOwnSum = TileSum{1} << 62;    // of the tile
inline constexpr TileSum kWholeSum = TileSum{2} << 62;  // of the tile and all before it
inline constexpr TileSum kSumMask = kOwnSum - 1;

/// Publishes the tile's sum and answers that of all before, to every lane of the one warp that calls it.
__device__ __forceinline__ int64_t LookBack(volatile TileSum* sums, int64_t tile, int64_t sum) {
  constexpr int kLook = IntervalTuning::kLookBack;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane == 0) sums[tile] = (tile == 0 ? kWholeSum : kOwnSum) | static_cast<TileSum>(sum);
  TileSum before = 0;
  bool found = tile == 0;
  for (int64_t last = tile - 1; !found; last -= 32 * kLook) {
    TileSum seen[kLook];
#pragma unroll
    for (int i = 0; i < kLook; ++i) {
      seen[i] = kWholeSum;
      if (last - i * 32 - lane >= 0) seen[i] = sums[last - i * 32 - lane];
    }
#pragma unroll
    for (int i = 0; i < kLook; ++i) {
      while (seen[i] == 0) seen[i] = sums[last - i * 32 - lane];
      const unsigned whole = __ballot_sync(0xFFFFFFFFu, seen[i] >= kWholeSum);
      const int nearest = whole == 0 ? 32 : __ffs(static_cast<int>(whole)) - 1;
      if (!found && lane <= nearest) before += seen[i] & kSumMask;
      found |= whole != 0;
    }
  }
  for (int step = 16; step > 0; step /= 2) before += __shfl_xor_sync(0xFFFFFFFFu, before, step);
  if (lane == 0 && tile > 0) sums[tile] = kWholeSum | (before + static_cast<TileSum>(sum));
  return static_cast<int64_t>(before);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_LOOK_BACK_CUH_
