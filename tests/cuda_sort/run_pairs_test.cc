#include "kernels/cuda/sort/run_pairs.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace corank::cuda {
namespace {

TEST(RunPairs, LastPairIsCutAtTheCount) {
  const RunPair whole = PairAt(95, 10, 100);
  EXPECT_EQ(whole.start, 80);
  EXPECT_EQ(whole.middle, 90);
  EXPECT_EQ(whole.end, 100);
  const RunPair cut = PairAt(85, 10, 83 + 5);
  EXPECT_EQ(cut.middle, 88);
  EXPECT_EQ(cut.end, 88);
}

TEST(RunPairs, WidthsNearTheLargestCountDoNotOverflow) {
  constexpr int64_t kCount = INT64_MAX;
  const RunPair pair = PairAt(kCount - 1, int64_t{1} << 62, kCount);
  EXPECT_EQ(pair.start, 0);
  EXPECT_EQ(pair.middle, int64_t{1} << 62);
  EXPECT_EQ(pair.end, kCount);
}

}  // namespace
}  // namespace corank::cuda
