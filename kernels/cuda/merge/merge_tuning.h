// Sizes of the merge kernels. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_TUNING_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_TUNING_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// AUTO with two inputs of 4- or 8-byte keys without values: blocks that stream. Sizes for sm_90, measured on an H200
/// with 2 x 2^27 keys. More than two blocks on a multiprocessor (with shorter tiles, fewer stages or half the threads)
/// were slower, and so was one block with 512 threads.
template <int kKeyBytes>
struct BulkMergeTuning {
  static_assert(kKeyBytes == 4 || kKeyBytes == 8);
  static constexpr int kThreads = 256;  // threads that merge
  static constexpr int kLaunchThreads = kThreads + 64;
  static constexpr int kBlocks = 2;  // on each multiprocessor
  static constexpr int kStages = 3;
  static constexpr int kItems = kKeyBytes == 8 ? 15 : 31;  // odd, as below
  static constexpr int kTile = kThreads * kItems;
  static constexpr int kLine = 128 / kKeyBytes;
  /// Slots of a stage: both parts of a tile, each at its own place in a line and with kItems more keys.
  static constexpr int kSlots = (kTile + 2 * kItems + 5 * kLine) / kLine * kLine;
  /// Tiles of a section: enough to hide the search for the next section, and to keep its probes few. Small sections
  /// come last, so that all blocks end at about the same time.
  static constexpr int kLongTiles = 8, kShortTiles = 2;
  /// The distance between the first probes for the beginning of a tile.
  static constexpr int kProbeStride = kKeyBytes == 8 ? 64 : 96;
  static_assert(kTile % kLine == 0, "tiles of an aligned output are aligned");
  static constexpr int kMaxSharedBytes = 99 * 1024;  // for a block, on every architecture
};

/// AUTO in all other cases: tiles by merge path. The number of items is odd, so that threads which write adjacent runs
/// of words to shared memory meet in no bank. Sizes for sm_90, measured on an H200 with values of 4 bytes.
template <int kKeyBytes>
struct PathMergeTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = kKeyBytes == 8 ? 15 : kKeyBytes == 4 ? 19 : kKeyBytes == 2 ? 23 : 31;
  static constexpr int kBlocks = kKeyBytes >= 4 ? 3 : 0;  // on each multiprocessor, at least; 0: no bound
  static constexpr int kTile = kThreads * kItems;
  static constexpr int kVectorBytes = 16;
  /// Both inputs, each at its own offset modulo the vector width, and with one more key for its last look ahead.
  static constexpr int kStagingBytes = kTile * kKeyBytes + 4 * kVectorBytes;
  static_assert(kTile <= 0x10000, "a position in a tile is a uint16_t");
  static_assert(kStagingBytes <= 48 * 1024 - 2048, "static shared memory");
  static_assert(kTile * kKeyBytes % kVectorBytes == 0, "tiles of an aligned output are aligned");
};

/// BASIC: each thread merges kItems outputs directly from global memory.
struct BasicMergeTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 8;
  static constexpr int kTile = kThreads * kItems;
};

/// TILED and CIRCULAR_BUFFER: a block merges a section of kTilesPerSection tiles, one after the other. It stages up to
/// a tile of each input.
struct StagedMergeTuning {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 8;
  static constexpr int kTile = kThreads * kItems;
  static constexpr int kTilesPerSection = 8;
  static constexpr int kSection = kTile * kTilesPerSection;
  static_assert(2 * kTile * 8 <= 48 * 1024 - 2048, "two tiles of 8-byte keys in static shared memory");
};

/// Outputs of a section: the work of one block.
constexpr int64_t MergeSectionSize(MergeAlgorithm algorithm, int key_bytes) {
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
