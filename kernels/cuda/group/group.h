// Groups of equal neighbours among keys, and reductions of their values, on the GPU.
#ifndef CORANK_KERNELS_CUDA_GROUP_GROUP_H_
#define CORANK_KERNELS_CUDA_GROUP_GROUP_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/group.h"

namespace corank::cuda {

/// 16 bytes, and 12 bytes for each tile of the compaction (group_tuning.h); for counts, 4 bytes more for each. For
/// reductions: a bit for each key, 104 bytes for each run tile, and, with indices, a copy of the values and of their
/// validity. For ranks: a bit and an index for each key. For segments: another bit for each key.
int64_t GroupWorkspaceBytes(const GroupArgs& args);

/// Enqueues the operator. Never allocates device memory, never waits.
///
/// d_workspace: 256-byte aligned device memory of at least GroupWorkspaceBytes(args). d_report: null, or
/// device-accessible memory, written on the stream. Nothing outside the outputs' `count` elements is written, whatever
/// the keys are.
///
/// Errors: cudaErrorInvalidValue for an impossible count or a workspace that is too small; otherwise the error of a
/// launch.
cudaError_t Group(const GroupArgs& args, void* d_workspace, int64_t workspace_bytes, GroupReport* d_report,
                  cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_GROUP_H_
