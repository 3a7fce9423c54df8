// Join on the cores of the host. The keys of the right are sorted with their row numbers, unless they are sorted; an
// index of buckets (key_buckets.h) finds the partners of each row of the left. A first pass counts them by pieces of
// the left, in batches of rows that wait for memory together. A second one writes pieces of the result, so that a row
// with many partners delays no other one. Work O(m log m + n + rows), and O(n log m) for keys that crowd in few
// buckets.
#ifndef CORANK_KERNELS_CPU_JOIN_H_
#define CORANK_KERNELS_CPU_JOIN_H_

#include <cstdint>

#include "kernels/common/join.h"
#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Rows of a side in a piece.
inline constexpr int64_t kJoinPiece = int64_t{1} << 14;
/// Rows of the left whose partners a thread looks for together.
inline constexpr int64_t kJoinBatch = 64;
/// The most keys of a bucket, if keys are spread evenly: so few that most searches read one line of the cache.
inline constexpr int64_t kJoinBucket = 2;
/// Keys of a bucket that are all compared in place of a binary search, because that takes no branches.
inline constexpr int64_t kJoinScan = 16;

int64_t JoinWorkspaceBytes(const JoinArgs& args, int threads);

/// `workspace`: JoinWorkspaceBytes(args, parallel.threads()), 256-byte aligned.
void Join(const JoinArgs& args, void* workspace, Parallel& parallel, JoinReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_JOIN_H_
