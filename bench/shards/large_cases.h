// The cases of shards_bench with arrays that are larger than the memory of one device.
#ifndef CORANK_BENCH_SHARDS_LARGE_CASES_H_
#define CORANK_BENCH_SHARDS_LARGE_CASES_H_

#include <vector>

#include "bench/shards/cases.h"

namespace corank::bench {

/// A sort and a merge of u64 keys that lie on all devices, beside one device's work on as many keys as it has of them.
/// Every key of the results is checked. Adds nothing where all devices together are too small.
void AddLargeShardCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_LARGE_CASES_H_
