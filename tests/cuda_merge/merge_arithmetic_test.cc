// The pure arithmetic of the merge and search kernels, on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <vector>

#include "kernels/common/merge_path.h"
#include "kernels/cuda/merge/bulk_sections.h"
#include "kernels/cuda/merge/circular_buffer.h"
#include "kernels/cuda/merge/merge_tree.h"
#include "kernels/cuda/merge/merge_tuning.h"
#include "kernels/cuda/search/search_tuning.h"
#include "tests/support/distributions.h"
#include "tests/support/published_examples.h"

namespace corank::testing {
namespace {

using cuda::CircularBuffer;
using cuda::MergeTree;
using cuda::MultiwayGroups;

TEST(CoRank, CutsTheTextbooksMergeWhereTheTextbookDoes) {
  using Example = published::CoRankExample;
  for (int thread = 0; thread < 3; ++thread) {
    const int i = CoRank(Example::kK[thread], Example::kA, 5, Example::kB, 4, std::less<int>());
    EXPECT_EQ(i, Example::kI[thread]) << "k = " << Example::kK[thread];
    EXPECT_EQ(Example::kK[thread] - i, Example::kJ[thread]);
  }
}

TEST(SerialMerge, ThreeThreadsMakeTheTextbooksOutput) {
  using Example = published::CoRankExample;
  std::vector<int> merged;
  for (int thread = 0; thread < 3; ++thread) {
    const int i = thread == 0 ? 0 : Example::kI[thread - 1];
    const int j = thread == 0 ? 0 : Example::kJ[thread - 1];
    SerialMerge(Example::kA, i, Example::kI[thread], Example::kB, j, Example::kJ[thread], 3, std::less<int>(),
                [&](int, bool from_a, int at) { merged.push_back(from_a ? Example::kA[at] : Example::kB[at]); });
  }
  EXPECT_EQ(merged, std::vector<int>(std::begin(Example::kMerged), std::end(Example::kMerged)));
}

TEST(CircularBuffer, HoldsWhatADequeHolds) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const int capacity = static_cast<int>(1 + random.Below(20));
    std::vector<int> slots(static_cast<size_t>(capacity), -1);
    CircularBuffer<int> buffer(slots.data(), capacity);
    std::deque<int> expected;
    int next = 0;
    for (int step = 0; step < 200; ++step) {
      const int more = static_cast<int>(random.Below(buffer.room() + 1));
      for (int i = 0; i < more; ++i) {
        buffer[buffer.size() + i] = next;
        expected.push_back(next++);
      }
      buffer.Push(more);
      ASSERT_EQ(buffer.size(), static_cast<int>(expected.size())) << "seed " << seed;
      ASSERT_EQ(buffer.room(), capacity - buffer.size()) << "seed " << seed;
      for (int i = 0; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], expected[static_cast<size_t>(i)]) << "seed " << seed;
      const int less = static_cast<int>(random.Below(buffer.size() + 1));
      buffer.Pop(less);
      expected.erase(expected.begin(), expected.begin() + less);
    }
  }
}

TEST(CircularBuffer, IsMergedLikeAnArray) {
  // Fronts in the middle of the slots, so that both inputs wrap around.
  std::vector<int> a_slots(8), b_slots(8);
  CircularBuffer<int> a(a_slots.data(), 8), b(b_slots.data(), 8);
  for (auto* buffer : {&a, &b}) {
    buffer->Push(5);
    buffer->Pop(5);
  }
  for (int i = 0; i < 8; ++i) {
    a[i] = 2 * i;
    b[i] = 3 * i;
  }
  a.Push(8);
  b.Push(8);
  std::vector<int> expected;
  for (int i = 0; i < 8; ++i) expected.insert(expected.end(), {2 * i, 3 * i});
  std::sort(expected.begin(), expected.end());
  for (int diagonal = 0; diagonal < 16; ++diagonal) {
    const int i = CoRank(diagonal, a, 8, b, 8, std::less<int>());
    int got = -1;
    SerialMerge(a, i, 8, b, diagonal - i, 8, 1, std::less<int>(),
                [&](int, bool from_a, int at) { got = from_a ? a[at] : b[at]; });
    EXPECT_EQ(got, expected[static_cast<size_t>(diagonal)]) << diagonal;
  }
}

TEST(MergeTree, MakesAPowerOfTwoRunsOfOneOrTwoInputsEach) {
  for (int32_t inputs = 1; inputs <= 1024; ++inputs) {
    const MergeTree tree(inputs);
    EXPECT_EQ(tree.runs() & (tree.runs() - 1), 0) << inputs;
    EXPECT_LE(tree.runs(), inputs);
    EXPECT_EQ(tree.FirstInput(0), 0) << inputs;
    EXPECT_EQ(tree.FirstInput(tree.runs()), inputs);
    for (int32_t run = 0; run < tree.runs(); ++run) {
      const int32_t size = tree.FirstInput(run + 1) - tree.FirstInput(run);
      EXPECT_TRUE(size == 1 || size == 2) << inputs << " inputs, run " << run << " has " << size;
    }
    EXPECT_GE(int64_t{1} << tree.levels(), inputs);
    EXPECT_TRUE(inputs == 1 || (int64_t{1} << (tree.levels() - 1)) < inputs) << inputs;
  }
}

TEST(MultiwayGroups, FitThePassesAndCoverAllInputs) {
  for (int32_t inputs = 1; inputs <= 1024; ++inputs) {
    const MultiwayGroups groups(inputs);
    EXPECT_EQ(groups.groups() == 1, inputs <= cuda::kMaxWays) << inputs;
    EXPECT_LE(groups.groups(), cuda::kMaxWays) << inputs;
    EXPECT_EQ(groups.FirstInput(0), 0);
    EXPECT_EQ(groups.FirstInput(groups.groups()), inputs);
    for (int32_t group = 0; group < groups.groups(); ++group) {
      const int32_t size = groups.FirstInput(group + 1) - groups.FirstInput(group);
      EXPECT_TRUE(size >= 1 && size <= cuda::kMaxWays) << inputs << " inputs, group " << group << " has " << size;
    }
  }
}

TEST(BulkSections, CoverAllTilesOnceAndEndWithShortOnes) {
  for (int64_t tiles : {int64_t{1}, int64_t{3}, int64_t{264}, int64_t{265}, int64_t{600}, int64_t{5000}, int64_t{33826},
                        int64_t{1} << 40}) {
    const cuda::BulkSections sections(tiles, /*blocks=*/264, /*long_tiles=*/8, /*short_tiles=*/2);
    EXPECT_EQ(sections.Begin(0), 0);
    EXPECT_LT(sections.Begin(sections.count() - 1), tiles) << "an empty section of " << tiles;
    EXPECT_GE(sections.Begin(sections.count()), tiles);
    for (int64_t back = 1; back <= std::min(sections.count(), int64_t{2000}); ++back) {
      const int64_t section = sections.count() - back;
      const int64_t size = sections.Begin(section + 1) - sections.Begin(section);
      ASSERT_LE(size, back <= 264 ? 2 : 8) << "section " << section << " of " << tiles << " tiles";
      ASSERT_GE(size, 1);
    }
    if (tiles <= 2 * 264) {
      EXPECT_EQ(sections.count(), tiles) << "blocks without work";
    }
  }
}

TEST(PivotIndex, IsAscendingAndWithinTheHaystack) {
  const int64_t pivots = cuda::SearchTuning::kPivots;
  for (int64_t count : {pivots, pivots + 1, 2 * pivots - 1, int64_t{1000003}, int64_t{1} << 40}) {
    EXPECT_EQ(cuda::PivotIndex(0, pivots, count), 0);
    for (int64_t i = 1; i < pivots; ++i) {
      ASSERT_LT(cuda::PivotIndex(i - 1, pivots, count), cuda::PivotIndex(i, pivots, count)) << count;
    }
    EXPECT_LT(cuda::PivotIndex(pivots - 1, pivots, count), count);
  }
}

}  // namespace
}  // namespace corank::testing
