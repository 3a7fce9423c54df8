// Bodies of the CUB sorts of reference.h; each .cu instantiates them for one key type.
#ifndef CORANK_BENCH_KERNELS_REFERENCE_SORT_CUH_
#define CORANK_BENCH_KERNELS_REFERENCE_SORT_CUH_

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/functional>

#include "bench/kernels/reference.h"

namespace corank::bench {

// CUB's radix sort picks its tuning by the type of the count. Each reference takes the type that was faster on an H200
// at 2^28: for 32-bit keys alone 64 bits (49 against 42 Gkeys/s), for pairs 32 bits (36 against 31 Gpairs/s).

template <typename Key>
cudaError_t CubRadixSortKeys(const SortReference<Key>& args, void* d_workspace, size_t* workspace_bytes,
                             cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(d_workspace, *workspace_bytes, args.keys_in, args.keys_out,
                                        static_cast<int64_t>(args.count), 0, static_cast<int>(8 * sizeof(Key)), stream);
}

template <typename Key>
cudaError_t CubMergeSortKeys(const SortReference<Key>& args, void* d_workspace, size_t* workspace_bytes,
                             cudaStream_t stream) {
  return cub::DeviceMergeSort::SortKeysCopy(d_workspace, *workspace_bytes, args.keys_in, args.keys_out,
                                            static_cast<int>(args.count), ::cuda::std::less<Key>{}, stream);
}

template <typename Key, typename Value>
cudaError_t CubRadixSortPairs(const SortReference<Key, Value>& args, void* d_workspace, size_t* workspace_bytes,
                              cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(d_workspace, *workspace_bytes, args.keys_in, args.keys_out, args.values_in,
                                         args.values_out, static_cast<int>(args.count), 0,
                                         static_cast<int>(8 * sizeof(Key)), stream);
}

template <typename Key, typename Value>
cudaError_t CubMergeSortPairs(const SortReference<Key, Value>& args, void* d_workspace, size_t* workspace_bytes,
                              cudaStream_t stream) {
  return cub::DeviceMergeSort::SortPairsCopy(d_workspace, *workspace_bytes, args.keys_in, args.values_in, args.keys_out,
                                             args.values_out, static_cast<int>(args.count), ::cuda::std::less<Key>{},
                                             stream);
}

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_REFERENCE_SORT_CUH_
