// Converts CUDA errors to absl::Status. No other file does.
#ifndef CORANK_KERNELS_CUDA_ENGINE_CUDA_STATUS_H_
#define CORANK_KERNELS_CUDA_ENGINE_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace corank::cuda {

/// RESOURCE_EXHAUSTED for memory. UNAVAILABLE for a ruined context: nothing works on this device until the process
/// restarts. INTERNAL otherwise. `what` names the attempt for the log ("sort", "copy in").
absl::Status ToStatus(cudaError_t error, absl::string_view what);

}  // namespace corank::cuda

#define CORANK_RETURN_IF_CUDA_FAILED(call, what)                \
  do {                                                          \
    const cudaError_t cuda_failed_error = (call);               \
    if (cuda_failed_error != cudaSuccess) {                     \
      return ::corank::cuda::ToStatus(cuda_failed_error, what); \
    }                                                           \
  } while (false)

#endif  // CORANK_KERNELS_CUDA_ENGINE_CUDA_STATUS_H_
