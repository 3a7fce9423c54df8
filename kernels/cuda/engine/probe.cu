#include "kernels/cuda/engine/probe.h"

namespace corank::cuda {
namespace {
// Compiled with the options of all other kernels, so that it loads on the same GPUs.
__global__ void Probe() {}
}  // namespace

cudaError_t ProbeKernelImage() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, Probe);
}

}  // namespace corank::cuda
