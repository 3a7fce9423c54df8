// Where a k-way merge is cut into pieces that are made one after the other.
#ifndef CORANK_KERNELS_CUDA_MERGE_SPLIT_RUNS_H_
#define CORANK_KERNELS_CUDA_MERGE_SPLIT_RUNS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// Enqueues the cuts: d_splits[p * args.input_count + i] as args.splits, for d_positions as args.positions, both device
/// memory. args.inputs, a host array, is not needed after the return; their keys are device-readable. Never allocates,
/// never waits.
///
/// Errors: cudaErrorInvalidValue for counts that do not fit; else what a launch answers.
cudaError_t SplitRuns(const SplitArgs& args, const int64_t* d_positions, int64_t* d_splits, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_SPLIT_RUNS_H_
