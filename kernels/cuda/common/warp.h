// What every use of a whole warp needs.
#ifndef CORANK_KERNELS_CUDA_COMMON_WARP_H_
#define CORANK_KERNELS_CUDA_COMMON_WARP_H_

namespace corank::cuda {

/// The mask of functions that the whole warp calls together.
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_WARP_H_
