#include <cub/version.cuh>
#if CUB_VERSION >= 300500
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_topk.cuh>
#endif

#include <algorithm>

#include "bench/kernels/reference.h"

namespace corank::bench {

#if CUB_VERSION >= 300500

template <typename Key>
cudaError_t CubTopK(const TopKReference<Key>& args, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  const auto environment = cuda::std::execution::env{
      cuda::stream_ref{stream}, cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                         cuda::execution::output_ordering::unsorted)};
  const auto select = [&](void* d_memory, size_t* bytes) {
    return cub::DeviceTopK::MinKeys(d_memory, *bytes, args.keys_in, args.d_unordered, args.count, args.limit,
                                    environment);
  };
  const auto sort = [&](void* d_memory, size_t* bytes) {
    return cub::DeviceRadixSort::SortKeys(d_memory, *bytes, args.d_unordered, args.keys_out, args.limit, 0,
                                          8 * static_cast<int>(sizeof(Key)), stream);
  };
  size_t select_bytes = 0, sort_bytes = 0;
  cudaError_t error = select(nullptr, &select_bytes);
  if (error == cudaSuccess) error = sort(nullptr, &sort_bytes);
  if (error != cudaSuccess) return error;
  if (d_workspace == nullptr) {
    *workspace_bytes = std::max(select_bytes, sort_bytes);
    return cudaSuccess;
  }
  error = select(d_workspace, &select_bytes);
  return error == cudaSuccess ? sort(d_workspace, &sort_bytes) : error;
}

#else

template <typename Key>
cudaError_t CubTopK(const TopKReference<Key>&, void*, size_t*, cudaStream_t) {
  return cudaErrorNotSupported;
}

#endif

template cudaError_t CubTopK(const TopKReference<uint32_t>&, void*, size_t*, cudaStream_t);
template cudaError_t CubTopK(const TopKReference<float>&, void*, size_t*, cudaStream_t);

}  // namespace corank::bench
