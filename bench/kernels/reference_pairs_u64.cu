#include "bench/kernels/reference_sort.cuh"

namespace corank::bench {

template cudaError_t CubRadixSortPairs(const SortReference<uint64_t>&, void*, size_t*, cudaStream_t);
template cudaError_t CubMergeSortPairs(const SortReference<uint64_t>&, void*, size_t*, cudaStream_t);
template cudaError_t CubRadixSortPairs(const SortReference<uint64_t, uint64_t>&, void*, size_t*, cudaStream_t);
template cudaError_t CubMergeSortPairs(const SortReference<uint64_t, uint64_t>&, void*, size_t*, cudaStream_t);

}  // namespace corank::bench
