#include "kernels/cuda/common/run_merge.h"

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/run_float_bits.h"

namespace corank::cuda {

// Defined in run_merge.cuh, instantiated in the run_merge_u*.cu files.
template <typename KeyOrderType>
cudaError_t RunMergeWith(const KeyOrderType& order, const RunMerge& merge, Workspace& workspace, cudaStream_t stream);

cudaError_t MergeRuns(const RunMerge& merge, Workspace& workspace, cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(
      merge.key_type, merge.order, [&](const auto& order) { return RunMergeWith(order, merge, workspace, stream); }));
  const bool restores = IsFloat(merge.key_type) && merge.d_keys_out != nullptr && !workspace.IsSizing();
  return restores ? RestoreRunFloatBits(merge, stream) : cudaSuccess;
}

}  // namespace corank::cuda
