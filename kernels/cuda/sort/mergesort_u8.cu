// Mergesort of keys of 1 byte.
#include "kernels/cuda/sort/mergesort.cuh"

namespace corank::cuda {

template cudaError_t MergesortWith(const KeyOrder<uint8_t, false>&, const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
