#include "bench/kernels/reference_sort.cuh"

namespace corank::bench {

template cudaError_t CubRadixSortKeys(const SortReference<int32_t>&, void*, size_t*, cudaStream_t);

}  // namespace corank::bench
