// Radix sort of keys of 1 byte.
#include "kernels/cuda/sort/radix.cuh"

namespace corank::cuda {

template cudaError_t RadixSortWith<uint8_t>(const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
