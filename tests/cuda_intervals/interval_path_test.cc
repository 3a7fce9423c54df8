// The pure arithmetic of the interval kernels, on the CPU.
#include "kernels/cuda/intervals/interval_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cuda/intervals/interval_tuning.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/published_examples.h"

namespace corank::testing {
namespace {

/// The object of each unit, found as the kernel finds it: tiles of the path, each cut among threads.
std::vector<int64_t> ObjectsByTiles(const std::vector<int64_t>& counts, int threads, int items, int units_per_element) {
  const std::vector<int64_t> starts = PrefixSums(counts);
  const auto count = static_cast<int64_t>(counts.size());
  const int64_t units = std::accumulate(counts.begin(), counts.end(), int64_t{0}) * units_per_element;
  const cuda::ScaledStarts scaled{starts.data(), units_per_element};
  std::vector<int64_t> objects(static_cast<size_t>(units), -2);
  const int tile = threads * items;
  for (int64_t begin = 0; begin < units + count; begin += tile) {
    const int64_t end = std::min(begin + tile, units + count);
    const int64_t first = cuda::IntervalsBefore(begin, scaled, count, units);
    const int64_t last = cuda::IntervalsBefore(end, scaled, count, units);
    const int64_t first_unit = begin - first;
    const int interval_count = static_cast<int>(last - first);
    const int unit_count = static_cast<int>(end - begin) - interval_count;
    std::vector<int> local(static_cast<size_t>(interval_count));
    for (int i = 0; i < interval_count; ++i) local[size_t(i)] = static_cast<int>(scaled[first + i] - first_unit);
    for (int thread = 0; thread < threads; ++thread) {
      const int diagonal = std::min(thread * items, interval_count + unit_count);
      const int interval = cuda::IntervalsBefore(diagonal, local.data(), interval_count, unit_count);
      cuda::WalkIntervals(local.data(), interval_count, unit_count, interval, diagonal - interval, items,
                          [&](int unit, int number) {
                            int64_t& object = objects[static_cast<size_t>(first_unit + unit)];
                            EXPECT_EQ(object, -2) << "a unit was visited twice";
                            object = first + number;
                          });
    }
  }
  return objects;
}

TEST(IntervalPath, MakesTheReferencesOfTheLoadBalancingPage) {
  using Example = published::LoadBalanceExample;
  const std::vector<int64_t> counts(std::begin(Example::kCounts), std::end(Example::kCounts));
  const std::vector<int64_t> objects(std::begin(Example::kObjects), std::end(Example::kObjects));
  for (int items : {1, 3, 7}) EXPECT_EQ(ObjectsByTiles(counts, 4, items, 1), objects) << items;
}

TEST(IntervalPath, FindsTheObjectsOfFortyObjects) {
  using Example = published::FortyObjectsExample;
  const std::vector<int64_t> counts(std::begin(Example::kCounts), std::end(Example::kCounts));
  EXPECT_EQ(PrefixSums(counts), std::vector<int64_t>(std::begin(Example::kStarts), std::end(Example::kStarts)));
  EXPECT_EQ(ObjectsByTiles(counts, 4, 3, 1), LoadBalance(counts).first);
}

TEST(IntervalPath, FindsTheObjectOfEveryUnit) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<int64_t> counts(static_cast<size_t>(random.Below(60)));
    const int64_t bound = random.OneIn(3) ? 2 : 12;
    for (int64_t& count : counts) count = random.OneIn(3) ? 0 : random.Below(bound);
    if (!counts.empty() && random.OneIn(3)) counts[size_t(random.Below(int64_t(counts.size())))] = 300;
    for (int units : {1, 3}) {
      std::vector<int64_t> scaled = counts;
      for (int64_t& count : scaled) count *= units;
      ASSERT_EQ(
          ObjectsByTiles(counts, static_cast<int>(1 + random.Below(8)), static_cast<int>(1 + random.Below(9)), units),
          LoadBalance(scaled).first)
          << "seed " << seed;
    }
  }
}

TEST(UnitBytes, IsTheWidestPowerOfTwoUpToSixteenThatDividesAnElement) {
  const int expected[][2] = {{1, 1},  {2, 2},   {3, 1},  {4, 4},   {6, 2},   {8, 8},
                             {12, 4}, {16, 16}, {24, 8}, {48, 16}, {256, 16}};
  for (const auto& [element, unit] : expected) EXPECT_EQ(cuda::UnitBytes(element), unit) << element;
}

}  // namespace
}  // namespace corank::testing
