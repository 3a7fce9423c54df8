// Segmented sort of integer keys of 1 byte.
#include "kernels/cuda/sort/segment_sort.cuh"

namespace corank::cuda {

template cudaError_t SegmentSortWith<uint8_t>(const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
