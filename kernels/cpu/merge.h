// Merge on the cores of the host. Co-ranks cut the output into equal pieces (merge_path.h for two inputs, the
// generalisation below for more), and each piece is merged independently. Two inputs of integers without values merge
// in vectors (vector_merge.h); other pairs merge without unpredictable branches; more inputs merge with a loser tree
// (Knuth, vol. 3, 5.4.1). Work O(n log k), one pass over keys and values.
//
// k-way co-rank: multisequence selection after P. Varman, S. Scheufler, B. Iyer, G. Ricard, "Merging Multiple Lists on
// Hierarchical-Memory Multiprocessors", 1991, by halving the widest remaining range.
#ifndef CORANK_KERNELS_CPU_MERGE_H_
#define CORANK_KERNELS_CPU_MERGE_H_

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

int64_t MergeWorkspaceBytes(const MergeArgs& args, int threads);

/// `workspace`: MergeWorkspaceBytes(args, parallel.threads()), 256-byte aligned.
void Merge(const MergeArgs& args, void* workspace, Parallel& parallel, OperatorReport* report);

void SplitRuns(const SplitArgs& args);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_MERGE_H_
