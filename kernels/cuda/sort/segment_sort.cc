#include "kernels/cuda/sort/segment_sort.h"

#include <cstdint>

namespace corank::cuda {

// Defined in segment_sort.cuh, instantiated in the segment_sort_u*.cu files.
template <typename Bits>
cudaError_t SegmentSortWith(const CoreSort& sort, Workspace& workspace, cudaStream_t stream);

cudaError_t SegmentSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  switch (KeyBytes(sort.key_type)) {
    case 1:
      return SegmentSortWith<uint8_t>(sort, workspace, stream);
    case 2:
      return SegmentSortWith<uint16_t>(sort, workspace, stream);
    case 4:
      return SegmentSortWith<uint32_t>(sort, workspace, stream);
    default:
      return SegmentSortWith<uint64_t>(sort, workspace, stream);
  }
}

}  // namespace corank::cuda
