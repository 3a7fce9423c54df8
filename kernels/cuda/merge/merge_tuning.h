// Sizes of the merge kernels. Tests take their boundary sizes from here.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_TUNING_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_TUNING_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// AUTO, integer keys alone: warps that stream. A tile is one step of a warp. Longer tiles cost fewer instructions a
/// key, shorter ones let more warps share a multiprocessor's memory; u32 with 15 items and twice the warps was no
/// faster. Sizes for sm_90, measured on an H200 with 2 x 2^27 keys.
template <int kKeyBytes>
struct StreamMergeTuning {
  static constexpr int kWarps = 2;  // of a block
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocks = kKeyBytes <= 2 ? 10 : 5;  // of a multiprocessor, at least: bounds the registers
  static constexpr int kItems = kKeyBytes == 8 ? 15 : 30;
  static constexpr int kTile = 32 * kItems;
  static constexpr int kRing = kKeyBytes == 8 ? 1024 : 2048;
  /// Asked into the L2 cache before there is room in the ring. More is slower: 4096 by 7 %, 8192 by 20 % (u32).
  static constexpr int kAheadBytes = kKeyBytes == 8 ? 0 : 2048;
};
/// Sections of a merge, each for one warp: more than are resident, since warps do not run evenly; few, since each
/// searches its start in the whole inputs.
inline constexpr int64_t kStreamMergeSections = 132 * 10 * 4;
/// Sections are multiples of it: whole tiles.
inline constexpr int64_t kStreamMergeUnit = 960;

/// AUTO, else: tiles by merge path. The number of items is odd: threads that write neighbouring runs of an odd number
/// of words to shared memory meet in no bank. Sizes for sm_90: a block takes at most a ninth of its shared memory.
template <int kKeyBytes>
struct PathMergeTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = kKeyBytes == 8 ? 11 : kKeyBytes == 4 ? 15 : kKeyBytes == 2 ? 23 : 31;
  static constexpr int kTile = kThreads * kItems;
  static constexpr int kVectorBytes = 16;
  /// Both inputs, each at its own offset modulo the vector width and with one key more, that its last step looks at.
  static constexpr int kStagingBytes = kTile * kKeyBytes + 4 * kVectorBytes;
  static_assert(kTile <= 0x10000, "a position in a tile is a uint16_t");
  static_assert(kStagingBytes <= 48 * 1024 - 2048, "static shared memory");
  static_assert(kTile * kKeyBytes % kVectorBytes == 0, "tiles of an aligned output are aligned");
};

/// BASIC: each thread merges kItems outputs straight from global memory.
struct BasicMergeTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 8;
  static constexpr int kTile = kThreads * kItems;
};

/// TILED and CIRCULAR_BUFFER: a block merges a section of kTilesPerSection tiles, one after the other; it stages up to
/// a tile of either input.
struct StagedMergeTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 8;
  static constexpr int kTile = kThreads * kItems;
  static constexpr int kTilesPerSection = 8;
  static constexpr int kSection = kTile * kTilesPerSection;
  static_assert(2 * kTile * 8 <= 48 * 1024 - 2048, "two tiles of 8-byte keys in static shared memory");
};

/// Outputs of a section: what one block makes, or one warp where AUTO merges keys alone.
constexpr int64_t MergeSectionSize(MergeAlgorithm algorithm, int key_bytes, bool keys_alone, int64_t total) {
  switch (algorithm) {
    case MergeAlgorithm::kBasic:
      return BasicMergeTuning::kTile;
    case MergeAlgorithm::kTiled:
    case MergeAlgorithm::kCircularBuffer:
      return StagedMergeTuning::kSection;
    case MergeAlgorithm::kAuto:
    case MergeAlgorithm::kMergePath:
      break;
  }
  if (keys_alone) {
    const int64_t least = kStreamMergeUnit * kStreamMergeSections;
    return total <= least ? kStreamMergeUnit : (total / least + (total % least != 0 ? 1 : 0)) * kStreamMergeUnit;
  }
  switch (key_bytes) {
    case 1:
      return PathMergeTuning<1>::kTile;
    case 2:
      return PathMergeTuning<2>::kTile;
    case 4:
      return PathMergeTuning<4>::kTile;
    default:
      return PathMergeTuning<8>::kTile;
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_TUNING_H_
