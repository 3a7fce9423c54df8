// Merges three or more inputs: up to 32 at a time, in one pass or two.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_MULTIWAY_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_MULTIWAY_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/common/run_merge.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/merge/merge_group.h"

namespace corank::cuda {

/// Merges `runs`, whose payload numbers are consecutive, to keys_out and values_out (of kind.value_bytes). Carves its
/// workspace; more than 32 runs need one more array of keys and values. *d_suspect must be 0. The merge sets it to
/// another value if a run may be unsorted; the outputs then mean nothing, but no other memory was touched.
cudaError_t MergeMultiway(const std::vector<MergeRun>& runs, const MergeKind& kind, void* keys_out, void* values_out,
                          int32_t* d_suspect, Workspace& workspace, cudaStream_t stream);

/// Copies the runs to the outputs, one after the other, if *d_only_if is not 0.
cudaError_t CopyRuns(const std::vector<MergeRun>& runs, const MergeKind& kind, void* keys_out, void* values_out,
                     const int32_t* d_only_if, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_MULTIWAY_H_
