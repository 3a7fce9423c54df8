// Radix sort of keys of 2 bytes.
#include "kernels/cuda/sort/radix.cuh"

namespace corank::cuda {

template cudaError_t RadixSortWith<uint16_t>(const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
