// The shape of a k-way merge: a balanced tree of pairwise merges in which an input without a partner waits where it is.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_TREE_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_TREE_H_

#include <cstdint>

#include "kernels/cuda/common/multiway_runs.h"

namespace corank::cuda {

/// For k >= 1 inputs let P be the greatest power of two <= k. Level 0 makes P runs, run r of the inputs
/// [FirstInput(r), FirstInput(r + 1)): one input, which stays where it is, or two, which are merged. Every later level
/// halves the number of runs, and none has an odd one. So no element is ever copied without being merged, and no level
/// reads from the buffer that it writes.
class MergeTree {
 public:
  explicit MergeTree(int32_t inputs) : inputs_(inputs) {
    while (runs_ * 2 <= inputs) runs_ *= 2;
  }

  /// Runs after level 0.
  int32_t runs() const { return runs_; }
  int32_t FirstInput(int32_t run) const { return static_cast<int32_t>(int64_t{run} * inputs_ / runs_); }
  /// Levels that merge: the least n with 2^n >= inputs.
  int levels() const {
    int levels = 0;
    while ((int32_t{1} << levels) < inputs_) ++levels;
    return levels;
  }

 private:
  int32_t inputs_;
  int32_t runs_ = 1;
};

/// The groups of neighbouring inputs that the first pass of a multiway merge makes one run each: one group where all
/// fit a pass; otherwise about as many as each has inputs, so that both passes have few ways. Sizes differ by at most
/// one.
class MultiwayGroups {
 public:
  explicit MultiwayGroups(int32_t inputs) : inputs_(inputs) {
    if (inputs <= kMaxWays) return;
    while (groups_ * groups_ < inputs) ++groups_;
  }

  int32_t groups() const { return groups_; }
  int32_t FirstInput(int32_t group) const { return static_cast<int32_t>(int64_t{group} * inputs_ / groups_); }

 private:
  int32_t inputs_;
  int32_t groups_ = 1;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_TREE_H_
