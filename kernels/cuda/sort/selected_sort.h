// Sorts the part of the keys that contains all results.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECTED_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SELECTED_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Writes the first args.ResultCount() results, given the unordered indices of `selected` keys. No omitted key comes
/// before a result. Carves its workspace, which grows with `selected`. Unless it only sizes, enqueues a few launches.
/// Stable.
cudaError_t SortSelected(const SortArgs& args, const void* d_selected, int64_t selected, Workspace& workspace,
                         cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECTED_SORT_H_
