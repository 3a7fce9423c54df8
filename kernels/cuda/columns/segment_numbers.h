// The number of each row's segment.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_SEGMENT_NUMBERS_H_
#define CORANK_KERNELS_CUDA_COLUMNS_SEGMENT_NUMBERS_H_

#include <cuda_runtime_api.h>

#include "kernels/common/column_sort.h"

namespace corank::cuda {

/// Enqueues d_segments[row] = the segment of args.segment_offsets that holds the row, of IndexBytes(segment_count - 1)
/// bytes. args: count > 0 and segment_count > 0.
cudaError_t NumberSegments(const ColumnSortArgs& args, void* d_segments, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_SEGMENT_NUMBERS_H_
