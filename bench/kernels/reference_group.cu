#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cuda/std/functional>

#include "bench/kernels/reference.h"

namespace corank::bench {

cudaError_t CubRunLengthEncode(const uint32_t* d_keys, int64_t count, uint32_t* d_distinct, int64_t* d_counts,
                               int64_t* d_runs, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  return cub::DeviceRunLengthEncode::Encode(d_workspace, *workspace_bytes, d_keys, d_distinct, d_counts, d_runs,
                                            static_cast<int>(count), stream);
}

cudaError_t CubReduceByKey(const uint32_t* d_keys, const uint64_t* d_values, int64_t count, uint32_t* d_distinct,
                           uint64_t* d_sums, int64_t* d_runs, void* d_workspace, size_t* workspace_bytes,
                           cudaStream_t stream) {
  return cub::DeviceReduce::ReduceByKey(d_workspace, *workspace_bytes, d_keys, d_distinct, d_values, d_sums, d_runs,
                                        cuda::std::plus<uint64_t>(), static_cast<int>(count), stream);
}

}  // namespace corank::bench
