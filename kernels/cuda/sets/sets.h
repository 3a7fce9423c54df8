// Union, intersection, difference and symmetric difference of sorted multisets, on the GPU.
#ifndef CORANK_KERNELS_CUDA_SETS_SETS_H_
#define CORANK_KERNELS_CUDA_SETS_SETS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/sets.h"

namespace corank::cuda {

/// 16 bytes for each tile (set_tuning.h), and a few more.
int64_t CombineSetsWorkspaceBytes(const SetArgs& args);

/// Enqueues the operator. Never allocates device memory, never waits.
///
/// d_workspace: 256-byte aligned device memory of at least CombineSetsWorkspaceBytes(args). d_report: null, or
/// device-accessible memory, written on the stream. Nothing outside the outputs' MostResults(args) elements is written,
/// whatever the keys are.
///
/// Errors: cudaErrorInvalidValue for an impossible count, an unknown operation or a workspace that is too small;
/// otherwise the error of a launch.
cudaError_t CombineSets(const SetArgs& args, void* d_workspace, int64_t workspace_bytes, SetReport* d_report,
                        cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SETS_SETS_H_
