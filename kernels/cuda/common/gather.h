// Gathers fixed-width records by index.
#ifndef CORANK_KERNELS_CUDA_COMMON_GATHER_H_
#define CORANK_KERNELS_CUDA_COMMON_GATHER_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// out[i] = rows[indices[i]] for i in [0, count). Rows have row_bytes bytes, 1 to kMaxRecordBytes. Indices are unsigned
/// and have index_bytes bytes, 4 or 8. rows and out are aligned to the largest power of two that divides row_bytes, at
/// most 16, and do not overlap. Enqueues one launch (none if count is 0). Needs no workspace. d_count: null, or the
/// number of rows on the device, `count` at most, where only the device knows it.
cudaError_t GatherRows(const void* d_rows, int row_bytes, const void* d_indices, int index_bytes, void* d_out,
                       int64_t count, cudaStream_t stream, const int64_t* d_count = nullptr);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_GATHER_H_
