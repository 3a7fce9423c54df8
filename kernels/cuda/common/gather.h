// Gathers fixed-width records by index.
#ifndef CORANK_KERNELS_CUDA_COMMON_GATHER_H_
#define CORANK_KERNELS_CUDA_COMMON_GATHER_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// out[i] = rows[indices[i]] for i in [0, count). Rows are of row_bytes bytes, 1 to kMaxRecordBytes; indices of
/// index_bytes bytes, 4 or 8, unsigned. rows and out are aligned to min(lowest set bit of row_bytes, 16) and do not
/// overlap. Enqueues one launch (none when count is 0); needs no workspace.
cudaError_t GatherRows(const void* d_rows, int row_bytes, const void* d_indices, int index_bytes, void* d_out,
                       int64_t count, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_GATHER_H_
