// Relational join of two arrays of keys on the GPU.
#ifndef CORANK_KERNELS_CUDA_JOIN_JOIN_H_
#define CORANK_KERNELS_CUDA_JOIN_JOIN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/join.h"

namespace corank::cuda {

/// Independent of the pointers in args. Unless the right is sorted: its keys, a row number for each, and the workspace
/// of their Sort. A row number for each 4 to 8 keys of the right. Unless rows are only counted: 16 bytes for each row
/// of the left (24 with row numbers of 8 bytes), in the memory of the Sort. For kRight and kFull: 2 bytes for each row
/// of the right.
int64_t JoinWorkspaceBytes(const JoinArgs& args);

/// Enqueues the operator. Never allocates device memory, never waits.
///
/// d_workspace: 256-byte aligned device memory of at least JoinWorkspaceBytes(args). d_report: null, or
/// device-accessible memory, written on the stream. Nothing outside the outputs' max_rows elements is written, whatever
/// the keys are.
///
/// Errors: cudaErrorInvalidValue for an impossible count, an unknown kind or a workspace that is too small; otherwise
/// the error of a launch.
cudaError_t Join(const JoinArgs& args, void* d_workspace, int64_t workspace_bytes, JoinReport* d_report,
                 cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_JOIN_JOIN_H_
