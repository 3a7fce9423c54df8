// Sort on the cores of the host.
//
// Keys become items (item_sort.h) of which equal ones cannot be told apart: their codes, where nothing moves with them,
// otherwise rank and index in one integer. Items are sorted; keys, values and indices are then gathered. Work
// O(n log n); memory passes: 2 to make items and results, and those of the item sort.
#ifndef CORANK_KERNELS_CPU_SORT_H_
#define CORANK_KERNELS_CPU_SORT_H_

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

int64_t SortWorkspaceBytes(const SortArgs& args, int threads);

/// `workspace`: SortWorkspaceBytes(args, parallel.threads()), 256-byte aligned.
void Sort(const SortArgs& args, void* workspace, Parallel& parallel, OperatorReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_SORT_H_
