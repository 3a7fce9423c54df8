// Sizes of the join kernels. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_JOIN_JOIN_TUNING_H_
#define CORANK_KERNELS_CUDA_JOIN_JOIN_TUNING_H_

namespace corank::cuda {

// The same sizes on all architectures.
struct JoinTuning {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  /// Rows of the left for each thread that looks for partners.
  static constexpr int kItems = 8;
  static constexpr int kTile = kThreads * kItems;
  /// Rows of the result that a block writes, with row numbers of kIndexBytes bytes.
  template <int kIndexBytes>
  static constexpr int kResultTile = kIndexBytes == 8 ? 1024 : 2048;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_JOIN_JOIN_TUNING_H_
