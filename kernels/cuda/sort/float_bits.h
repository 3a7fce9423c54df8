// Gives float keys that were sorted by rank their own bits.
#ifndef CORANK_KERNELS_CUDA_SORT_FLOAT_BITS_H_
#define CORANK_KERNELS_CUDA_SORT_FLOAT_BITS_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// sort.d_keys_out holds the first result_count keys in their order, but all zeros have the same bits, and all NaNs:
/// they get those of the zeros and NaNs of sort.d_keys_in, in the order of the input, as a stable sort has them. A
/// float key type; keys are wanted. Carves its workspace, 32 KiB at most, and, unless that is only sizing, enqueues two
/// launches, which end at once where there are no zeros and no NaNs. float_bits.cu.
cudaError_t RestoreFloatBits(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_FLOAT_BITS_H_
