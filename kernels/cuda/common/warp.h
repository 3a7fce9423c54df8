// Constants for operations of a whole warp.
#ifndef CORANK_KERNELS_CUDA_COMMON_WARP_H_
#define CORANK_KERNELS_CUDA_COMMON_WARP_H_

namespace corank::cuda {

/// The mask of functions that all lanes of a warp call together.
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_WARP_H_
