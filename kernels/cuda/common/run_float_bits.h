// Restores the bits of float keys that were merged by rank.
#ifndef CORANK_KERNELS_CUDA_COMMON_RUN_FLOAT_BITS_H_
#define CORANK_KERNELS_CUDA_COMMON_RUN_FLOAT_BITS_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/common/run_merge.h"

namespace corank::cuda {

/// merge.d_keys_out holds the first result_count keys in order, but all zeros have the same bits, and so do all NaNs.
/// Restores the bits of the zeros and NaNs of the runs, an earlier run first. Requires a float key type and a caller
/// that wants keys. Enqueues one launch, which ends immediately if there are no zeros and no NaNs. With unsorted runs,
/// its results mean nothing. See run_float_bits.cu.
cudaError_t RestoreRunFloatBits(const RunMerge& merge, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_RUN_FLOAT_BITS_H_
