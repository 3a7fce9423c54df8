// The sum of the counts of all earlier blocks, without a launch in between.
//
// Algorithm: a block publishes its own sum and looks back over earlier blocks, which have published either their own
//            sums or the sums of all blocks up to them. Then it publishes the latter (decoupled look-back). This
//            requires that blocks start in the order of their numbers, or at least that every block before a running
//            one runs eventually.
// Source: D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016.
#ifndef CORANK_KERNELS_CUDA_COMMON_LOOK_BACK_CUH_
#define CORANK_KERNELS_CUDA_COMMON_LOOK_BACK_CUH_

#include <cstdint>

#include "kernels/cuda/common/look_back_tuning.h"

namespace corank::cuda {

/// The published value of a tile: a sum and its extent, in one word so that no fence is needed.
using TileSum = unsigned long long;
inline constexpr TileSum kOwnSum = TileSum{1} << 62;    // of the tile alone
inline constexpr TileSum kWholeSum = TileSum{2} << 62;  // of the tile and all earlier tiles
inline constexpr TileSum kSumMask = kOwnSum - 1;

template <bool kSaturates>
__device__ __forceinline__ TileSum AddSums(TileSum a, TileSum b) {
  return kSaturates ? min(a + b, kSumMask) : a + b;
}

/// Publishes the sum of the tile and returns the sum of all earlier tiles to every lane. One warp calls it. kSaturates:
/// sums stop at kSumMask.
template <bool kSaturates = false>
__device__ __forceinline__ int64_t LookBack(volatile TileSum* sums, int64_t tile, int64_t sum) {
  constexpr int kLook = kTilesOfLookBack;
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
      if (!found && lane <= nearest) before = AddSums<kSaturates>(before, seen[i] & kSumMask);
      found |= whole != 0;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    before = AddSums<kSaturates>(before, __shfl_xor_sync(0xFFFFFFFFu, before, step));
  }
  if (lane == 0 && tile > 0) sums[tile] = kWholeSum | AddSums<kSaturates>(before, static_cast<TileSum>(sum));
  return static_cast<int64_t>(before);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_LOOK_BACK_CUH_
