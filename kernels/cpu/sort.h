// Sort on the cores of the host.
//
// Keys become items (item_sort.h) whose equal values are identical: the keys' codes if nothing moves with them,
// otherwise rank and index in one integer. The items are sorted; then keys, values and indices are gathered. Work O(n
// log n). Memory passes: 2 to make items and results, plus those of the item sort.
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
