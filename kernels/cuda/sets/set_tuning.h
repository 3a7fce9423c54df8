// Sizes of the set kernels. Tests derive their boundary sizes from them.
#ifndef CORANK_KERNELS_CUDA_SETS_SET_TUNING_H_
#define CORANK_KERNELS_CUDA_SETS_SET_TUNING_H_

namespace corank::cuda {

// The same sizes on all architectures.
template <int kKeyBytes>
struct SetTuning {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  /// Keys of both sides for each thread: odd, so that the threads of a warp start in different banks.
  static constexpr int kItems = kKeyBytes == 8 ? 15 : 31;
  /// Blocks on each multiprocessor, as the shared memory of keys alone allows.
  static constexpr int kBlocks = 3;
  static_assert(kItems < 32, "a bit for each step");
  static constexpr int kTile = kThreads * kItems;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SETS_SET_TUNING_H_
