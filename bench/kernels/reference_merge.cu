#include <cub/device/device_merge.cuh>
#include <cuda/std/functional>

#include "bench/kernels/reference.h"

namespace corank::bench {

template <typename Key>
cudaError_t CubMerge(const MergeRange<Key>& a, const MergeRange<Key>& b, Key* d_keys_out, uint32_t* d_values_out,
                     void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  const auto a_count = static_cast<int>(a.count), b_count = static_cast<int>(b.count);
  if (a.values == nullptr) {
    return cub::DeviceMerge::MergeKeys(d_workspace, *workspace_bytes, a.keys, a_count, b.keys, b_count, d_keys_out,
                                       ::cuda::std::less<Key>{}, stream);
  }
  return cub::DeviceMerge::MergePairs(d_workspace, *workspace_bytes, a.keys, a.values, a_count, b.keys, b.values,
                                      b_count, d_keys_out, d_values_out, ::cuda::std::less<Key>{}, stream);
}

template cudaError_t CubMerge(const MergeRange<uint32_t>&, const MergeRange<uint32_t>&, uint32_t*, uint32_t*, void*,
                              size_t*, cudaStream_t);
template cudaError_t CubMerge(const MergeRange<uint64_t>&, const MergeRange<uint64_t>&, uint64_t*, uint32_t*, void*,
                              size_t*, cudaStream_t);

}  // namespace corank::bench
