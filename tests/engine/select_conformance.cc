// Select: every predicate, type and width, compared with a loop over the elements.
#include <algorithm>
#include <numeric>

#include "kernels/cpu/select.h"
#include "kernels/cuda/group/group_tuning.h"
#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

constexpr SelectBy kAllPredicates[] = {SelectBy::kFlags, SelectBy::kBitmap, SelectBy::kPositions};
constexpr Comparison kAllComparisons[] = {Comparison::kLess,    Comparison::kEqual,    Comparison::kLessOrEqual,
                                          Comparison::kGreater, Comparison::kNotEqual, Comparison::kGreaterOrEqual};

// Around the tiles and pieces of both engines, and the words of a bitmap.
constexpr int64_t kTileOfWide = cuda::CompactTile(8), kTile = cuda::CompactTile(4);
constexpr int64_t kSelectSizes[] = {0,
                                    1,
                                    7,
                                    8,
                                    9,
                                    31,
                                    32,
                                    33,
                                    kTileOfWide - 1,
                                    kTileOfWide,
                                    kTileOfWide + 1,
                                    kTile - 1,
                                    kTile,
                                    kTile + 1,
                                    cpu::kSelectPiece - 1,
                                    cpu::kSelectPiece,
                                    cpu::kSelectPiece + 1,
                                    200003};

class Select : public OnEngineUnderTest<::testing::Test> {
 protected:
  // Makes the predicate hold for these elements.
  static void SetPredicate(SelectCase& test, const std::vector<bool>& holds) {
    test.predicate.clear();
    test.positions.clear();
    if (test.by == SelectBy::kFlags) {
      for (size_t i = 0; i < holds.size(); ++i) test.predicate.push_back(holds[i] ? static_cast<uint8_t>(i | 4) : 0);
    } else if (test.by == SelectBy::kBitmap) {
      test.predicate = Bitmap(holds, true);
    } else {
      // From the end, and some twice.
      for (size_t i = holds.size(); i-- > 0;) {
        if (holds[i]) test.positions.insert(test.positions.end(), i % 5 == 0 ? 2 : 1, static_cast<int64_t>(i));
      }
    }
  }

  // Runs the case with and without a partition and a negation, and compares the results.
  void Check(SelectCase test, const std::vector<bool>& holds) {
    for (const bool negate : {false, true}) {
      for (const bool partition : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "negate=" << negate << " partition=" << partition);
        test.negate = negate;
        test.partition = partition;
        std::vector<int64_t> rows, others;
        for (size_t i = 0; i < holds.size(); ++i) {
          (holds[i] != negate ? rows : others).push_back(static_cast<int64_t>(i));
        }
        const auto selected = static_cast<int64_t>(rows.size());
        if (partition) rows.insert(rows.end(), others.begin(), others.end());
        const Outcome outcome = harness().Select(test);
        ASSERT_EQ(outcome.select.out_of_range, -1);
        ASSERT_EQ(outcome.select.selected, selected);
        const Bytes elements = Gather(test.elements, test.element_bytes, rows);
        EXPECT_TRUE(outcome.outputs[0] == (test.want_elements ? elements : Bytes())) << "elements";
        EXPECT_TRUE(outcome.outputs[1] == Gather(test.values, test.value_bytes, rows)) << "values";
        const Bytes indices = IndexArray(rows, IndexBytes(static_cast<int64_t>(holds.size()) - 1));
        EXPECT_TRUE(outcome.outputs[2] == (test.want_indices ? indices : Bytes())) << "indices";
        if (HasFailure()) return;
      }
    }
  }

  // Whether each element is wanted: all, none, or a share of them.
  static std::vector<bool> Share(int64_t count, double share, uint64_t seed) {
    const Bytes draws = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, seed);
    std::vector<bool> holds;
    for (int64_t i = 0; i < count; ++i) {
      uint32_t draw = 0;
      std::copy_n(draws.begin() + 4 * i, 4, reinterpret_cast<uint8_t*>(&draw));
      holds.push_back(draw < share * 4294967296.0);
    }
    return holds;
  }
};

TEST_F(Select, TakesElementsByFlagsBitsAndPositions) {
  uint64_t seed = 0;
  for (const int64_t count : kSelectSizes) {
    for (const SelectBy by : kAllPredicates) {
      for (const double share : {0.0, 0.001, 0.5, 1.0}) {
        SCOPED_TRACE(::testing::Message() << "count=" << count << " by=" << static_cast<int>(by) << " share=" << share
                                          << " seed=" << ++seed);
        SelectCase test;
        test.by = by;
        test.elements = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, seed);
        test.want_indices = true;
        const std::vector<bool> holds = Share(count, share, seed + 1000);
        SetPredicate(test, holds);
        Check(test, holds);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(Select, MovesElementsAndValuesOfEveryWidth) {
  constexpr int64_t kCount = 20011;
  const std::vector<bool> holds = Share(kCount, 0.3, 1);
  for (const int element_bytes : {1, 2, 3, 4, 6, 8, 12, 16, 48, 256}) {
    for (const int value_bytes : {0, 1, 8, 20, 32}) {
      SCOPED_TRACE(::testing::Message() << "element_bytes=" << element_bytes << " value_bytes=" << value_bytes);
      SelectCase test;
      test.element_bytes = element_bytes;
      test.elements = MakeBytes(kCount * element_bytes, 2);
      test.value_bytes = value_bytes;
      test.values = MakeBytes(kCount * value_bytes, 3);
      test.want_elements = value_bytes != 8;
      SetPredicate(test, holds);
      Check(test, holds);
      if (HasFailure()) return;
    }
  }
}

TEST_F(Select, CountsWithoutOutputs) {
  for (const SelectBy by : kAllPredicates) {
    SelectCase test;
    test.by = by;
    test.want_elements = false;
    test.elements = MakeBytes(4 * int64_t{70001}, 4);
    const std::vector<bool> holds = Share(70001, 0.4, 5);
    SetPredicate(test, holds);
    Check(test, holds);
  }
}

TEST_F(Select, IgnoresTheBitsBehindTheLastElement) {
  SelectCase test;
  test.by = SelectBy::kBitmap;
  test.elements = MakeBytes(4 * 13, 4);
  test.predicate = {0, 0xE1};
  std::vector<bool> holds(13);
  holds[8] = true;
  Check(test, holds);
}

TEST_F(Select, ReportsTheFirstPositionThatNoElementHas) {
  for (const int64_t count : {0, 5, 40000}) {
    for (const int64_t outside : {int64_t{-1}, count, INT64_MIN, INT64_MAX}) {
      for (const int64_t at : {0, 3, 30000}) {
        if (count == 0 && at > 0) continue;
        SelectCase test;
        test.by = SelectBy::kPositions;
        test.negate = true;
        test.elements = MakeBytes(4 * count, 6);
        test.positions.assign(static_cast<size_t>(at), 4);
        test.positions.insert(test.positions.end(), {outside, count > 0 ? 0 : -3, outside, -9});
        const Outcome outcome = harness().Select(test);
        EXPECT_EQ(outcome.select.out_of_range, at) << "count=" << count << " outside=" << outside;
      }
    }
  }
}

class SelectByThreshold : public Select, public ::testing::WithParamInterface<KeyType> {};

TEST_P(SelectByThreshold, ComparesAsSortOrders) {
  uint64_t seed = 0;
  for (const int64_t count : kSelectSizes) {
    for (const Distribution distribution :
         {Distribution::kUniform, Distribution::kSixteenDistinct, Distribution::kSpecialFloats}) {
      ++seed;
      SelectCase test;
      test.by = SelectBy::kThreshold;
      test.type = GetParam();
      test.element_bytes = KeyBytes(test.type);
      test.elements = MakeKeys(test.type, distribution, count, seed);
      test.want_indices = seed % 2 == 0;
      test.value_bytes = seed % 3 == 0 ? 4 : 0;
      test.values = MakeBytes(count * test.value_bytes, seed);
      // One of the keys, so that some are equal to it.
      const Bytes thresholds = MakeKeys(test.type, distribution, count + 1, seed);
      test.threshold.assign(thresholds.begin() + count / 2 * test.element_bytes,
                            thresholds.begin() + (count / 2 + 1) * test.element_bytes);
      for (const Comparison comparison : kAllComparisons) {
        if (count > 10000 && static_cast<int>(comparison) % 3 != static_cast<int>(seed % 3)) continue;
        SCOPED_TRACE(::testing::Message() << "count=" << count << " " << DistributionName(distribution)
                                          << " comparison=" << static_cast<int>(comparison) << " seed=" << seed);
        test.comparison = comparison;
        Check(test, CompareAll(comparison, test.type, test.elements, test.threshold));
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, SelectByThreshold, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
