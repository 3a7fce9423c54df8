#include "bench/kernels/reference_sort.cuh"

namespace corank::bench {

template cudaError_t CubRadixSortKeys(const SortReference<uint64_t>&, void*, size_t*, cudaStream_t);
template cudaError_t CubMergeSortKeys(const SortReference<uint64_t>&, void*, size_t*, cudaStream_t);

}  // namespace corank::bench
