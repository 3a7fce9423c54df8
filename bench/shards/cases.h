// The cases of shards_bench: one array on several devices beside the same array on one.
#ifndef CORANK_BENCH_SHARDS_CASES_H_
#define CORANK_BENCH_SHARDS_CASES_H_

#include <memory>
#include <vector>

#include "bench/harness/contest.h"
#include "kernels/engine/engine.h"

namespace corank::bench {

struct ShardsBenchOptions {
  int log2_bytes = 33;             // of the keys, in device memory
  int log2_host_bytes = 30;        // in host memory
  int least_log2_host_bytes = 30;  // of sorts: these are timed for each power of two up to log2_host_bytes
  int repetitions = 7;
  bool are_linked = true;  // the devices reach each other's memory; if not, there are only sorts
};

/// Sorts and merges in device memory; from pinned host memory sorts, also by columns, and intervals. The engines, of
/// one device each, must outlive the cases.
void AddShardCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines, std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_CASES_H_
