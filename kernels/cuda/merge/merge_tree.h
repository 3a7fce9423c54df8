// The shape of a k-way merge: a balanced tree of pairwise merges. An input without a partner stays in place until it
// has one.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_TREE_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_TREE_H_

#include <cstdint>

#include "kernels/cuda/common/multiway_runs.h"

namespace corank::cuda {

/// For k >= 1 inputs, let P be the greatest power of two <= k. Level 0 makes P runs. Run r consists of the inputs
/// [FirstInput(r), FirstInput(r + 1)): one input, which stays in place, or two, which are merged. Every later level
/// halves the number of runs without a remainder. So no element is copied without being merged, and no level reads from
/// the buffer that it writes.
class MergeTree {
 public:
  explicit MergeTree(int32_t inputs) : inputs_(inputs) {
    while (runs_ * 2 <= inputs) runs_ *= 2;
  }

  /// The number of runs after level 0.
  int32_t runs() const { return runs_; }
  int32_t FirstInput(int32_t run) const { return static_cast<int32_t>(int64_t{run} * inputs_ / runs_); }
  /// The number of levels that merge: the least n with 2^n >= inputs.
  int levels() const {
    int levels = 0;
    while ((int32_t{1} << levels) < inputs_) ++levels;
    return levels;
  }

 private:
  int32_t inputs_;
  int32_t runs_ = 1;
};

/// The groups of adjacent inputs that the first pass of a multiway merge turns into one run each: one group if all
/// inputs fit into one pass; otherwise about as many groups as each has inputs, so that both passes have few ways.
/// Sizes differ by at most one.
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
