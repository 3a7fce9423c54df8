// The band of a sample that holds results in the middle of a sorted order.
#include "kernels/common/rank_band.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank {
namespace {

TEST(SampledPlace, IsAscendingAndWithinItsPart) {
  constexpr int64_t kParts = 1000;
  for (const int64_t places : {kParts, int64_t{12'345}, int64_t{1} << 40}) {
    int64_t last = -1;
    for (int64_t part = 0; part < kParts; ++part) {
      uint32_t unused;
      const int64_t place = SampledPlace(part, kParts, places, &unused);
      EXPECT_GT(place, last);
      EXPECT_GE(place, part * places / kParts);
      EXPECT_LT(place, (part + 1) * places / kParts);
      last = place;
    }
  }
}

TEST(BandAround, HasNoBoundWhereTheResultsAreAtAnEnd) {
  constexpr int64_t kCount = int64_t{1} << 24;
  const RankBand first = BandAround(kCount, 0, 1), last = BandAround(kCount, kCount - 1, kCount);
  EXPECT_EQ(first.low, -1);
  EXPECT_LT(first.high, first.samples / 100);
  EXPECT_EQ(last.high, last.samples);
  EXPECT_GT(last.low, last.samples / 100 * 99);
}

TEST(BandAround, IsNarrowForTheMedianOfManyKeys) {
  constexpr int64_t kCount = int64_t{1} << 28;
  const RankBand band = BandAround(kCount, kCount / 2, kCount / 2 + 1);
  EXPECT_EQ(band.samples, int64_t{1} << 19);
  EXPECT_LT(band.MostElements(kCount), 0.01 * kCount);
}

TEST(BandAround, SortsAllWhereABandWouldHoldMuch) {
  EXPECT_EQ(BandAround(1000, 500, 501).samples, 0);
  EXPECT_EQ(BandAround(1 << 20, 1, 1 << 19).samples, 0);
}

// The ranks of a random sample among all elements.
TEST(BandAround, HoldsTheResultsOfRandomElements) {
  testing::Random random(7);
  for (const int64_t count : {int64_t{1} << 14, int64_t{1} << 20, int64_t{1} << 30}) {
    for (const int64_t first : {int64_t{1}, count / 1000, count / 3, count / 2, count - 100}) {
      const int64_t end = std::min(count, first + 10);
      const RankBand band = BandAround(count, first, end);
      ASSERT_GT(band.samples, 0);
      for (int round = 0; round < 3; ++round) {
        std::vector<int64_t> sample(static_cast<size_t>(band.samples));
        for (int64_t& rank : sample) rank = random.Below(count);
        std::sort(sample.begin(), sample.end());
        const int64_t low = band.low < 0 ? 0 : sample[static_cast<size_t>(band.low)];
        const int64_t high = band.high == band.samples ? count : sample[static_cast<size_t>(band.high)];
        EXPECT_LE(low, first);
        EXPECT_GE(high, end - 1);
        EXPECT_LE(static_cast<double>(high - low), band.MostElements(count));
      }
    }
  }
}

}  // namespace
}  // namespace corank
