// Search: every type, order and bound, compared with std::lower_bound and std::upper_bound on the keys' real values.
#include <algorithm>
#include <cstring>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

class Search : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  SearchCase Make(int64_t haystack, int64_t needles, Order order, Distribution distribution, uint64_t seed) {
    SearchCase test;
    test.type = GetParam();
    test.order = order;
    const Bytes keys = MakeKeys(test.type, distribution, haystack, seed);
    test.haystack = Gather(keys, KeyBytes(test.type), StableOrder(test.type, order, keys));
    test.needles = MakeKeys(test.type, distribution, needles, seed);  // the same seed: many needles are found
    return test;
  }
};

TEST_P(Search, FindsBothBoundsInBothOrders) {
  uint64_t seed = 1;
  for (int64_t haystack : kSizes) {
    for (int64_t needles : {0, 1, 5000}) {
      for (Distribution distribution : {Distribution::kUniform, Distribution::kZipf, Distribution::kSpecialFloats}) {
        ++seed;
        SearchCase test = Make(haystack, needles, kBothOrders[seed % 2], distribution, seed);
        SCOPED_TRACE(::testing::Message() << "haystack=" << haystack << " needles=" << needles << " seed=" << seed);
        for (SearchBound bound : {SearchBound::kLower, SearchBound::kUpper}) {
          test.bound = bound;
          const Outcome outcome = harness().Search(test);
          EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kNone);
          EXPECT_TRUE(outcome.outputs[0] ==
                      IndexArray(Bounds(test.type, test.order, test.haystack, test.needles, bound), 4));
        }
      }
    }
  }
}

TEST_P(Search, ReportsTheFirstUnsortedIndex) {
  for (Order order : kBothOrders) {
    SearchCase test = Make(100003, 10, order, Distribution::kUniform, 3);
    for (int64_t at : {99999, 4097, 2, 1}) {
      // Moves the greatest key to the front of a tail, so that the next key is out of order.
      std::swap_ranges(test.haystack.begin(), test.haystack.begin() + KeyBytes(test.type),
                       test.haystack.begin() + at * KeyBytes(test.type));
      const std::optional<int64_t> expected = FirstUnsorted(test.type, order, test.haystack);
      ASSERT_TRUE(expected.has_value());
      const Outcome outcome = harness().Search(test);
      EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kUnsorted);
      EXPECT_EQ(outcome.report.input, 0);
      EXPECT_EQ(outcome.report.index, *expected);
    }
  }
}

TEST_P(Search, UnsortedHaystackThatIsNotCheckedGivesPositionsInRange) {
  SearchCase test = Make(0, 2000, Order::kAscending, Distribution::kUniform, 4);
  test.haystack = MakeKeys(test.type, Distribution::kUniform, 10007, 5);
  test.check_sorted = false;
  const Outcome outcome = harness().Search(test);
  EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kNone);
  for (size_t i = 0; i < outcome.outputs[0].size(); i += 4) {
    uint32_t position;
    std::memcpy(&position, &outcome.outputs[0][i], 4);
    EXPECT_LE(position, 10007U);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Search, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
