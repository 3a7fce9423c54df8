// Select on the cores of the host: each piece counts its selected elements, then moves them. Work O(count + positions).
#ifndef CORANK_KERNELS_CPU_SELECT_H_
#define CORANK_KERNELS_CPU_SELECT_H_

#include <cstdint>

#include "kernels/common/select.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Elements in a piece.
inline constexpr int64_t kSelectPiece = int64_t{1} << 16;

int64_t SelectWorkspaceBytes(const SelectArgs& args);

/// `workspace`: as many bytes as the function above returns, 256-byte aligned.
void Select(const SelectArgs& args, void* workspace, Parallel& parallel, SelectReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_SELECT_H_
