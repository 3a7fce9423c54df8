#include <cub/device/device_segmented_sort.cuh>

#include "bench/kernels/reference.h"

namespace corank::bench {

cudaError_t CubSegmentedSortPairs(const SortReference<uint32_t>& args, const int64_t* d_offsets, int64_t segments,
                                  void* d_workspace, size_t* workspace_bytes, cudaStream_t stream) {
  return cub::DeviceSegmentedSort::StableSortPairs(d_workspace, *workspace_bytes, args.keys_in, args.keys_out,
                                                   args.values_in, args.values_out, args.count, segments, d_offsets,
                                                   d_offsets + 1, stream);
}

}  // namespace corank::bench
