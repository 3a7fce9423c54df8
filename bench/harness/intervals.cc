#include "bench/harness/intervals.h"

#include <algorithm>
#include <cstddef>
#include <random>

#include "bench/harness/inputs.h"

namespace corank::bench {

std::vector<int64_t> MakeCounts(int64_t total, int64_t mean) {
  std::vector<int64_t> counts;
  for (int64_t left = total; left > 0; left -= counts.back()) {
    const uint64_t random = Scramble(static_cast<uint64_t>(counts.size()));
    const int64_t count = 1 + static_cast<int64_t>(random % static_cast<uint64_t>(2 * mean - 1));
    counts.push_back(std::min(count, left));
  }
  return counts;
}

IntervalSet MakeShuffledIntervals(int64_t total, int64_t mean) {
  IntervalSet set;
  set.counts = MakeCounts(total, mean);
  const size_t intervals = set.counts.size();
  set.source_offsets.resize(intervals);
  set.destination_offsets.resize(intervals);
  int64_t offset = 0;
  std::vector<size_t> order(intervals);
  for (size_t i = 0; i < intervals; ++i) {
    order[i] = i;
    set.source_offsets[i] = offset;
    offset += set.counts[i];
  }
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  offset = 0;
  for (const size_t i : order) {
    set.destination_offsets[i] = offset;
    offset += set.counts[i];
  }
  return set;
}

}  // namespace corank::bench
