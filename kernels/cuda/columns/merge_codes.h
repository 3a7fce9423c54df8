// The codes of rows that come in sorted runs.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_MERGE_CODES_H_
#define CORANK_KERNELS_CUDA_COLUMNS_MERGE_CODES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/column_sort.h"
#include "kernels/common/operators.h"
#include "kernels/common/row_order.h"
#include "kernels/cuda/columns/column_codes.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Enqueues the check of runs whose rows have these codes (MakeCodes), with `order` as MakeCodes left it. Without codes
/// (null), it compares whole rows. d_state->unsorted gets the first unsorted run, and the first row in it that is out
/// of order. args: count > 0 and run_count > 0.
cudaError_t CheckRuns(const RowOrder& order, const ColumnSortArgs& args, CodeState* d_state, const uint64_t* d_codes,
                      cudaStream_t stream);

/// Enqueues a write of the report of runs that CheckRuns has checked. d_report: device-accessible memory.
cudaError_t ReportRuns(SortAlgorithm algorithm, int64_t results, const CodeState* d_state, OperatorReport* d_report,
                       cudaStream_t stream);

/// Carves its workspace. Unless it only sizes, enqueues the choice of d_state->code, the check of the runs and the
/// merge: d_sorted_codes gets the codes of all rows in ascending order, and d_rows their row numbers of index_bytes
/// bytes each. Rows with equal codes keep their order. Gives `order` the bases in d_state. args: count > 0 and
/// run_count > 0.
cudaError_t MergeCodes(RowOrder& order, const ColumnSortArgs& args, CodeState* d_state, uint64_t* d_sorted_codes,
                       void* d_rows, int index_bytes, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_MERGE_CODES_H_
