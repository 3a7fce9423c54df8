// Error handling around launches.
#ifndef CORANK_KERNELS_CUDA_COMMON_LAUNCH_H_
#define CORANK_KERNELS_CUDA_COMMON_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/common/integer_math.h"

/// Returns the error of a runtime call, if any, from the enclosing function. After a launch:
/// `CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError())`.
#define CORANK_RETURN_IF_CUDA_ERROR(call)         \
  do {                                            \
    const cudaError_t corank_cuda_error = (call); \
    if (corank_cuda_error != cudaSuccess) {       \
      return corank_cuda_error;                   \
    }                                             \
  } while (false)

#endif  // CORANK_KERNELS_CUDA_COMMON_LAUNCH_H_
