// Group on the cores of the host: pieces of the keys count their heads, then write them, then reduce the values of
// their runs. Runs that reach beyond a piece are joined afterwards, in the tree of run_reduction.h. Work O(count).
#ifndef CORANK_KERNELS_CPU_GROUP_H_
#define CORANK_KERNELS_CPU_GROUP_H_

#include <cstdint>

#include "kernels/common/group.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Positions in a piece: a node of the tree of run_reduction.h.
inline constexpr int64_t kGroupPiece = int64_t{1} << 15;

int64_t GroupWorkspaceBytes(const GroupArgs& args);

/// `workspace`: as many bytes as the function above returns, 256-byte aligned.
void Group(const GroupArgs& args, void* workspace, Parallel& parallel, GroupReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_GROUP_H_
