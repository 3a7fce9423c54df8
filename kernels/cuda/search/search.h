// Lower and upper bounds of needles in a sorted haystack, on the GPU.
#ifndef CORANK_KERNELS_CUDA_SEARCH_SEARCH_H_
#define CORANK_KERNELS_CUDA_SEARCH_SEARCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// A few bytes, for the check that the haystack is sorted.
int64_t SearchWorkspaceBytes(const SearchArgs& args);

/// Enqueues the search of all needles, which may be in any order. Never allocates device memory, never waits.
///
/// d_workspace: 256-byte aligned device memory of at least SearchWorkspaceBytes(args). d_report: device-accessible
/// memory, written on the stream. With args.check_sorted, kUnsorted names the least index of the haystack that is out
/// of order. Positions are then unspecified, but lie within [0, haystack_count].
///
/// Errors: cudaErrorInvalidValue for impossible counts or a workspace that is too small; otherwise the error of a
/// launch.
cudaError_t Search(const SearchArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SEARCH_SEARCH_H_
