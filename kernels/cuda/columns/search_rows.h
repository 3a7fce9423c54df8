// Lower and upper bounds of rows in a sorted table, on the GPU.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_SEARCH_ROWS_H_
#define CORANK_KERNELS_CUDA_COLUMNS_SEARCH_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/column_search.h"
#include "kernels/common/operators.h"

namespace corank::cuda {

/// At most 4 MiB and a few bytes. Grows with the number of needles.
int64_t ColumnSearchWorkspaceBytes(const ColumnSearchArgs& args);

/// Enqueues the search of all needles, which may be in any order. Workspace, report and errors: as for Search.
cudaError_t SearchColumns(const ColumnSearchArgs& args, void* d_workspace, int64_t workspace_bytes,
                          OperatorReport* d_report, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_SEARCH_ROWS_H_
