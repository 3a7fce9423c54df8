// The tables of shards_bench: a sort by two columns on several devices beside the same sort on one.
#ifndef CORANK_BENCH_SHARDS_TABLE_CASES_H_
#define CORANK_BENCH_SHARDS_TABLE_CASES_H_

#include <vector>

#include "bench/harness/contest.h"
#include "bench/shards/cases.h"
#include "kernels/engine/engine.h"

namespace corank::bench {

/// Sorts from pinned host memory, as a request with arrays in shared memory. The engines must outlive the cases.
void AddShardTableCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_TABLE_CASES_H_
