// Segmented sort of integer keys of 2 bytes.
#include "kernels/cuda/sort/segment_sort.cuh"

namespace corank::cuda {

template cudaError_t SegmentSortWith<uint16_t>(const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
