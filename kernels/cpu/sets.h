// Set operations on the cores of the host: the balanced path cuts both sides into pieces; each piece counts its
// results, then writes them. Work O(count).
#ifndef CORANK_KERNELS_CPU_SETS_H_
#define CORANK_KERNELS_CPU_SETS_H_

#include <cstdint>

#include "kernels/common/sets.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Keys of both sides in a piece.
inline constexpr int64_t kSetPiece = int64_t{1} << 16;

int64_t CombineSetsWorkspaceBytes(const SetArgs& args);

/// `workspace`: as many bytes as the function above returns, 256-byte aligned.
void CombineSets(const SetArgs& args, void* workspace, Parallel& parallel, SetReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_SETS_H_
