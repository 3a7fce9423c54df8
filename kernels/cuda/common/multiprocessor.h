// Multiprocessors: their limits, which differ between architectures, and grids that fill them.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIPROCESSOR_H_
#define CORANK_KERNELS_CUDA_COMMON_MULTIPROCESSOR_H_

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/common/integer_math.h"

namespace corank::cuda {

/// The most threads that one multiprocessor runs at a time. Launch bounds that ask for more do not compile. Host code,
/// which is compiled for no architecture, sees the larger number: it bounds grids, where too many blocks do no harm.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
inline constexpr int kMultiprocessorThreads = 1536;
#else
inline constexpr int kMultiprocessorThreads = 2048;
#endif

/// The multiprocessors of an H200, for which grids are tuned. On other GPUs, the same blocks take more or fewer rounds.
inline constexpr int kTunedMultiprocessors = 132;

/// Most blocks of 256 threads that loop over their work: eight fill a multiprocessor, and more would only begin later.
inline constexpr int64_t kLoopingBlocks = 8 * kTunedMultiprocessors;
/// The blocks of such a kernel, if each round of a block does `per_round` of `count` items.
inline unsigned LoopingGrid(int64_t count, int64_t per_round) {
  return static_cast<unsigned>(std::min(CeilDiv(count, per_round), kLoopingBlocks));
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIPROCESSOR_H_
