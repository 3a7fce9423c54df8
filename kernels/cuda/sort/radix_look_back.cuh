// Decoupled look-back: how many keys of each digit are in earlier tiles. Each thread handles one digit.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_LOOK_BACK_CUH_
#define CORANK_KERNELS_CUDA_SORT_RADIX_LOOK_BACK_CUH_

#include <cstdint>

#include "kernels/cuda/sort/radix_state.h"

namespace corank::cuda {

/// The statuses of one tile of a launch, and of the `before` earlier tiles whose keys precede its own.
class LookBack {
 public:
  __device__ __forceinline__ LookBack(const RadixStatuses& statuses, int launch, int tiles, int tile, int before)
      : statuses_(statuses), tile_(tile), before_(before), finished_(statuses.d_finished + launch * statuses.groups) {
    const uint32_t number = static_cast<uint32_t>(launch) * static_cast<uint32_t>(tiles) + static_cast<uint32_t>(tile);
    round_ = number / static_cast<uint32_t>(statuses.rows);
    row_ = static_cast<int>(number - round_ * static_cast<uint32_t>(statuses.rows));
  }

  /// Waits until no tile reads the row that this tile writes. One warp calls it, before any thread publishes.
  __device__ __forceinline__ void AwaitRow() const {
    const int overwritten = tile_ - statuses_.rows;
    if (overwritten < 0) return;  // of an earlier launch
    const int last = (overwritten + statuses_.reach) / kTilesPerGroup;
    for (int group = overwritten / kTilesPerGroup + static_cast<int>(threadIdx.x % 32); group <= last; group += 32) {
      while (LoadAcquire(finished_ + group) != kTilesPerGroup) {
      }
    }
  }

  /// Publishes the count of this tile.
  __device__ __forceinline__ void Publish(int bin, uint32_t count) const {
    Store(RowOf(row_) + bin, count | (before_ == 0 ? PrefixFlag(round_) : kOwnFlag));
  }

  /// Returns the number of keys of this digit in those tiles. Publishes what this tile knows to later tiles.
  __device__ __forceinline__ uint32_t Resolve(int bin, uint32_t count) const {
    if (before_ == 0) return 0;
    uint32_t prefix = 0;
    uint32_t prefix_flag = PrefixFlag(round_);
    int row = row_ - 1;
    int left = before_;
    bool done = false;
    /// Returns whether the status was there and the previous tile must be examined, too.
    const auto take = [&](uint32_t status) {
      const bool is_own = status >= kOwnFlag;
      done = (status ^ prefix_flag) <= kCountMask;
      if (!is_own && !done) return false;
      prefix += status & kCountMask;
      --row;
      --left;
      return is_own;
    };
    while (!done) {
      if (row < 0) {
        row += statuses_.rows;
        prefix_flag = EmptyFlag(round_);
      }
      const uint32_t* const status = RowOf(row) + bin;
      if (row < kLookBackWindow || left < kLookBackWindow) {
        take(Load(status));
        continue;
      }
      uint32_t seen[kLookBackWindow];
#pragma unroll
      for (int i = 0; i < kLookBackWindow; ++i) seen[i] = Load(status - i * kDigitBins);
#pragma unroll
      for (int i = 0; i < kLookBackWindow; ++i) {
        if (!take(seen[i])) break;
      }
    }
    Store(RowOf(row_) + bin, (prefix + count) | PrefixFlag(round_));
    return prefix;
  }

  /// All threads of the tile have their prefixes. One thread calls it.
  __device__ __forceinline__ void Finish() const {
    if (statuses_.groups == 0) return;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(finished_ + tile_ / kTilesPerGroup) : "memory");
  }

 private:
  // A row holds prefixes of the previous round until it is written. That flag now means "empty".
  static constexpr uint32_t kCountMask = (1u << 30) - 1;
  static constexpr uint32_t kOwnFlag = 3u << 30;
  static __device__ __forceinline__ uint32_t EmptyFlag(uint32_t round) { return round % 3 << 30; }
  static __device__ __forceinline__ uint32_t PrefixFlag(uint32_t round) { return (round + 1) % 3 << 30; }

  static __device__ __forceinline__ uint32_t Load(const uint32_t* p) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p));
    return value;
  }
  static __device__ __forceinline__ uint32_t LoadAcquire(const uint32_t* p) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
  }
  static __device__ __forceinline__ void Store(uint32_t* p, uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
  }

  __device__ __forceinline__ uint32_t* RowOf(int row) const { return statuses_.d_rows + row * kDigitBins; }

  const RadixStatuses& statuses_;
  int tile_;
  int before_;
  uint32_t* finished_;
  uint32_t round_;
  int row_;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_LOOK_BACK_CUH_
