// Cases of shards_bench: intervals in pinned host memory.
#ifndef CORANK_BENCH_SHARDS_INTERVAL_CASES_H_
#define CORANK_BENCH_SHARDS_INTERVAL_CASES_H_

#include <vector>

#include "bench/harness/contest.h"
#include "bench/shards/cases.h"
#include "kernels/engine/engine.h"

namespace corank::bench {

/// Expands values, and gathers and moves intervals, of u32. The results have 2^log2_host_bytes bytes.
void AddShardIntervalCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                           std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_INTERVAL_CASES_H_
