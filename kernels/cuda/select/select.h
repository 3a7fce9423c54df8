// Selects elements by flags, a bitmap, positions or a comparison, on the GPU.
#ifndef CORANK_KERNELS_CUDA_SELECT_SELECT_H_
#define CORANK_KERNELS_CUDA_SELECT_SELECT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/select.h"

namespace corank::cuda {

/// Independent of the pointers in args. 12 bytes for each tile (group_tuning.h); with kPositions also one bit for each
/// element.
int64_t SelectWorkspaceBytes(const SelectArgs& args);

/// Enqueues the operator. Never allocates device memory, never waits.
///
/// d_workspace: 256-byte aligned device memory of at least SelectWorkspaceBytes(args). d_report: null, or
/// device-accessible memory, written on the stream. Nothing outside the outputs' `count` rows is written, whatever the
/// positions are.
///
/// Errors: cudaErrorInvalidValue for an impossible count, an unknown predicate or comparison, or a workspace that is
/// too small; otherwise the error of a launch.
cudaError_t Select(const SelectArgs& args, void* d_workspace, int64_t workspace_bytes, SelectReport* d_report,
                   cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SELECT_SELECT_H_
