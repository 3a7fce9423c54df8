// Expand, Move and LoadBalance on the cores of the host.
//
// All three walk the merge path of interval ends and outputs (S. Baxter, "Load-balancing search", moderngpu). Pieces
// have equal numbers of intervals plus outputs, so that neither one long interval nor many empty ones keep a single
// core busy. Work O(intervals + total).
#ifndef CORANK_KERNELS_CPU_INTERVALS_H_
#define CORANK_KERNELS_CPU_INTERVALS_H_

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

int64_t ExpandWorkspaceBytes(const ExpandArgs& args);
int64_t MoveWorkspaceBytes(const MoveArgs& args, int threads);
int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args);

/// `workspace`: as many bytes as the functions above return, 256-byte aligned.
void Expand(const ExpandArgs& args, void* workspace, Parallel& parallel, OperatorReport* report);
void Move(const MoveArgs& args, void* workspace, Parallel& parallel, OperatorReport* report);
void LoadBalance(const LoadBalanceArgs& args, void* workspace, Parallel& parallel, OperatorReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_INTERVALS_H_
