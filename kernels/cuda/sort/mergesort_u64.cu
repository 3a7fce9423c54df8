// Mergesort of keys of 8 bytes.
#include "kernels/cuda/sort/mergesort.cuh"

namespace corank::cuda {

template cudaError_t MergesortWith(const KeyOrder<uint64_t, false>&, const CoreSort&, Workspace&, cudaStream_t);
template cudaError_t MergesortWith(const KeyOrder<uint64_t, true>&, const CoreSort&, Workspace&, cudaStream_t);

}  // namespace corank::cuda
