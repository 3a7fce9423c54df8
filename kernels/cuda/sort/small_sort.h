// Sorts arrays that are too short to fill the GPU tile by tile.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SMALL_SORT_H_

#include <cuda_runtime_api.h>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// Whether SmallSort supports this sort: no segments, and no more keys than its limit.
bool IsSmallSort(const CoreSort& sort);

/// Any key type and order. Carves its workspace. Unless it only sizes, enqueues one launch or two. Never waits. See
/// small_sort.cuh.
cudaError_t SmallSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

/// EngineStream::SortEach: one block for each array, kSmallArrays of them in a launch. Arrays may also lie in pinned
/// host memory: each is read once (float keys twice) and written once. Sets `h_reports` before the return. Never waits.
/// See small_each.cuh.
cudaError_t SortEach(const SortArgs* sorts, int count, OperatorReport* h_reports, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_SORT_H_
