// Sort by several key columns on the cores of the host.
//
// Every row becomes an item: its code, 64 bits of the row's stream (kernels/common/row_code.h), above its row number.
// The items are sorted (item_sort.h). Runs of items with equal codes are then sorted by comparing whole rows; all
// threads share a long run. Items of a few sorted runs are merged by comparing whole rows instead. A sort by segments
// takes the number of a row's segment for the first column. Finally columns,
// values and indices are gathered. Work: O(n log n) comparisons of items, and comparisons of rows with equal codes.
#ifndef CORANK_KERNELS_CPU_COLUMNS_H_
#define CORANK_KERNELS_CPU_COLUMNS_H_

#include <cstdint>

#include "kernels/common/column_sort.h"
#include "kernels/common/operators.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

int64_t ColumnSortWorkspaceBytes(const ColumnSortArgs& args);

/// `workspace`: ColumnSortWorkspaceBytes(args), 256-byte aligned.
void SortColumns(const ColumnSortArgs& args, void* workspace, Parallel& parallel, OperatorReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_COLUMNS_H_
