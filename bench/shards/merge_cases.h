// The merges of shards_bench: two sorted arrays in parts on several devices beside the same arrays on one.
#ifndef CORANK_BENCH_SHARDS_MERGE_CASES_H_
#define CORANK_BENCH_SHARDS_MERGE_CASES_H_

#include <vector>

#include "bench/harness/contest.h"
#include "bench/shards/cases.h"
#include "kernels/engine/engine.h"

namespace corank::bench {

/// Merges in device memory. The engines must outlive the cases.
void AddShardMergeCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_MERGE_CASES_H_
