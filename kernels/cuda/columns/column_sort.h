// Sort by several key columns on the GPU.
//
// Algorithm: every row gets a code, 64 bits of its stream that leave out what all rows have in common
//            (kernels/common/row_code.h). Codes and row numbers are sorted by Sort; that decides all rows whose codes
//            differ. Rows of up to 8 bytes, which are their own codes, are sorted by the lower halves and then by the
//            upper ones, where that is RADIX. Rows with equal codes are taken out, sorted among themselves by a
//            merge-path mergesort that compares the next 8 bytes of the stream and, where these are equal too, the
//            rows themselves, and put back (equal_codes.cu). Columns, values and indices are gathered by the
//            permutation.
// Work: that of Sort for n 8-byte keys with indices; O(m log m) comparisons for m rows with equal codes.
// Memory: a read or two of the bytes that the codes are made of, what Sort moves, one random read and one write for
//         each output; 24 bytes a row more to find equal codes where the key is longer than 8 bytes.
// Workspace: 2 codes and an index a row, Sort's, and for keys longer than 8 bytes 44 bytes a row (72 from 2^32 on).
// Stability: Sort is stable, and so is the mergesort, which takes rows in the order that Sort left.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_COLUMN_SORT_H_
#define CORANK_KERNELS_CUDA_COLUMNS_COLUMN_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/column_sort.h"
#include "kernels/common/operators.h"

namespace corank::cuda {

/// Bytes of workspace that SortColumns needs for these arguments. Of the columns their kinds and widths count; other
/// pointers are not followed, but whether they are null counts: null for what is wanted gives no less.
int64_t ColumnSortWorkspaceBytes(const ColumnSortArgs& args);

/// Enqueues the sort on `stream` of the current device; never allocates, never waits. d_workspace is 256-byte aligned
/// and of workspace_bytes >= ColumnSortWorkspaceBytes(args) bytes, unused by others until the work is done.
/// args.columns are not read after the return. h_report->sort_algorithm, set before the return, says how the codes are
/// sorted. Errors: cudaErrorInvalidValue when the workspace is too small; otherwise the first error of a launch.
cudaError_t SortColumns(const ColumnSortArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* h_report, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_COLUMN_SORT_H_
