// Sizes of the search kernel. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_SEARCH_SEARCH_TUNING_H_
#define CORANK_KERNELS_CUDA_SEARCH_SEARCH_TUNING_H_

#include <cstdint>

namespace corank::cuda {

struct SearchTuning {
  static constexpr int kThreads = 256;
  /// Evenly spaced keys of the haystack that a block keeps in shared memory: they replace the first 10 steps of each
  /// search.
  static constexpr int kPivots = 1024;
  /// Enough needles for a block to repay loading its pivots.
  static constexpr int64_t kNeedlesPerBlock = 8 * kThreads;
  static_assert(kPivots * 8 <= 48 * 1024, "static shared memory");
};

/// The haystack index of pivot i. 0 <= i < pivots <= count. Indices ascend and are distinct.
constexpr int64_t PivotIndex(int64_t i, int64_t pivots, int64_t count) {
  return i * (count / pivots) + i * (count % pivots) / pivots;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SEARCH_SEARCH_TUNING_H_
