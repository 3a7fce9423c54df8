// Gathers the strings of a sorted column.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_STRINGS_H_
#define CORANK_KERNELS_CUDA_COLUMNS_STRINGS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/column_sort.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Carves its workspace. Unless it only sizes, enqueues the gather: string i of the output is string d_rows[i] of the
/// column, for i in [0, count). Row numbers have index_bytes bytes, 4 or 8.
/// d_count: null, or the number of strings on the device, `count` at most, where only the device knows it.
cudaError_t GatherStrings(const KeyColumn& column, const void* d_rows, int index_bytes, int64_t count,
                          const int64_t* d_count, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_STRINGS_H_
