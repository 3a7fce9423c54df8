#include "kernels/cuda/sort/core_sort.h"

namespace corank::cuda {

// Defined in radix.cuh, instantiated in the radix_u*.cu files.
template <typename Bits>
cudaError_t RadixSortWith(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

cudaError_t RadixSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  switch (KeyBytes(sort.key_type)) {
    case 1:
      return RadixSortWith<uint8_t>(sort, workspace, stream);
    case 2:
      return RadixSortWith<uint16_t>(sort, workspace, stream);
    case 4:
      return RadixSortWith<uint32_t>(sort, workspace, stream);
    default:
      return RadixSortWith<uint64_t>(sort, workspace, stream);
  }
}

}  // namespace corank::cuda
