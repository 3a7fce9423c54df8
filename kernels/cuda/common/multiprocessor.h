// Limits of a multiprocessor that differ between architectures.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIPROCESSOR_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIPROCESSOR_H_

namespace corank::cuda {

/// The most threads that one multiprocessor runs at a time. Launch bounds that ask for more do not compile. Host code,
/// which is compiled for no architecture, sees the larger number: it bounds grids, where too many blocks do no harm.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
inline constexpr int kMultiprocessorThreads = 1536;
#else
inline constexpr int kMultiprocessorThreads = 2048;
#endif

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIPROCESSOR_H_
