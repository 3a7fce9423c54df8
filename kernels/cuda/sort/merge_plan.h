// The number of runs that each merge pass of the mergesort merges into one.
#ifndef CORANK_KERNELS_CUDA_SORT_MERGE_PLAN_H_
#define CORANK_KERNELS_CUDA_SORT_MERGE_PLAN_H_

#include <cstdint>

#include "kernels/cuda/common/integer_math.h"

namespace corank::cuda {

/// The fewest passes for `runs` runs if a pass merges at most 2^max_log of them. All passes merge about the same power
/// of two.
class MergePlan {
 public:
  /// runs >= 1, max_log >= 1.
  MergePlan(int64_t runs, int max_log) : runs_(runs), log_(CeilLog2(runs)), passes_((log_ + max_log - 1) / max_log) {}

  int passes() const { return passes_; }
  /// Pass 0 is the first. The last one merges all remaining runs.
  int WaysOf(int pass) const {
    const int64_t ways = int64_t{1} << (LogBefore(pass + 1) - LogBefore(pass));
    const int64_t left = CeilDiv(runs_, RunsBefore(pass));
    return static_cast<int>(ways < left ? ways : left);
  }
  /// The number of original runs in one of the runs that `pass` merges.
  int64_t RunsBefore(int pass) const { return int64_t{1} << LogBefore(pass); }

 private:
  int LogBefore(int pass) const { return passes_ == 0 ? 0 : static_cast<int>(CeilDiv(int64_t{log_} * pass, passes_)); }

  int64_t runs_;
  int log_;
  int passes_;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MERGE_PLAN_H_
