// Fills an array with consecutive integers: each thread writes every grid-th element. Memory: one write.
#include <algorithm>

#include "kernels/cuda/common/iota.h"
#include "kernels/cuda/common/launch.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 4096;

template <typename Number>
__global__ void __launch_bounds__(kThreads) IotaKernel(Number* out, int64_t first, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    out[i] = static_cast<Number>(first + i);
  }
}

}  // namespace

cudaError_t Iota(void* d_out, int element_bytes, int64_t first, int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(std::min(CeilDiv(count, kThreads), kMostBlocks));
  if (element_bytes == 4) {
    IotaKernel<<<blocks, kThreads, 0, stream>>>(static_cast<uint32_t*>(d_out), first, count);
  } else {
    IotaKernel<<<blocks, kThreads, 0, stream>>>(static_cast<uint64_t*>(d_out), first, count);
  }
  return cudaGetLastError();
}

}  // namespace corank::cuda
