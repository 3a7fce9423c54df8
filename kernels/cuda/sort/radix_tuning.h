// Tile sizes of the radix sort. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_TUNING_H_
#define CORANK_KERNELS_CUDA_SORT_RADIX_TUNING_H_

#include <cstdint>

#include "kernels/cuda/common/multiprocessor.h"

namespace corank::cuda {

inline constexpr int kDigitBits = 8;
inline constexpr int kDigitBins = 1 << kDigitBits;
/// Digits of the widest key.
inline constexpr int kMaxDigits = 8;

/// The sizes of one pass. Longer tiles write longer runs for each digit. Registers limit them: a thread holds its keys,
/// then its payload, in 64 registers if two blocks of 512 threads share a multiprocessor.
struct RadixTuning {
  int threads;
  int items;
  int blocks;  // that must fit on a multiprocessor: limits the registers

  constexpr int Tile() const { return threads * items; }
};

/// Measured on sm_90 (H200), 2^20 to 2^28 uniform keys.
constexpr RadixTuning RadixTuningFor(int key_bytes, int payload_bytes) {
  if (payload_bytes == 0) return {512, key_bytes == 8 ? 18 : 24, 2};
  return {512, payload_bytes == 4 ? 18 : 16, 2};
}

/// How many tiles ahead of its turn a tile is prefetched into the L2 cache. `reach` tiles could run at the same time if
/// registers and shared memory sufficed; half of them do. Too early, and the tile is evicted again; too late, and all
/// its loads wait together. Few tiles all run soon, and find the output of the previous pass in the cache. Measured on
/// sm_90 (H200), 2^28: pairs of 4 + 4 bytes 37.7 Gpairs/s without, 38.7 half of reach ahead, 40.2 a quarter, 34.7 all
/// of it; 8-byte keys 20.2 without, 21.1 a quarter ahead; 4-byte keys are 7 % faster half of reach ahead than without.
constexpr int PrefetchTiles(int word_bytes, int tiles, int reach) {
  return word_bytes == 8 && tiles > 2 * reach ? reach / 4 : reach / 2;
}

/// Whether a tile prefetches its payload, which it loads last, into the L2 cache while it ranks its keys. With 8-byte
/// keys, an 8-byte payload would evict the tile's own writes, unless there are so few tiles that all run soon. Measured
/// on sm_90 (H200) with and without: 2^22 9.0 and 8.9 Gpairs/s, 2^28 10.9 and 11.05, 2^30 10.8 and 11.0. Other widths
/// were measured with prefetching only.
constexpr bool PrefetchesPayload(int key_bytes, int payload_bytes, int tiles, int reach) {
  return key_bytes < 8 || payload_bytes < 8 || tiles <= 2 * reach;
}

/// Predecessors whose counts a tile reads at a time.
inline constexpr int kLookBackWindow = 4;
/// Tiles whose look-backs are counted together.
inline constexpr int kTilesPerGroup = 128;
/// Most keys of one launch, within which counts have 30 bits.
inline constexpr int64_t kMaxLaunchKeys = (int64_t{1} << 30) - 1;

struct RadixHistogramTuning {
  int threads;
  int items;
  int blocks;  // on each multiprocessor; limits the registers
};
inline constexpr RadixHistogramTuning kRadixHistogram = {1024, 8, kMultiprocessorThreads / 1024};
/// Copies of each counter of a block's histogram, so that the lanes of a warp rarely meet in a bank. 16 take 0.31 ms
/// for 2^28 u32 keys, 1 takes 0.48 ms, and 32 (one for each lane) take 0.30 ms.
inline constexpr int kHistogramCopies = 16;

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_TUNING_H_
