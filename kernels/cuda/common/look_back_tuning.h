// The reach of the decoupled look-back. Tests derive their boundary sizes from it.
#ifndef CORANK_KERNELS_CUDA_COMMON_LOOK_BACK_TUNING_H_
#define CORANK_KERNELS_CUDA_COMMON_LOOK_BACK_TUNING_H_

namespace corank::cuda {

/// Tiles that a lane looks back at together.
inline constexpr int kTilesOfLookBack = 8;

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_LOOK_BACK_TUNING_H_
