// Segmented sort.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_SORT_H_

#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

/// Integer keys in any order, with segments, without a limit. Carves its workspace. Unless it only sizes, enqueues a
/// fill and three launches, the last of them cooperative. Nothing waits. See segment_sort.cuh.
cudaError_t SegmentSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_SORT_H_
