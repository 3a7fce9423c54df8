#include "kernels/cuda/common/run_merge.h"

#include "kernels/common/key_order.h"

namespace corank::cuda {

// Defined in run_merge.cuh, instantiated in the run_merge_u*.cu files.
template <typename KeyOrderType>
cudaError_t RunMergeWith(const KeyOrderType& order, const RunMerge& merge, Workspace& workspace, cudaStream_t stream);

cudaError_t MergeRuns(const RunMerge& merge, Workspace& workspace, cudaStream_t stream) {
  return WithKeyOrder(merge.key_type, merge.order,
                      [&](const auto& order) { return RunMergeWith(order, merge, workspace, stream); });
}

}  // namespace corank::cuda
