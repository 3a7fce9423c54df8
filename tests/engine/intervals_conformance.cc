// Expand, Move (including gather and scatter) and LoadBalance, compared with plain loops.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using Fault = OperatorReport::Fault;

std::vector<int64_t> Iota(size_t count) {
  std::vector<int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return indices;
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

class Intervals : public OnEngineUnderTest<::testing::Test> {
 protected:
  /// Lists of counts that are difficult in various ways.
  static std::vector<std::vector<int64_t>> HardCounts() {
    Random random(1);
    std::vector<std::vector<int64_t>> all = {
        {}, {0}, {1}, {5}, {0, 0, 0}, {3, 0, 2}, {100003}, {0, 100003, 0}, std::vector<int64_t>(5000, 0)};
    std::vector<int64_t> short_ones, mixed, mostly_empty(60000, 0);
    for (int i = 0; i < 20000; ++i) short_ones.push_back(random.Below(9));
    for (int i = 0; i < 300; ++i) mixed.push_back(random.OneIn(3) ? 0 : random.OneIn(20) ? 5000 : random.Below(300));
    for (int i = 0; i < 20; ++i) mostly_empty[static_cast<size_t>(random.Below(60000))] = 1000;
    all.push_back(short_ones);
    all.push_back(mixed);
    all.push_back(mostly_empty);
    all.push_back(std::vector<int64_t>(4097, 1));
    return all;
  }

  /// Disjoint destinations with gaps, in a random order of the intervals. Returns the length of the destination.
  static int64_t ScatterDestinations(const std::vector<int64_t>& counts, Random& random,
                                     std::vector<int64_t>* offsets) {
    std::vector<int64_t> order = Iota(counts.size());
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<size_t>(random.Below(static_cast<int64_t>(i)))]);
    }
    offsets->assign(counts.size(), 0);
    int64_t end = random.Below(5);
    for (int64_t i : order) {
      (*offsets)[static_cast<size_t>(i)] = end;
      end += counts[static_cast<size_t>(i)] + (random.OneIn(3) ? random.Below(4) : 0);
    }
    return end + random.Below(5);
  }
};

TEST_F(Intervals, ExpandRepeatsEachValue) {
  for (const std::vector<int64_t>& counts : HardCounts()) {
    for (int width : kValueWidths) {
      if (width == 256 && Sum(counts) > 50000) continue;
      SCOPED_TRACE(::testing::Message() << counts.size() << " intervals, " << width << " bytes");
      const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * width, 2);
      const Outcome outcome = harness().Expand(values, width, counts);
      EXPECT_TRUE(outcome.outputs[0] == Gather(values, width, LoadBalance(counts).first));
    }
  }
}

TEST_F(Intervals, LoadBalanceNamesObjectAndRank) {
  for (const std::vector<int64_t>& counts : HardCounts()) {
    SCOPED_TRACE(::testing::Message() << counts.size() << " objects");
    const auto [objects, ranks] = LoadBalance(counts);
    for (const int width : {4, 8}) {
      const Outcome outcome = harness().LoadBalance(counts, width);
      EXPECT_TRUE(outcome.outputs[0] == IndexArray(objects, width));
      EXPECT_TRUE(outcome.outputs[1] == IndexArray(ranks, width));
    }
  }
}

TEST_F(Intervals, MoveCopiesIntervalsAndLeavesGapsAlone) {
  Random random(3);
  for (const std::vector<int64_t>& counts : HardCounts()) {
    for (int width : {1, 3, 4, 8, 16, 256}) {
      if (width == 256 && Sum(counts) > 50000) continue;
      SCOPED_TRACE(::testing::Message() << counts.size() << " intervals, " << width << " bytes");
      MoveCase test;
      test.element_bytes = width;
      test.counts = counts;
      const int64_t destination_count = ScatterDestinations(counts, random, &test.destination_offsets);
      const int64_t source_count = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end()) + 100;
      for (int64_t count : counts) test.source_offsets.push_back(random.Below(source_count - count + 1));
      test.source = MakeBytes(source_count * width, 4);
      test.destination = MakeBytes(destination_count * width, 5);
      const Outcome outcome = harness().Move(test);
      EXPECT_EQ(outcome.report.fault, Fault::kNone);
      EXPECT_TRUE(outcome.outputs[0] ==
                  Move(test.source, test.destination, width, test.source_offsets, test.destination_offsets, counts));
    }
  }
}

TEST_F(Intervals, GatherAndScatterUseDenseOffsetsOnTheOtherSide) {
  Random random(6);
  for (const std::vector<int64_t>& counts : HardCounts()) {
    if (counts.empty()) continue;
    SCOPED_TRACE(::testing::Message() << counts.size() << " intervals");
    std::vector<int64_t> offsets;
    const int64_t sparse_count = ScatterDestinations(counts, random, &offsets);
    const Bytes sparse = MakeBytes(sparse_count * 4, 7);
    const Bytes dense = MakeBytes(Sum(counts) * 4, 8);
    MoveCase gather;
    gather.counts = counts;
    gather.source = sparse;
    gather.destination = dense;
    gather.source_offsets = offsets;
    EXPECT_TRUE(harness().Move(gather).outputs[0] == Move(sparse, dense, 4, offsets, PrefixSums(counts), counts));
    MoveCase scatter;
    scatter.counts = counts;
    scatter.source = dense;
    scatter.destination = sparse;
    scatter.destination_offsets = offsets;
    EXPECT_TRUE(harness().Move(scatter).outputs[0] == Move(dense, sparse, 4, PrefixSums(counts), offsets, counts));
  }
}

TEST_F(Intervals, MoveReportsTheFirstOverlapInDestinationOrder) {
  Random random(9);
  for (int64_t intervals : {int64_t{2}, int64_t{50}, int64_t{5000}, int64_t{70001}}) {
    for (int round = 0; round < 5; ++round) {
      MoveCase test;
      for (int64_t i = 0; i < intervals; ++i) test.counts.push_back(random.Below(4));
      test.counts[0] = test.counts[1] = 3;
      const int64_t destination_count = ScatterDestinations(test.counts, random, &test.destination_offsets);
      for (int i = 0; i <= round; ++i) {
        const auto a = static_cast<size_t>(random.Below(intervals));
        const auto b = static_cast<size_t>(random.Below(intervals));
        if (test.destination_offsets[a] + test.counts[b] <= destination_count) {
          test.destination_offsets[b] = test.destination_offsets[a];
        }
      }
      test.source = MakeBytes(16 * 4, 1);
      test.destination = MakeBytes(destination_count * 4, 1);
      test.source_offsets.assign(test.counts.size(), 0);
      const auto expected = FirstOverlap(test.destination_offsets, test.counts);
      for (const bool checks_alone : {false, true}) {
        test.checks_alone = checks_alone;
        const Outcome outcome = harness().Move(test);
        SCOPED_TRACE(::testing::Message() << intervals << " intervals, round " << round << ", check " << checks_alone);
        ASSERT_EQ(outcome.report.fault, expected ? Fault::kOverlapping : Fault::kNone);
        EXPECT_TRUE(!checks_alone || outcome.outputs[0] == test.destination);
        if (!expected) continue;
        EXPECT_EQ(outcome.report.other, expected->first);
        EXPECT_EQ(outcome.report.index, expected->second);
      }
    }
  }
}

TEST_F(Intervals, EmptyIntervalsNeverOverlap) {
  MoveCase test;
  test.source = MakeBytes(40, 1);
  test.destination = MakeBytes(40, 2);
  test.counts = {10, 0, 0};
  test.source_offsets = {0, 0, 10};
  test.destination_offsets = {0, 5, 0};
  EXPECT_EQ(harness().Move(test).report.fault, Fault::kNone);
}

TEST_F(Intervals, OverlapsAreAllowedWhereNotChecked) {
  MoveCase test;
  test.source = {1, 2, 3, 4};
  test.destination = {9, 9, 9};
  test.element_bytes = 1;
  test.counts = {2, 2};
  test.source_offsets = {0, 2};
  test.destination_offsets = {0, 1};
  test.check_overlap = false;
  const Outcome outcome = harness().Move(test);
  EXPECT_EQ(outcome.report.fault, Fault::kNone);
  EXPECT_EQ(outcome.outputs[0][0], 1);
  EXPECT_THAT(outcome.outputs[0][1], ::testing::AnyOf(2, 3));
  EXPECT_EQ(outcome.outputs[0][2], 4);
}

}  // namespace
}  // namespace corank::testing
