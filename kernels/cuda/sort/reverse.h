// Reverses arrays.
#ifndef CORANK_KERNELS_CUDA_SORT_REVERSE_H_
#define CORANK_KERNELS_CUDA_SORT_REVERSE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// out[i] = rows[count - 1 - i] for i in [0, result_count). Rows have row_bytes bytes, 1 to kMaxRecordBytes. Both
/// arrays are aligned to the largest power of two that divides row_bytes, at most 16. Enqueues one launch.
cudaError_t ReverseRows(const void* d_rows, int row_bytes, int64_t count, void* d_out, int64_t result_count,
                        cudaStream_t stream);
/// indices[i] = first + i * step, with index_bytes bytes (4 or 8) each. Enqueues one launch; count > 0.
cudaError_t FillSequence(void* d_indices, int index_bytes, int64_t first, int64_t step, int64_t count,
                         cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_REVERSE_H_
