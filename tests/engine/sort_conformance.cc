// Sort: every type, order, algorithm and distribution, compared with std::stable_sort on the keys' real values.
#include <algorithm>
#include <iterator>
#include <limits>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

using Report = OperatorReport;

class Sort : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  // Runs the case and compares all requested outputs with `order`, the expected permutation.
  void Check(const SortCase& test, const std::vector<int64_t>& order) {
    if (!RunsNextCase()) return;
    SCOPED_TRACE(::testing::Message() << KeyTypeName(test.type) << (test.order == Order::kAscending ? " asc" : " desc")
                                      << " algorithm=" << SortAlgorithmName(test.algorithm) << " n=" << order.size()
                                      << " value_bytes=" << test.value_bytes << " indices=" << test.want_indices
                                      << " limit=" << test.limit << " offset=" << test.offset
                                      << " segments=" << test.segment_offsets.size());
    const Outcome outcome = harness().Sort(test);
    const std::vector<int64_t> wanted = FirstOfOrder(order, test.limit, test.segment_offsets, test.offset);
    EXPECT_EQ(outcome.report.fault, Report::Fault::kNone);
    // Not every algorithm sorts segments on every engine. The report then names the one that did.
    if (test.algorithm == SortAlgorithm::kAuto || !test.segment_offsets.empty()) {
      EXPECT_NE(outcome.report.sort_algorithm, SortAlgorithm::kAuto);
    } else {
      EXPECT_EQ(outcome.report.sort_algorithm, test.algorithm);
    }
    ExpectRows(test, outcome, wanted);
  }

  SortCase Make(Distribution distribution, int64_t count, Order order, uint64_t seed) {
    SortCase test;
    test.type = GetParam();
    test.order = order;
    test.keys = MakeKeys(test.type, distribution, count, seed);
    return test;
  }

  static void AddValues(SortCase& test, int value_bytes) {
    test.value_bytes = value_bytes;
    test.values = MakeBytes(static_cast<int64_t>(test.keys.size()) / KeyBytes(test.type) * value_bytes, 7);
  }

  static void WantIndices(SortCase& test, bool keys_too) {
    test.want_indices = true;
    test.want_keys = keys_too;
  }
};

TEST_P(Sort, AnswersAsStableSortForEveryDistribution) {
  uint64_t seed = 1;
  for (int64_t count : kSizes) {
    for (Distribution distribution : kAllDistributions) {
      const Order order = kBothOrders[++seed % 2];
      SCOPED_TRACE(::testing::Message() << DistributionName(distribution) << " seed=" << seed);
      const SortCase keys_only = Make(distribution, count, order, seed);
      const std::vector<int64_t> expected = StableOrder(keys_only.type, order, keys_only.keys);
      for (SortAlgorithm algorithm : kSortAlgorithms) {
        SortCase test = keys_only;
        test.algorithm = algorithm;
        Check(test, expected);
        WantIndices(test, false);
        Check(test, expected);
      }
    }
  }
}

TEST_P(Sort, KeepsEqualKeysInInputOrderInBothDirections) {
  for (Order order : kBothOrders) {
    for (Distribution distribution : {Distribution::kSixteenDistinct, Distribution::kSpecialFloats}) {
      SortCase test = Make(distribution, 5000, order, 11);
      const std::vector<int64_t> expected = StableOrder(test.type, order, test.keys);
      for (SortAlgorithm algorithm : kSortAlgorithms) {
        test.algorithm = algorithm;
        test.want_indices = false;
        Check(test, expected);
        WantIndices(test, true);
        Check(test, expected);
      }
    }
  }
}

TEST_P(Sort, MovesValuesOfEveryWidthWithTheirKeys) {
  uint64_t seed = 20;
  for (int value_bytes : kValueWidths) {
    for (int64_t count : {int64_t{1}, int64_t{4097}, int64_t{20011}}) {
      const Order order = kBothOrders[++seed % 2];
      SortCase test = Make(Distribution::kZipf, count, order, seed);
      AddValues(test, value_bytes);
      const std::vector<int64_t> expected = StableOrder(test.type, order, test.keys);
      for (SortAlgorithm algorithm : kSortAlgorithms) {
        test.algorithm = algorithm;
        Check(test, expected);
      }
    }
  }
}

TEST_P(Sort, SortsEachSegmentForItself) {
  Random random(30);
  for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{3000}, int64_t{100003}}) {
    for (int64_t longest : {int64_t{3}, int64_t{200}, int64_t{70000}}) {
      const Order order = kBothOrders[random.Below(2)];
      SortCase test = Make(random.OneIn(2) ? Distribution::kUniform : Distribution::kSpecialFloats, count, order, 31);
      test.segment_offsets = {0, 0};  // begins with an empty segment
      while (test.segment_offsets.back() < count) {
        const int64_t next = test.segment_offsets.back() + random.Below(longest + 1);
        test.segment_offsets.push_back(std::min(next, count));
      }
      const std::vector<int64_t> expected = StableOrder(test.type, order, test.keys, test.segment_offsets);
      for (SortAlgorithm algorithm : kSortAlgorithms) {
        test.algorithm = algorithm;
        SortCase with_values = test;
        AddValues(with_values, 4);
        SortCase with_indices = test;
        WantIndices(with_indices, true);
        Check(test, expected);
        Check(with_values, expected);
        Check(with_indices, expected);
      }
    }
  }
}

TEST_P(Sort, LimitReturnsTheFirstOfTheWholeOrder) {
  for (int64_t count : {int64_t{0}, int64_t{100}, int64_t{100003}}) {
    for (int64_t limit : {int64_t{0}, int64_t{1}, int64_t{10}, int64_t{1000}, int64_t{99999}, int64_t{200000}}) {
      const Order order = kBothOrders[static_cast<size_t>(limit) % 2];
      SortCase test =
          Make(limit == 10 ? Distribution::kSixteenDistinct : Distribution::kSpecialFloats, count, order, 40);
      test.limit = limit;
      const std::vector<int64_t> expected = StableOrder(test.type, order, test.keys);
      for (SortAlgorithm algorithm : {SortAlgorithm::kAuto, SortAlgorithm::kMergesort, SortAlgorithm::kRadix}) {
        test.algorithm = algorithm;
        SortCase with_values = test;
        AddValues(with_values, 8);
        SortCase with_indices = test;
        WantIndices(with_indices, false);
        Check(test, expected);
        Check(with_values, expected);
        Check(with_indices, expected);
      }
    }
  }
}

// Bands around the results have enough keys from 2^14 on.
TEST_P(Sort, OffsetLeavesOutTheFirstOfTheWholeOrder) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr Distribution kDistributions[] = {Distribution::kUniform, Distribution::kSixteenDistinct,
                                             Distribution::kSpecialFloats, Distribution::kSorted,
                                             Distribution::kAllEqual};
  constexpr int64_t kLimits[] = {-1, 1, 0, 100, kMost};
  size_t round = 0;
  for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{100}, int64_t{20011}, int64_t{100003}}) {
    for (Distribution distribution : kDistributions) {
      const Order order = kBothOrders[round % 2];
      SortCase test = Make(distribution, count, order, 41);
      const std::vector<int64_t> expected = StableOrder(test.type, order, test.keys);
      for (int64_t offset : {int64_t{1}, count / 2, count - 1, count, count + 1, kMost}) {
        test.offset = std::max<int64_t>(0, offset);
        test.limit = kLimits[++round % std::size(kLimits)];
        test.algorithm = kSortAlgorithms[round / 2 % std::size(kSortAlgorithms)];
        SortCase with_values = test;
        AddValues(with_values, round % 3 == 0 ? 12 : 8);
        SortCase with_indices = test;
        WantIndices(with_indices, round % 2 == 0);
        Check(test, expected);
        Check(with_values, expected);
        Check(with_indices, expected);
      }
    }
  }
}

TEST_P(Sort, TheNthElementIsThatOfTheStableOrder) {
  constexpr int64_t kCount = 150'001;
  for (Distribution distribution : {Distribution::kUniform, Distribution::kZipf, Distribution::kSpecialFloats}) {
    SortCase test = Make(distribution, kCount, Order::kAscending, 42);
    test.limit = 1;
    WantIndices(test, true);
    const std::vector<int64_t> expected = StableOrder(test.type, test.order, test.keys);
    for (int64_t offset : {int64_t{1}, int64_t{999}, kCount / 4, kCount / 2, kCount - 1000, kCount - 1}) {
      test.offset = offset;
      Check(test, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Sort, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
