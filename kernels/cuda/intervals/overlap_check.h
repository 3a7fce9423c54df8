// Checks the destinations of a Move for overlap.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_OVERLAP_CHECK_H_
#define CORANK_KERNELS_CUDA_INTERVALS_OVERLAP_CHECK_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// Reads args.interval_count, args.destination_count and args.total only.
int64_t OverlapCheckWorkspaceBytes(const MoveArgs& args);

/// Enqueues the check of args.destination_offsets and args.counts and writes *d_report, as Move (intervals.h) does.
cudaError_t CheckOverlap(const MoveArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                         cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_OVERLAP_CHECK_H_
