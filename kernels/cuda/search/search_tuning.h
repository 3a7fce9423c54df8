// Sizes of the search kernel. Tests take their boundary sizes from here.
#ifndef CORANK_KERNELS_CUDA_SEARCH_SEARCH_TUNING_H_
#define CORANK_KERNELS_CUDA_SEARCH_SEARCH_TUNING_H_

#include <cstdint>

namespace corank::cuda {

struct SearchTuning {
  static constexpr int kThreads = 256;
  /// Keys of the haystack, evenly spaced, that a block keeps in shared memory: the first 10 steps of every search.
  static constexpr int kPivots = 1024;
  /// A block's needles pay for its pivots.
  static constexpr int64_t kNeedlesPerBlock = 8 * kThreads;
  static_assert(kPivots * 8 <= 48 * 1024, "static shared memory");
};

/// The haystack index of pivot i, 0 <= i < pivots <= count: ascending, each its own.
constexpr int64_t PivotIndex(int64_t i, int64_t pivots, int64_t count) {
  return i * (count / pivots) + i * (count % pivots) / pivots;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SEARCH_SEARCH_TUNING_H_
