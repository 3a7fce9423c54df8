// Sort with segments and a limit: the first elements of each segment, compared with std::stable_sort of each.
#include <algorithm>
#include <limits>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

using Offsets = std::vector<int64_t>;

class SortFirstOfSegments : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  // Keys with and without indices, values that move and that are gathered, and indices alone.
  void Check(Distribution distribution, Order order, const Offsets& offsets, const std::vector<int64_t>& limits,
             SortAlgorithm algorithm = SortAlgorithm::kAuto) {
    SortCase test;
    test.type = GetParam();
    test.order = order;
    test.algorithm = algorithm;
    test.keys = MakeKeys(test.type, distribution, offsets.back(), 17);
    test.segment_offsets = offsets;
    const std::vector<int64_t> sorted = StableOrder(test.type, order, test.keys, offsets);
    for (int64_t limit : limits) {
      test.limit = limit;
      const std::vector<int64_t> wanted = FirstOfOrder(sorted, limit, offsets);
      for (const Outputs& outputs : kOutputs) CheckOnce(test, outputs, wanted);
    }
  }

 private:
  struct Outputs {
    bool keys, indices;
    int value_bytes;
  };
  static constexpr Outputs kOutputs[] = {{true, false, 0}, {true, true, 0},  {false, true, 0},
                                         {true, false, 3}, {true, false, 4}, {true, false, 8}};

  void CheckOnce(SortCase test, const Outputs& outputs, const std::vector<int64_t>& wanted) {
    if (!RunsNextCase()) return;
    test.want_keys = outputs.keys;
    test.want_indices = outputs.indices;
    test.value_bytes = outputs.value_bytes;
    const int64_t count = test.segment_offsets.back();
    if (test.value_bytes > 0) test.values = MakeBytes(count * test.value_bytes, 7);
    SCOPED_TRACE(::testing::Message() << KeyTypeName(test.type) << (test.order == Order::kAscending ? " asc" : " desc")
                                      << " algorithm=" << SortAlgorithmName(test.algorithm) << " n=" << count
                                      << " segments=" << test.segment_offsets.size() - 1 << " limit=" << test.limit
                                      << " keys=" << test.want_keys << " indices=" << test.want_indices
                                      << " value_bytes=" << test.value_bytes);
    const Outcome outcome = harness().Sort(test);
    EXPECT_EQ(outcome.report.results, static_cast<int64_t>(wanted.size()));
    EXPECT_NE(outcome.report.sort_algorithm, SortAlgorithm::kAuto);
    ExpectRows(test, outcome, wanted);
  }
};

// Segments of 0 to `longest` keys, of which some others are empty, too.
Offsets RandomSegments(int64_t count, int64_t longest, uint64_t seed) {
  Random random(seed);
  Offsets offsets = {0, 0};
  while (offsets.back() < count) {
    offsets.push_back(std::min(count, offsets.back() + random.Below(longest + 1)));
    for (int64_t empty = random.OneIn(5) ? random.Below(70) : 0; empty > 0; --empty) offsets.push_back(offsets.back());
  }
  offsets.push_back(count);
  return offsets;
}

TEST_P(SortFirstOfSegments, AnswersAsStableSortOfEach) {
  uint64_t seed = 1;
  for (int64_t count : {int64_t{1}, int64_t{31}, int64_t{32}, int64_t{33}, int64_t{3000}, int64_t{100003}}) {
    for (int64_t longest : {int64_t{3}, int64_t{200}, int64_t{70000}}) {
      const Distribution distribution = seed % 2 == 0 ? Distribution::kUniform : Distribution::kSpecialFloats;
      SCOPED_TRACE(::testing::Message() << "longest=" << longest << " seed=" << seed);
      Check(distribution, kBothOrders[seed % 2], RandomSegments(count, longest, seed),
            {0, 1, 5, longest - 1, longest, count});
      ++seed;
    }
  }
}

TEST_P(SortFirstOfSegments, AnswersTheSameByEveryAlgorithm) {
  for (SortAlgorithm algorithm : kSortAlgorithms) {
    Check(Distribution::kZipf, Order::kDescending, RandomSegments(20011, 3000, 5), {7, 1000}, algorithm);
  }
}

TEST_P(SortFirstOfSegments, KeepsEqualKeysInInputOrder) {
  Check(Distribution::kAllEqual, Order::kDescending, RandomSegments(9000, 700, 6), {1, 100});
  Check(Distribution::kSixteenDistinct, Order::kAscending, RandomSegments(9000, 700, 7), {1, 100});
}

TEST_P(SortFirstOfSegments, TakesManyTinySegments) {
  Offsets offsets = {0};
  for (int64_t segment = 0; segment < 100000; ++segment) offsets.push_back(offsets.back() + segment % 4);
  Check(Distribution::kUniform, Order::kAscending, offsets, {1, 2});
}

TEST_P(SortFirstOfSegments, TakesAGiantAmongTinySegments) {
  Offsets offsets = {0, 2, 2, 5};
  offsets.push_back(offsets.back() + (int64_t{1} << 18) + 1);
  for (int64_t segment = 0; segment < 100; ++segment) offsets.push_back(offsets.back() + segment % 40);
  Check(Distribution::kUniform, Order::kDescending, offsets, {1, 33, int64_t{1} << 17, int64_t{1} << 18});
}

TEST_P(SortFirstOfSegments, OneSegmentIsTheWholeArray) {
  Check(Distribution::kSpecialFloats, Order::kAscending, {0, 5000}, {0, 1, 4999, 5000, 6000});
  Check(Distribution::kSpecialFloats, Order::kAscending, {0, 0}, {0, 1});
  Check(Distribution::kSpecialFloats, Order::kAscending, {0}, {0, 1});
}

TEST_P(SortFirstOfSegments, SegmentsMayAllBeEmptyButOne) {
  Offsets offsets(5000, 0);
  offsets.resize(9000, 40);
  Check(Distribution::kUniform, Order::kAscending, offsets, {0, 1, 39, 40});
}

TEST_P(SortFirstOfSegments, AnyLimitFits) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Check(Distribution::kUniform, Order::kAscending, {0, 3, 3, 1000}, {999, 1000, kMost - 1, kMost});
}

INSTANTIATE_TEST_SUITE_P(AllTypes, SortFirstOfSegments, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
