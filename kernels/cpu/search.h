// Search on the cores of the host: one binary search for each needle. Several searches run side by side without
// branches, so that their cache misses overlap.
#ifndef CORANK_KERNELS_CPU_SEARCH_H_
#define CORANK_KERNELS_CPU_SEARCH_H_

#include "kernels/common/column_search.h"
#include "kernels/common/operators.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Need no workspace.
void Search(const SearchArgs& args, Parallel& parallel, OperatorReport* report);
void SearchColumns(const ColumnSearchArgs& args, Parallel& parallel, OperatorReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_SEARCH_H_
