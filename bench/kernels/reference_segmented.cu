#include <cub/device/device_segmented_sort.cuh>

#include "bench/kernels/reference.h"

namespace corank::bench {

cudaError_t CubSegmentedSort(const uint32_t* d_in, uint32_t* d_out, int64_t count, const int64_t* d_offsets,
                             int64_t segments, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  return cub::DeviceSegmentedSort::StableSortKeys(d_workspace, *workspace_bytes, d_in, d_out, count, segments,
                                                  d_offsets, d_offsets + 1, stream);
}

}  // namespace corank::bench
