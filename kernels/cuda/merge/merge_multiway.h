// The merge of three and more inputs: up to 32 at a time, in one pass or two.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_MULTIWAY_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_MULTIWAY_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/common/run_merge.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/merge/merge_group.h"

namespace corank::cuda {

/// Merges `runs`, which are neighbours in the numbering of payloads, to keys_out and values_out (of kind.value_bytes).
/// Carves its workspace; more than 32 runs need one more array of keys and values. *d_suspect, 0 before, is not 0
/// afterwards where a run may not be sorted; then the outputs mean nothing, but no other memory was touched.
cudaError_t MergeMultiway(const std::vector<MergeRun>& runs, const MergeKind& kind, void* keys_out, void* values_out,
                          int32_t* d_suspect, Workspace& workspace, cudaStream_t stream);

/// Copies the runs to the outputs, one after the other, where *d_only_if is not 0.
cudaError_t CopyRuns(const std::vector<MergeRun>& runs, const MergeKind& kind, void* keys_out, void* values_out,
                     const int32_t* d_only_if, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_MULTIWAY_H_
