// Cuts a k-way merge into pieces that are made one after the other.
#ifndef CORANK_KERNELS_CUDA_MERGE_SPLIT_RUNS_H_
#define CORANK_KERNELS_CUDA_MERGE_SPLIT_RUNS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// Enqueues the cuts. d_splits and d_positions are the device memory counterparts of args.splits and args.positions.
/// The caller may release args.inputs, a host array, after the return; the device can read their keys. Never allocates,
/// never waits.
///
/// Errors: cudaErrorInvalidValue for impossible counts; otherwise the error of a launch.
cudaError_t SplitRuns(const SplitArgs& args, const int64_t* d_positions, int64_t* d_splits, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_SPLIT_RUNS_H_
