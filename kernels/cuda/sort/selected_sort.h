// The sort of selected keys: their records become results.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECTED_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SELECTED_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/selection_rules.h"

namespace corank::cuda {

/// Unordered records of keys that are neighbours in sorted order.
struct SelectedKeys {
  SelectedForm form = SelectedForm::kKeys;
  const void* d_records = nullptr;
  int64_t count = 0;
  int64_t below = 0;  // keys before them in sorted order; at most args.offset
};

/// Writes the results, which are among the selected keys. Carves its workspace, which depends on their number and on
/// whether args.offset is 0. Unless it only sizes, enqueues its launches. *taken: the algorithm. Stable.
cudaError_t SortSelected(const SortArgs& args, const SelectedKeys& selected, Workspace& workspace, cudaStream_t stream,
                         SortAlgorithm* taken);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECTED_SORT_H_
