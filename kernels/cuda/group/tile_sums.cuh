// Exact sums of the integers of a tile, in fewer words than the sums of a whole array need.
#ifndef CORANK_KERNELS_CUDA_GROUP_TILE_SUMS_CUH_
#define CORANK_KERNELS_CUDA_GROUP_TILE_SUMS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/run_reduction.h"
#include "kernels/cuda/group/group_tuning.h"

namespace corank::cuda {

/// The value after shuffle(word) of each of its words. T has whole words, or less than one.
template <typename T, typename Shuffle>
__device__ __forceinline__ T ShuffleWords(T value, const Shuffle& shuffle) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(shuffle(static_cast<uint32_t>(value)));
  } else {
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (uint32_t& word : words) word = shuffle(word);
    memcpy(&value, words, sizeof(T));
    return value;
  }
}

/// A value of the lane `step` lanes on, and `step` lanes back.
template <typename T>
__device__ __forceinline__ T ShuffleDown(T value, int step) {
  return ShuffleWords(value, [=](uint32_t word) { return __shfl_down_sync(~0u, word, step); });
}
template <typename T>
__device__ __forceinline__ T ShuffleUp(T value, int step) {
  return ShuffleWords(value, [=](uint32_t word) { return __shfl_up_sync(~0u, word, step); });
}

/// The sum of integers of up to 32 bits.
struct NarrowTileSum {
  int64_t sum;

  __device__ __forceinline__ NarrowTileSum operator+(const NarrowTileSum& other) const { return {sum + other.sum}; }
  __device__ __forceinline__ NarrowTileSum operator-(const NarrowTileSum& other) const { return {sum - other.sum}; }
  __device__ __forceinline__ int64_t Exact() const { return sum; }
};

/// The sum of integers of 64 bits: its low 64 bits, and a word above them.
struct WideTileSum {
  uint64_t low;
  int32_t high;

  __device__ __forceinline__ WideTileSum operator+(const WideTileSum& other) const {
    WideTileSum sum;
    asm("add.cc.u64 %0, %2, %3;\n\taddc.s32 %1, %4, %5;"
        : "=l"(sum.low), "=r"(sum.high)
        : "l"(low), "l"(other.low), "r"(high), "r"(other.high));
    return sum;
  }
  __device__ __forceinline__ WideTileSum operator-(const WideTileSum& other) const {
    WideTileSum difference;
    asm("sub.cc.u64 %0, %2, %3;\n\tsubc.s32 %1, %4, %5;"
        : "=l"(difference.low), "=r"(difference.high)
        : "l"(low), "l"(other.low), "r"(high), "r"(other.high));
    return difference;
  }
  __device__ __forceinline__ Int128 Exact() const {
    const auto word = static_cast<uint64_t>(int64_t{high});
    return static_cast<Int128>(static_cast<unsigned __int128>(word) << 64 | low);
  }
};
__device__ __forceinline__ WideTileSum ShuffleUp(const WideTileSum& sum, int step) {
  return {ShuffleUp(sum.low, step), ShuffleUp(sum.high, step)};
}

/// The sum of one value.
template <typename Value>
__device__ __forceinline__ auto TileSumOf(Value value) {
  if constexpr (sizeof(Value) < 8) {
    return NarrowTileSum{value};
  } else {
    constexpr bool kSigned = static_cast<Value>(-1) < Value{0};
    return WideTileSum{static_cast<uint64_t>(value), kSigned ? static_cast<int32_t>(value >> 63) : 0};
  }
}

/// The place of element i of a tile in shared memory: one more for each thread keeps its neighbours out of its bank.
__device__ __forceinline__ int Spread(int i) { return i + i / GroupTuning::kRunItems; }
inline constexpr int kSpreadTile = GroupTuning::kRunTile + GroupTuning::kThreads;

/// Sums at places of a tile, in shared memory.
template <typename Sum>
struct TileSums;

template <>
struct TileSums<NarrowTileSum> {
  int64_t sums[kSpreadTile];

  __device__ __forceinline__ void Put(int i, const NarrowTileSum& sum) { sums[Spread(i)] = sum.sum; }
  __device__ __forceinline__ NarrowTileSum Get(int i) const { return {sums[Spread(i)]}; }
};

template <>
struct TileSums<WideTileSum> {
  static_assert(GroupTuning::kRunTile < 1 << 15, "the words above 64 bits have 16");
  uint64_t lows[kSpreadTile];
  int16_t highs[kSpreadTile];

  __device__ __forceinline__ void Put(int i, const WideTileSum& sum) {
    lows[Spread(i)] = sum.low;
    highs[Spread(i)] = static_cast<int16_t>(sum.high);
  }
  __device__ __forceinline__ WideTileSum Get(int i) const { return {lows[Spread(i)], highs[Spread(i)]}; }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_TILE_SUMS_CUH_
