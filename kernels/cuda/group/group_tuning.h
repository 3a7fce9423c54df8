// Sizes of the group kernels. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_GROUP_GROUP_TUNING_H_
#define CORANK_KERNELS_CUDA_GROUP_GROUP_TUNING_H_

#include <cstdint>

namespace corank::cuda {

// The same sizes on all architectures.
struct GroupTuning {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  /// Of a block of the compaction, and such blocks on each multiprocessor.
  static constexpr int kCompactThreads = 256;
  static constexpr int kCompactBlocks = 4;
  /// Positions of a thread of a reduction, and of a block: a node of the tree of run_reduction.h.
  static constexpr int kRunItems = 8;
  static constexpr int kRunTile = kThreads * kRunItems;
  static_assert((kRunTile & (kRunTile - 1)) == 0 && kRunTile % 32 == 0, "a node of the tree, and whole words of bits");
};

/// For keys of this many bytes. A block has two tiles in registers and shared memory at a time.
template <int kKeyBytes>
struct CompactTuning {
  static constexpr int kItems = kKeyBytes == 8 ? 8 : 16;
  static constexpr int kTile = GroupTuning::kCompactThreads * kItems;
  static constexpr int kRunTiles = kTile / GroupTuning::kRunTile;
  static_assert(kItems <= 32, "a lane keeps the votes of a row");
  static_assert(kTile % GroupTuning::kRunTile == 0 && GroupTuning::kCompactThreads / 32 % kRunTiles == 0,
                "whole run tiles, and whole warps in each");
};

constexpr int CompactTile(int key_bytes) { return key_bytes == 8 ? CompactTuning<8>::kTile : CompactTuning<4>::kTile; }

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_GROUP_TUNING_H_
