// Restores the bits of float keys that were sorted by rank.
#ifndef CORANK_KERNELS_CUDA_SORT_FLOAT_BITS_H_
#define CORANK_KERNELS_CUDA_SORT_FLOAT_BITS_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// sort.d_keys_out holds the first result_count keys in order, but all zeros have the same bits, and so do all NaNs.
/// Restores the bits of the zeros and NaNs of sort.d_keys_in, in input order, as in a stable sort. Requires a float key
/// type and a caller that wants keys. Carves its workspace, at most 32 KiB. Unless it only sizes, enqueues two
/// launches, which end immediately if there are no zeros and no NaNs. See float_bits.cu.
cudaError_t RestoreFloatBits(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_FLOAT_BITS_H_
