#include "kernels/common/key_order.h"
#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

// Defined in mergesort.cuh, instantiated in the mergesort_u*.cu files.
template <typename KeyOrderType>
cudaError_t MergesortWith(const KeyOrderType& order, const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

cudaError_t Mergesort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  return WithKeyOrder(sort.key_type, sort.order,
                      [&](const auto& order) { return MergesortWith(order, sort, workspace, stream); });
}

}  // namespace corank::cuda
