// Fills an array with consecutive integers.
#ifndef CORANK_KERNELS_CUDA_COMMON_IOTA_H_
#define CORANK_KERNELS_CUDA_COMMON_IOTA_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// out[i] = first + i for i in [0, count): unsigned integers of element_bytes bytes, 4 or 8. The width must hold all of
/// them. Enqueues one launch (none if count is 0). Needs no workspace.
cudaError_t Iota(void* d_out, int element_bytes, int64_t first, int64_t count, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_IOTA_H_
