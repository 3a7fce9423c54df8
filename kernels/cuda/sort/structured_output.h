// The outputs of a sort of keys with structure.
#ifndef CORANK_KERNELS_CUDA_SORT_STRUCTURED_OUTPUT_H_
#define CORANK_KERNELS_CUDA_SORT_STRUCTURED_OUTPUT_H_

#include <cuda_runtime_api.h>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/statistics.h"
#include "kernels/cuda/sort/structure.h"

namespace corank::cuda {

/// Each function enqueues the writes of the outputs that args want. Only the last one needs workspace.

/// kSorted: writes all outputs except the keys.
cudaError_t WriteSorted(const SortArgs& args, cudaStream_t stream);
/// kReversed: writes all outputs except the keys.
cudaError_t WriteReversed(const SortArgs& args, cudaStream_t stream);
/// kFewDistinct: writes only the keys.
cudaError_t WriteCounted(const SortArgs& args, const StatisticsScratch* d_scratch, cudaStream_t stream);
/// kFewRuns. Carves its workspace; while sizing, for kMaxListedRuns runs.
cudaError_t WriteMerged(const SortArgs& args, const Structure& structure, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STRUCTURED_OUTPUT_H_
