// Mergesort of keys of 4 bytes.
#include "kernels/cuda/sort/mergesort.cuh"

namespace corank::cuda {

template cudaError_t MergesortWith(const KeyOrder<uint32_t, false>&, const CoreSort&, Workspace&, cudaStream_t);
template cudaError_t MergesortWith(const KeyOrder<uint32_t, true>&, const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
