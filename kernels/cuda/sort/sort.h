// Sort on the GPU.
#ifndef CORANK_KERNELS_CUDA_SORT_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// Bytes of workspace that Sort needs for these arguments. Pointers are not followed, but whether keys_out,
/// indices_out and segment_offsets are null counts: with keys_out null (not wanted, or not known yet) the answer is an
/// upper bound for both cases. May ask the current device for its properties (RADIX).
int64_t SortWorkspaceBytes(const SortArgs& args);

/// Enqueues the sort on `stream` of the current device; never allocates, never waits. d_workspace is 256-byte aligned
/// and of workspace_bytes >= SortWorkspaceBytes(args) bytes, unused by others until the work is done.
/// h_report->sort_algorithm is set before the return: what was taken, which is MERGESORT whenever there are segments.
/// The answer is the same bit for bit for every algorithm.
/// Errors: cudaErrorInvalidValue when the workspace is too small; otherwise the first error of a launch.
cudaError_t Sort(const SortArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* h_report,
                 cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SORT_H_
