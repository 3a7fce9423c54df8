// Small things that every launch needs.
#ifndef CORANK_KERNELS_CUDA_COMMON_LAUNCH_H_
#define CORANK_KERNELS_CUDA_COMMON_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"

/// Returns the error of a runtime call from the calling function, if there is one. After a launch:
/// `CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError())`.
#define CORANK_RETURN_IF_CUDA_ERROR(call)         \
  do {                                            \
    const cudaError_t corank_cuda_error = (call); \
    if (corank_cuda_error != cudaSuccess) {       \
      return corank_cuda_error;                   \
    }                                             \
  } while (false)

namespace corank::cuda {

/// value / divisor, rounded up. value >= 0, divisor > 0; never overflows.
CORANK_HOST_DEVICE constexpr int64_t CeilDiv(int64_t value, int64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

/// The least n with 2^n >= value. value >= 1.
CORANK_HOST_DEVICE constexpr int CeilLog2(int64_t value) {
  int log = 0;
  while ((int64_t{1} << log) < value) ++log;
  return log;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_LAUNCH_H_
