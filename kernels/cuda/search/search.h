// Lower and upper bounds of needles in a sorted haystack, on the GPU.
#ifndef CORANK_KERNELS_CUDA_SEARCH_SEARCH_H_
#define CORANK_KERNELS_CUDA_SEARCH_SEARCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// A few bytes, for the check that the haystack is sorted.
int64_t SearchWorkspaceBytes(const SearchArgs& args);

/// Enqueues the search of all needles, which are in any order. Never allocates device memory, never waits.
///
/// d_workspace: 256-byte aligned device memory of at least SearchWorkspaceBytes(args). d_report: device-accessible
/// memory; written on the stream. kUnsorted names the least index of the haystack that is out of order (only where
/// args.check_sorted); then positions are not specified, but are within [0, haystack_count].
///
/// Errors: cudaErrorInvalidValue for counts or a workspace that do not fit; else what a launch answers.
cudaError_t Search(const SearchArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SEARCH_SEARCH_H_
