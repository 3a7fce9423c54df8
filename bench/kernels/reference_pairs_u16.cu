#include "bench/kernels/reference_sort.cuh"

namespace corank::bench {

template cudaError_t CubRadixSortPairs(const SortReference<uint16_t>&, void*, size_t*, cudaStream_t);

}  // namespace corank::bench
