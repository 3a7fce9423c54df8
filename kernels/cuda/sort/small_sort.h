// Sort of arrays that are too short to fill the GPU tile by tile.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SMALL_SORT_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// Whether SmallSort takes this sort: no segments, and no more keys than its limit.
bool IsSmallSort(const CoreSort& sort);

/// Any key type and order. Carves its workspace and, unless that is only sizing, enqueues one launch or two. Never
/// waits. small_sort.cuh.
cudaError_t SmallSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_SORT_H_
