// The CUDA engine: every operator on one NVIDIA GPU.
#ifndef CORANK_KERNELS_CUDA_CUDA_ENGINE_H_
#define CORANK_KERNELS_CUDA_CUDA_ENGINE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

struct CudaEngineOptions {
  /// The GPU's ordinal, as the driver counts them.
  int device = 0;
  /// The GPUs whose memory this one's is copied to and from, as far as they are linked; this one or none may be among
  /// them. Those that are not linked reach it through the host.
  std::vector<int> peers;
};

/// How many GPUs the driver sees, 1 or more. FAILED_PRECONDITION, in words for an operator, where there is no driver, a
/// driver too old or no GPU.
absl::StatusOr<int> CountCudaDevices();

/// FAILED_PRECONDITION, in words for an operator, where there is no driver, no GPU, a driver too old or a GPU that the
/// kernels were not compiled for. Never needs the driver to be installed just to be called.
absl::StatusOr<std::unique_ptr<Engine>> CreateCudaEngine(const CudaEngineOptions& options);

}  // namespace corank

#endif  // CORANK_KERNELS_CUDA_CUDA_ENGINE_H_
