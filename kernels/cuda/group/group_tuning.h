// Sizes of the group kernels. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_GROUP_GROUP_TUNING_H_
#define CORANK_KERNELS_CUDA_GROUP_GROUP_TUNING_H_

#include <cstdint>

namespace corank::cuda {

// The same sizes on all architectures.
struct GroupTuning {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kItems = 8;
  /// Positions of a block: a node of the tree of run_reduction.h.
  static constexpr int kTile = kThreads * kItems;
  /// Most blocks of a kernel over the groups, whose number the host does not know: enough to fill an H200.
  static constexpr int64_t kGroupBlocks = 132 * 8;
  static_assert((kTile & (kTile - 1)) == 0 && kTile % 32 == 0, "a node of the tree, and whole words of head bits");
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_GROUP_TUNING_H_
