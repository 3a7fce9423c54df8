// Orders rows with equal codes.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_EQUAL_CODES_H_
#define CORANK_KERNELS_CUDA_COLUMNS_EQUAL_CODES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/row_code.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Carves its workspace. Unless it only sizes, enqueues a reordering of d_rows[0, count), which are row numbers in the
/// order of their codes, into the order of the rows. d_codes[i] is the code of row d_rows[i], made by *d_code. Row
/// numbers have index_bytes bytes, 4 or 8. Stable. count > 0.
cudaError_t SortEqualCodes(const RowOrder& order, const uint64_t* d_codes, const RowCode* d_code, void* d_rows,
                           int index_bytes, int64_t count, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_EQUAL_CODES_H_
