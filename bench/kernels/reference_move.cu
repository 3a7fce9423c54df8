#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_copy.cuh>
#include <cub/device/device_scan.cuh>

#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

template <typename Element>
struct IntervalStart {
  Element* base;
  const int64_t* offsets;
  __host__ __device__ Element* operator()(int64_t i) const { return base + offsets[i]; }
};

}  // namespace

cudaError_t CubBatchedCopy(const uint32_t* d_source, uint32_t* d_destination, const int64_t* d_source_offsets,
                           const int64_t* d_destination_offsets, const int64_t* d_counts, int64_t intervals,
                           void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  const thrust::counting_iterator<int64_t> first(0);
  const auto from = thrust::make_transform_iterator(first, IntervalStart<const uint32_t>{d_source, d_source_offsets});
  const auto to = thrust::make_transform_iterator(first, IntervalStart<uint32_t>{d_destination, d_destination_offsets});
  return cub::DeviceCopy::Batched(d_workspace, *workspace_bytes, from, to, d_counts, intervals, stream);
}

cudaError_t CubExclusiveSum(const int64_t* d_in, int64_t* d_out, int64_t count, void* d_workspace,
                            size_t* workspace_bytes, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveSum(d_workspace, *workspace_bytes, d_in, d_out, count, stream);
}

}  // namespace corank::bench
