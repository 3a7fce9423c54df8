// The CUDA engine: runs every operator on one NVIDIA GPU.
#ifndef CORANK_KERNELS_CUDA_CUDA_ENGINE_H_
#define CORANK_KERNELS_CUDA_CUDA_ENGINE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

struct CudaEngineOptions {
  /// The ordinal of the GPU, as the driver counts.
  int device = 0;
  /// The GPUs to exchange memory with: directly where each can reach the other's (EngineInfo::linked), otherwise
  /// through pinned host memory, which the engine then keeps. May include this GPU.
  std::vector<int> peers;
  /// False: never directly.
  bool peer_access = true;
};

/// The number of GPUs that the driver shows, 1 or more. FAILED_PRECONDITION, with a message for operators, if there is
/// no driver, no GPU, or the driver is too old.
absl::StatusOr<int> CountCudaDevices();

/// FAILED_PRECONDITION, with a message for operators, if there is no driver, no GPU, the driver is too old, or the
/// kernels were not compiled for this GPU. Callers do not need an installed driver.
absl::StatusOr<std::unique_ptr<Engine>> CreateCudaEngine(const CudaEngineOptions& options);

}  // namespace corank

#endif  // CORANK_KERNELS_CUDA_CUDA_ENGINE_H_
