// Arguments of Rank, as engines take them: a Group finds the ranks of sorted keys.
#ifndef CORANK_KERNELS_COMMON_RANK_H_
#define CORANK_KERNELS_COMMON_RANK_H_

#include "kernels/common/group.h"

namespace corank {

/// Set ranks_out, and none of the other outputs.
using RankArgs = GroupArgs;

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_RANK_H_
