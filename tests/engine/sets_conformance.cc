// CombineSets: every type, order, operation and kind of keys, compared with the set algorithms of the standard library.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/cuda/sets/set_tuning.h"
#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr SetOperation kAllOperations[] = {SetOperation::kUnion, SetOperation::kIntersection, SetOperation::kDifference,
                                           SetOperation::kSymmetricDifference};

class CombineSets : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  static int64_t CountOf(const SetCase& test, const Bytes& keys) {
    return static_cast<int64_t>(keys.size()) / KeyBytes(test.type);
  }

  Bytes Sorted(Order order, Distribution distribution, int64_t count, uint64_t seed) {
    const Bytes keys = MakeKeys(GetParam(), distribution, count, seed);
    return Gather(keys, KeyBytes(GetParam()), StableOrder(GetParam(), order, keys));
  }

  // Values that name the side and the position.
  static void AddValues(SetCase& test, int value_bytes) {
    test.value_bytes = value_bytes;
    uint32_t next = 1;
    for (auto [keys, values] : {std::pair(&test.left, &test.left_values), std::pair(&test.right, &test.right_values)}) {
      values->resize(static_cast<size_t>(CountOf(test, *keys) * value_bytes));
      for (uint8_t& byte : *values) byte = static_cast<uint8_t>((next++ * 2654435761U) >> 24);
    }
  }

  // Runs the case with every operation, and compares the results.
  void CheckAll(SetCase test) {
    for (const SetOperation operation : kAllOperations) {
      test.operation = operation;
      SCOPED_TRACE(::testing::Message() << "operation=" << static_cast<int>(operation));
      const Outcome outcome = harness().CombineSets(test);
      ASSERT_EQ(outcome.set.unsorted, -1);
      const std::vector<int64_t> expected = SetOrder(operation, test.type, test.order, test.left, test.right);
      ASSERT_EQ(outcome.set.count, static_cast<int64_t>(expected.size()));
      Bytes keys = test.left, values = test.left_values;
      keys.insert(keys.end(), test.right.begin(), test.right.end());
      values.insert(values.end(), test.right_values.begin(), test.right_values.end());
      const Bytes expected_keys = Gather(keys, KeyBytes(test.type), expected);
      EXPECT_TRUE(outcome.outputs[0] == (test.want_keys ? expected_keys : Bytes())) << "keys";
      EXPECT_TRUE(outcome.outputs[1] == Gather(values, test.value_bytes, expected)) << "values";
      if (HasFailure()) return;
    }
  }
};

// Around the tiles of both engines.
constexpr int64_t kTileOfWide = cuda::SetTuning<8>::kTile, kTile = cuda::SetTuning<4>::kTile;
constexpr int64_t kSetSizes[] = {
    0, 1, 2, 15, 16, kTileOfWide - 1, kTileOfWide, kTileOfWide + 1, kTile - 1, kTile, kTile + 1, 40000, 65536, 100003};

TEST_P(CombineSets, AgreesWithTheStandardLibrary) {
  uint64_t seed = 0;
  for (const int64_t left : kSetSizes) {
    for (const int64_t right : kSetSizes) {
      if (left + right > 110000) continue;
      for (const Distribution distribution :
           {Distribution::kUniform, Distribution::kZipf, Distribution::kSixteenBits, Distribution::kSpecialFloats}) {
        if (++seed % 3 != 0 && left + right > 100) continue;
        SCOPED_TRACE(::testing::Message() << "left=" << left << " right=" << right << " "
                                          << DistributionName(distribution) << " seed=" << seed);
        SetCase test;
        test.type = GetParam();
        test.order = kBothOrders[seed % 2];
        test.left = Sorted(test.order, distribution, left, seed);
        test.right = Sorted(test.order, distribution, right, seed + 1000);
        CheckAll(test);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(CombineSets, PairsPartnersInRunsOfEveryLength) {
  for (const int64_t count : {5000, 70000}) {
    for (const Distribution distribution : {Distribution::kAllEqual, Distribution::kSixteenDistinct}) {
      for (const int64_t right : {count, count / 2 + 1, int64_t{3}}) {
        SCOPED_TRACE(::testing::Message()
                     << "left=" << count << " right=" << right << " " << DistributionName(distribution));
        SetCase test;
        test.type = GetParam();
        test.left = Sorted(test.order, distribution, count, 1);
        test.right = Sorted(test.order, distribution, right, 2);
        AddValues(test, 4);
        CheckAll(test);
        std::swap(test.left, test.right);
        std::swap(test.left_values, test.right_values);
        CheckAll(test);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(CombineSets, TakesValuesOfEveryWidthFromTheirSide) {
  for (const int value_bytes : {1, 2, 3, 4, 8, 12, 16, 48}) {
    for (const bool want_keys : {true, false}) {
      SCOPED_TRACE(::testing::Message() << "value_bytes=" << value_bytes << " want_keys=" << want_keys);
      SetCase test;
      test.type = GetParam();
      test.want_keys = want_keys;
      test.left = Sorted(test.order, Distribution::kZipf, 5003, 3);
      test.right = Sorted(test.order, Distribution::kZipf, 4001, 4);
      AddValues(test, value_bytes);
      CheckAll(test);
      if (HasFailure()) return;
    }
  }
}

TEST_P(CombineSets, CountsWithoutOutputs) {
  SetCase test;
  test.type = GetParam();
  test.want_keys = false;
  test.left = Sorted(test.order, Distribution::kZipf, 70001, 5);
  test.right = Sorted(test.order, Distribution::kZipf, 9000, 6);
  CheckAll(test);
}

TEST_P(CombineSets, ReportsTheFirstUnsortedKey) {
  for (const Order order : kBothOrders) {
    for (const SetOperation operation : kAllOperations) {
      SetCase sorted;
      sorted.type = GetParam();
      sorted.order = order;
      sorted.operation = operation;
      sorted.left = Sorted(order, Distribution::kUniform, 50003, 7);
      sorted.right = Sorted(order, Distribution::kUniform, 20011, 8);
      const auto swap_first = [&](Bytes& keys, int64_t at) {
        std::swap_ranges(keys.begin(), keys.begin() + KeyBytes(sorted.type), keys.begin() + at * KeyBytes(sorted.type));
      };
      for (const int64_t at : {20010, 10007, 4000}) {
        SetCase test = sorted;
        swap_first(test.right, at);
        const Outcome right = harness().CombineSets(test);
        EXPECT_EQ(right.set.input, 1);
        EXPECT_EQ(right.set.unsorted, FirstUnsorted(test.type, order, test.right).value());
        swap_first(test.left, at + 7);
        const Outcome both = harness().CombineSets(test);
        EXPECT_EQ(both.set.input, 0);
        EXPECT_EQ(both.set.unsorted, FirstUnsorted(test.type, order, test.left).value());
      }
    }
  }
}

// Keys in no order lead to cuts that go backwards. The guards of the harness see a write out of bounds.
TEST_P(CombineSets, StaysInBoundsWhateverTheKeysAre) {
  for (const SetOperation operation : kAllOperations) {
    SetCase test;
    test.type = GetParam();
    test.operation = operation;
    test.left = MakeKeys(test.type, Distribution::kUniform, 40009, 9);
    test.right = MakeKeys(test.type, Distribution::kUniform, 30011, 10);
    AddValues(test, 8);
    const Outcome outcome = harness().CombineSets(test);
    EXPECT_EQ(outcome.set.input, 0);
    EXPECT_EQ(outcome.set.unsorted, FirstUnsorted(test.type, test.order, test.left).value());
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, CombineSets, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
