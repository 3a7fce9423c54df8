// Tells whether the kernels of this build run on the current GPU.
#ifndef CORANK_KERNELS_CUDA_ENGINE_PROBE_H_
#define CORANK_KERNELS_CUDA_ENGINE_PROBE_H_

#include <cuda_runtime_api.h>

namespace corank::cuda {

/// cudaErrorNoKernelImageForDevice (or another error of loading code) if the kernels were not compiled for the current
/// GPU. Loads code but does not run it.
cudaError_t ProbeKernelImage();

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_ENGINE_PROBE_H_
