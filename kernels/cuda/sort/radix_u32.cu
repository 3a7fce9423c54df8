// Radix sort of keys of 4 bytes.
#include "kernels/cuda/sort/radix.cuh"

namespace corank::cuda {

template cudaError_t RadixSortWith<uint32_t>(const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
