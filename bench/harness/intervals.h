// Intervals for the benchmarks of the interval operators.
#ifndef CORANK_BENCH_HARNESS_INTERVALS_H_
#define CORANK_BENCH_HARNESS_INTERVALS_H_

#include <cstdint>
#include <vector>

namespace corank::bench {

struct IntervalSet {
  std::vector<int64_t> source_offsets;
  std::vector<int64_t> destination_offsets;
  std::vector<int64_t> counts;
};

/// Counts that sum to `total`, uniform in [1, 2 * mean - 1]; the last one is the remainder.
std::vector<int64_t> MakeCounts(int64_t total, int64_t mean);

/// Intervals that cover a source of `total` elements in source order, and a destination of equal size in random order.
IntervalSet MakeShuffledIntervals(int64_t total, int64_t mean);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_INTERVALS_H_
