#include <cub/device/device_merge.cuh>
#include <cuda/std/functional>

#include "bench/kernels/reference.h"

namespace corank::bench {

template <typename Key>
cudaError_t CubMerge(const Key* d_a, int64_t a_count, const Key* d_b, int64_t b_count, Key* d_out, void* d_workspace,
                     size_t* workspace_bytes, cudaStream_t stream) {
  return cub::DeviceMerge::MergeKeys(d_workspace, *workspace_bytes, d_a, static_cast<int>(a_count), d_b,
                                     static_cast<int>(b_count), d_out, ::cuda::std::less<Key>{}, stream);
}

template cudaError_t CubMerge(const uint32_t*, int64_t, const uint32_t*, int64_t, uint32_t*, void*, size_t*,
                              cudaStream_t);
template cudaError_t CubMerge(const uint64_t*, int64_t, const uint64_t*, int64_t, uint64_t*, void*, size_t*,
                              cudaStream_t);

}  // namespace corank::bench
