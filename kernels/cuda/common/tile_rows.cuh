// Merges sorted ranges of keys in shared memory without bank conflicts, one row of 32 outputs for each thread.
//
// A pair of ranges lies in a region of whole rows. The first range ascends from the start of the region, the second one
// descends from its end, and the greatest keys meet in between. The 32 outputs of a thread are consecutive keys of one
// range and consecutive keys of the other; their places in the region have every remainder modulo 32 once. So register
// j of each thread of a warp takes the key with remainder j. With rows padded to 33 words, no two threads meet in a
// bank, for any keys. The thread then holds a rotated bitonic sequence, which half-cleaners sort in registers.
//
// Works only for keys whose equal values are identical.
//
// Source: K. E. Batcher, 1968 (bitonic merge); K. Berney, N. Sitchinava, "Eliminating Bank Conflicts in GPU Mergesort",
// 2025 (the gather by remainders).
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_ROWS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_ROWS_CUH_

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/tile_merge.cuh"

namespace corank::cuda {

inline constexpr int kRow = 32;              // keys in a row
inline constexpr int kRowStride = kRow + 1;  // slots
inline constexpr int kRowBytes = kRowStride * 4;

/// The slot of place x of a region, counted from the first slot of the region.
CORANK_HOST_DEVICE constexpr int RowSlot(int x) { return x + static_cast<int>(static_cast<unsigned>(x) / kRow); }

/// A pair of ranges, and the row of their merge that this thread makes.
struct RowPair {
  uint32_t base;  // address of place 0 of the region
  int a_count;    // keys in the first range; the second one has all other places
  int rows;       // rows of the region
  int row;        // 0 to rows - 1
};

/// How many outputs of the pair before this row come from the first range.
__device__ __forceinline__ int RowSplit(const RowPair& pair) {
  const int before = pair.row * kRow;
  uint32_t low = static_cast<uint32_t>(max(0, before - (pair.rows * kRow - pair.a_count)));
  uint32_t high = static_cast<uint32_t>(min(before, pair.a_count));
  // Key `before - 1 - m` of the second range is at place (rows - row) * 32 + m.
  const uint32_t b_base = pair.base + static_cast<uint32_t>(pair.rows - pair.row) * kRowBytes;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const uint32_t offset = (middle + middle / kRow) * 4;
    const bool b_first = LoadShared<uint32_t>(b_base + offset) < LoadShared<uint32_t>(pair.base + offset);
    low = b_first ? low : middle + 1;
    high = b_first ? middle : high;
  }
  return static_cast<int>(low);
}

/// Sorts a rotated bitonic sequence.
__device__ __forceinline__ void BitonicMerge(uint32_t (&keys)[kRow]) {
#pragma unroll
  for (int step = kRow / 2; step > 0; step /= 2) {
#pragma unroll
    for (int x = 0; x < kRow; ++x) {
      if ((x & step) == 0) {
        const uint32_t low = min(keys[x], keys[x + step]);
        keys[x + step] = max(keys[x], keys[x + step]);
        keys[x] = low;
      }
    }
  }
}

/// The lesser of key and `other` if `lesser`, otherwise the greater.
__device__ __forceinline__ uint32_t Keep(bool lesser, uint32_t key, uint32_t other) {
  return lesser ? min(key, other) : max(key, other);
}

/// Merges the sorted rows of `width` adjacent lanes with those of the next `width` lanes, by a bitonic merge through
/// shuffles. The width is a power of two below 32.
template <int kWidth>
__device__ __forceinline__ void MergeLaneRows(uint32_t (&keys)[kRow]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool first_half = (lane & kWidth) == 0;
#pragma unroll
  for (int j = 0; j < kRow / 2; ++j) {
    const uint32_t mirrored = __shfl_xor_sync(~0u, keys[kRow - 1 - j], 2 * kWidth - 1);
    const uint32_t other = __shfl_xor_sync(~0u, keys[j], 2 * kWidth - 1);
    keys[j] = Keep(first_half, keys[j], mirrored);
    keys[kRow - 1 - j] = Keep(first_half, keys[kRow - 1 - j], other);
  }
#pragma unroll
  for (int step = kWidth / 2; step > 0; step /= 2) {
    const bool lesser = (lane & step) == 0;
#pragma unroll
    for (int j = 0; j < kRow; ++j) keys[j] = Keep(lesser, keys[j], __shfl_xor_sync(~0u, keys[j], step));
  }
  BitonicMerge(keys);
}

/// Makes the outputs of the row. `split` keys of the first range come before them, `next_split` before the next row.
__device__ __forceinline__ void MergeRow(const RowPair& pair, int split, int next_split, uint32_t (&keys)[kRow]) {
  // The places are split to split + 31. Those from next_split on skip the rows between the next keys of the ranges.
  const uint32_t split_row = static_cast<uint32_t>(split) / kRow;
  const uint32_t a_row = pair.base + split_row * kRowBytes;
  const uint32_t b_row = pair.base + (split_row + static_cast<uint32_t>(pair.rows - pair.row - 1)) * kRowBytes;
  const int turn = split & (kRow - 1);  // smaller remainders lie in the next row
  const int switched = turn + next_split - split;
  const bool wraps = switched > kRow;
  const int first = wraps ? switched - kRow : turn, second = wraps ? turn : switched;
  const uint32_t base0 = (wraps ? a_row : b_row) + kRowBytes;
  const uint32_t base1 = wraps ? b_row + kRowBytes : a_row;
  const uint32_t base2 = wraps ? a_row : b_row;
#pragma unroll
  for (int j = 0; j < kRow; ++j) {
    keys[j] = LoadShared<uint32_t>((j < first ? base0 : j < second ? base1 : base2) + 4 * j);
  }
  BitonicMerge(keys);
}

/// Writes a row as row `row` of the first (`falls` false) or second range of a pair whose region has `rows` rows.
/// `base`: see RowPair.
__device__ __forceinline__ void WriteRow(uint32_t base, bool falls, int rows, int row, const uint32_t (&keys)[kRow]) {
  if (!falls) {
    const uint32_t out = base + static_cast<uint32_t>(row) * kRowBytes;
#pragma unroll
    for (int j = 0; j < kRow; ++j) StoreShared(out + 4 * j, keys[j]);
  } else {
    const uint32_t out = base + static_cast<uint32_t>(rows - 1 - row) * kRowBytes;
#pragma unroll
    for (int j = 0; j < kRow; ++j) StoreShared(out + 4 * (kRow - 1 - j), keys[j]);
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_ROWS_CUH_
