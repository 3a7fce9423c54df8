// The worked examples from the literature, on the engine under test.
#include <cstring>
#include <iterator>
#include <vector>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/published_examples.h"

namespace corank::testing {
namespace {

using published::CoRankExample;
using published::FortyObjectsExample;
using published::IntervalExpandExample;
using published::IntervalMoveExample;
using published::LoadBalanceExample;

template <typename T, size_t kCount>
Bytes AsBytes(const T (&values)[kCount]) {
  Bytes bytes(sizeof(values));
  std::memcpy(bytes.data(), values, sizeof(values));
  return bytes;
}

template <size_t kCount>
std::vector<int64_t> AsVector(const int64_t (&values)[kCount]) {
  return std::vector<int64_t>(std::begin(values), std::end(values));
}

class Published : public OnEngineUnderTest<::testing::Test> {};

TEST_F(Published, MergeOfTheCoRankWalkThrough) {
  MergeCase test;
  test.type = KeyType::kInt32;
  test.keys = {AsBytes(CoRankExample::kA), AsBytes(CoRankExample::kB)};
  for (MergeAlgorithm algorithm : kMergeAlgorithms) {
    test.algorithm = algorithm;
    EXPECT_EQ(harness().Merge(test).outputs[0], AsBytes(CoRankExample::kMerged));
  }
}

TEST_F(Published, IntervalExpand) {
  const Outcome outcome =
      harness().Expand(AsBytes(IntervalExpandExample::kValues), 4, AsVector(IntervalExpandExample::kCounts));
  EXPECT_EQ(outcome.outputs[0], AsBytes(IntervalExpandExample::kExpanded));
}

TEST_F(Published, IntervalMove) {
  MoveCase test;
  std::vector<int32_t> source;
  for (int32_t i = 0; i < 100; ++i) source.push_back(i);
  test.source.resize(400);
  std::memcpy(test.source.data(), source.data(), 400);
  test.destination.resize(400);
  test.counts = AsVector(IntervalMoveExample::kCounts);
  test.source_offsets = AsVector(IntervalMoveExample::kSourceOffsets);
  test.destination_offsets = AsVector(IntervalMoveExample::kDestinationOffsets);
  const Outcome outcome = harness().Move(test);
  EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kNone);
  EXPECT_EQ(outcome.outputs[0], AsBytes(IntervalMoveExample::kMoved));
}

TEST_F(Published, LoadBalancingSearch) {
  const Outcome outcome = harness().LoadBalance(AsVector(LoadBalanceExample::kCounts));
  EXPECT_EQ(outcome.outputs[0], IndexArray(AsVector(LoadBalanceExample::kObjects), 4));
}

TEST_F(Published, LoadBalancingSearchOfFortyObjects) {
  const std::vector<int64_t> counts = AsVector(FortyObjectsExample::kCounts);
  const Outcome outcome = harness().LoadBalance(counts);
  std::vector<int64_t> objects, ranks;
  for (size_t object = 0; object < counts.size(); ++object) {
    for (int64_t rank = 0; rank < counts[object]; ++rank) {
      EXPECT_EQ(FortyObjectsExample::kStarts[object] + rank, static_cast<int64_t>(objects.size()));
      objects.push_back(static_cast<int64_t>(object));
      ranks.push_back(rank);
    }
  }
  EXPECT_EQ(outcome.outputs[0], IndexArray(objects, 4));
  EXPECT_EQ(outcome.outputs[1], IndexArray(ranks, 4));
}

}  // namespace
}  // namespace corank::testing
