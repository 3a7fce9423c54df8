// Gives float keys that were merged by rank their own bits.
#ifndef CORANK_KERNELS_CUDA_COMMON_RUN_FLOAT_BITS_H_
#define CORANK_KERNELS_CUDA_COMMON_RUN_FLOAT_BITS_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/common/run_merge.h"

namespace corank::cuda {

/// merge.d_keys_out holds the first result_count keys in their order, but all zeros have the same bits, and all NaNs:
/// they get those of the zeros and NaNs of the runs, an earlier run's first. A float key type; keys are wanted.
/// Enqueues one launch, which ends at once where there are no zeros and no NaNs. What it makes of runs that are not
/// sorted means nothing. run_float_bits.cu.
cudaError_t RestoreRunFloatBits(const RunMerge& merge, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_RUN_FLOAT_BITS_H_
