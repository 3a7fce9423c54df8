// Sort by several key columns on the GPU.
//
// Algorithm: every row gets a code: 64 bits of its stream, without what all rows have in common
//            (kernels/common/row_code.h). Sort sorts codes and row numbers, which decides all rows with different
//            codes. Rows of up to 8 bytes are their own codes; RADIX sorts them by the lower halves and then by the
//            upper ones. Rows with equal codes are taken out, sorted among themselves, and put back (equal_codes.cu): a
//            merge-path mergesort compares the next 8 bytes of the stream and, if these are equal, the rows themselves.
//            The permutation then gathers columns, values and indices. Codes of sorted runs are merged
//            (merge_codes.cu). A sort by segments takes the number of a row's segment for the first column
//            (segment_numbers.cu), so that one sort of all rows leaves each row in its segment.
// Work: that of Sort for n 8-byte keys with indices; O(m log m) comparisons for m rows with equal codes.
// Memory: one or two reads of the bytes that the codes consist of, the traffic of Sort, one random read and one write
//         for each output; 24 more bytes for each row to find equal codes if the key is longer than 8 bytes.
// Workspace: 2 codes and an index for each row, that of Sort, and 44 bytes for each row (72 from 2^32 rows on) if keys
//            are longer than 8 bytes; 4 bytes for each row by segments (8 from 2^32 segments on). With a limit of each
//            segment, an index for each result and that of PackSegments (segment_limit.h).
// Stability: Sort is stable, and so is the mergesort, which takes rows in the order that Sort left.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_COLUMN_SORT_H_
#define CORANK_KERNELS_CUDA_COLUMNS_COLUMN_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/column_sort.h"
#include "kernels/common/operators.h"

namespace corank::cuda {

/// Bytes of workspace that SortColumns needs for these arguments. Reads the kinds and widths of columns, and the
/// offsets of runs. Does not follow other pointers, but depends on which are null; a null output never raises the
/// result.
int64_t ColumnSortWorkspaceBytes(const ColumnSortArgs& args);

/// Enqueues the sort on `stream` of the current device. Never allocates, never waits. d_workspace is 256-byte aligned,
/// has workspace_bytes >= ColumnSortWorkspaceBytes(args) bytes, and stays reserved until the work is done. The caller
/// may release args.columns and args.run_offsets after the return. h_report->sort_algorithm, set before the return, is
/// the algorithm that sorts the codes. h_report->results is the number of results, or -1 if args.LimitsSegments(): only
/// the device then finds it. d_results: null, or device-accessible memory that gets it on the stream. With runs,
/// h_report is pinned memory that the stream writes. Errors: cudaErrorInvalidValue if the workspace is too small,
/// otherwise the first error of a launch.
cudaError_t SortColumns(const ColumnSortArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* h_report, cudaStream_t stream, int64_t* d_results = nullptr);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_COLUMN_SORT_H_
