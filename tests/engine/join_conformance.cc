// Join: every kind and type, compared with a map from keys to the rows of the right.
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/join.h"
#include "kernels/cuda/join/join_tuning.h"
#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr JoinKind kAllKinds[] = {JoinKind::kInner, JoinKind::kLeft, JoinKind::kRight,
                                  JoinKind::kFull,  JoinKind::kSemi, JoinKind::kAnti};

class Join : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  static Bytes Keys(Distribution distribution, int64_t count, uint64_t seed) {
    return MakeKeys(GetParam(), distribution, count, seed);
  }
  static Bytes Sorted(const Bytes& keys) {
    return Gather(keys, KeyBytes(GetParam()), StableOrder(GetParam(), Order::kAscending, keys));
  }
  // Keys of which many have partners on both sides, whatever the type: some of the first ones, in another order, and
  // others.
  static Bytes Mixed(const Bytes& first, Distribution distribution, int64_t count, uint64_t seed) {
    Bytes keys = Keys(distribution, count, seed);
    const int64_t width = KeyBytes(GetParam()), there = static_cast<int64_t>(first.size()) / width;
    Random random(seed);
    for (int64_t i = 0; i < count && there > 0; ++i) {
      if (random.Next() % 3 == 0) continue;
      const auto from = first.begin() + static_cast<int64_t>(random.Next() % static_cast<uint64_t>(there)) * width;
      std::copy(from, from + width, keys.begin() + i * width);
    }
    return keys;
  }

  static JoinCase CaseOf(Bytes left, Bytes right) {
    JoinCase test;
    test.type = GetParam();
    test.left = std::move(left);
    test.right = std::move(right);
    return test;
  }

  // Runs the case with one kind: with exact room, with more, and counting only.
  void Check(JoinCase test) {
    SCOPED_TRACE(::testing::Message() << "kind=" << static_cast<int>(test.kind));
    const auto expected = JoinRows(test.kind, test.type, test.left, test.right);
    const auto rows = static_cast<int64_t>(expected.size());
    std::vector<int64_t> left, right;
    for (const auto& [a, b] : expected) {
      left.push_back(a);
      right.push_back(b);
    }
    for (const int64_t more : {0, 1000}) {
      test.max_rows = rows + more;
      const Outcome outcome = harness().Join(test);
      ASSERT_EQ(outcome.join.unsorted, -1);
      ASSERT_EQ(outcome.join.rows, rows);
      EXPECT_TRUE(outcome.outputs[0] == IndexArray(left, 4)) << "left";
      if (IsLeftOnly(test.kind)) continue;
      EXPECT_TRUE(outcome.outputs[1] == IndexArray(right, 4)) << "right";
    }
    test.count_only = true;
    EXPECT_EQ(harness().Join(test).join.rows, rows);
  }
  void CheckAll(JoinCase test) {
    for (const JoinKind kind : kAllKinds) {
      test.kind = kind;
      Check(test);
      if (HasFailure()) return;
    }
  }
};

// Around the tiles and pieces of both engines.
constexpr int64_t kTile = cuda::JoinTuning::kTile;
constexpr int64_t kJoinSizes[] = {
    0, 1, 2, 33, cpu::kJoinBatch, kTile - 1, kTile, kTile + 1, cpu::kJoinPiece, cpu::kJoinPiece + 1};

TEST_P(Join, AgreesWithAMapOfTheRightRows) {
  uint64_t seed = 0;
  for (const int64_t left : kJoinSizes) {
    for (const int64_t right : kJoinSizes) {
      // Keys of one byte have many partners each.
      if (KeyBytes(GetParam()) == 1 && left * right > 5'000'000) continue;
      for (const Distribution distribution : {Distribution::kUniform, Distribution::kReversed}) {
        if (++seed % 3 != 0 && left + right > 100) continue;
        SCOPED_TRACE(::testing::Message() << "left=" << left << " right=" << right << " "
                                          << DistributionName(distribution) << " seed=" << seed);
        JoinCase test = CaseOf(Keys(distribution, left, seed), {});
        test.right = Mixed(test.left, distribution, right, seed + 1000);
        test.kind = kAllKinds[seed / 3 % std::size(kAllKinds)];
        if (left + right <= 100) {
          CheckAll(test);
        } else {
          Check(test);
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(Join, PairsAllPartnersOfKeysThatCrowd) {
  for (const Distribution distribution : {Distribution::kAllEqual, Distribution::kSixteenDistinct, Distribution::kZipf,
                                          Distribution::kSixteenBits, Distribution::kSpecialFloats}) {
    for (const auto& [left, right] :
         std::vector<std::pair<int64_t, int64_t>>{{3, 20000}, {20000, 3}, {300, 200}, {33, 2049}}) {
      SCOPED_TRACE(::testing::Message() << "left=" << left << " right=" << right << " "
                                        << DistributionName(distribution));
      CheckAll(CaseOf(Keys(distribution, left, 1), Keys(distribution, right, 2)));
      if (HasFailure()) return;
    }
  }
}

// Keys next to each other and one far away: all but that one are in the first bucket.
TEST_P(Join, FindsPartnersInABucketOfAnyLength) {
  const auto width = static_cast<size_t>(KeyBytes(GetParam()));
  for (const int64_t count :
       {int64_t{1}, cpu::kJoinScan - 1, cpu::kJoinScan, cpu::kJoinScan + 1, cpu::kJoinBatch + 1}) {
    SCOPED_TRACE(::testing::Message() << "count=" << count);
    const auto append = [&](Bytes& keys, int64_t key) {
      keys.push_back(static_cast<uint8_t>(key));
      keys.resize(keys.size() + width - 1);
    };
    JoinCase test = CaseOf({}, {});
    for (int64_t i = 0; i < count; ++i) append(test.right, (count - i) / 3 * 2);  // each even number up to three times
    for (int64_t i = -1; i <= count; ++i) append(test.left, i);                   // odd ones, too
    for (Bytes* const keys : {&test.left, &test.right}) {
      append(*keys, 0);
      keys->back() = 0x70;
    }
    CheckAll(test);
    if (HasFailure()) return;
  }
}

TEST_P(Join, TakesASortedRightAsItIs) {
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kZipf, Distribution::kSpecialFloats}) {
    SCOPED_TRACE(DistributionName(distribution));
    const bool crowds = KeyBytes(GetParam()) == 1 || distribution != Distribution::kUniform;
    const int64_t count = crowds ? 500 : 10007;
    JoinCase test = CaseOf(Keys(distribution, count, 3), {});
    test.right = Sorted(Mixed(test.left, distribution, count - 7, 4));
    test.right_sorted = true;
    CheckAll(test);
    if (HasFailure()) return;
  }
}

TEST_P(Join, ReportsTheFirstUnsortedKey) {
  for (const JoinKind kind : kAllKinds) {
    JoinCase test = CaseOf(Keys(Distribution::kUniform, 5003, 5), Sorted(Keys(Distribution::kUniform, 20011, 6)));
    test.kind = kind;
    test.right_sorted = true;
    test.max_rows = 30000;
    const int64_t width = KeyBytes(test.type);
    for (const int64_t at : {20010, 10007, 4000}) {
      std::swap_ranges(test.right.begin(), test.right.begin() + width, test.right.begin() + at * width);
      EXPECT_EQ(harness().Join(test).join.unsorted, FirstUnsorted(test.type, Order::kAscending, test.right).value());
    }
    // The guards of the harness see a write out of bounds.
    test.right = Keys(Distribution::kUniform, 20011, 7);
    EXPECT_EQ(harness().Join(test).join.unsorted, FirstUnsorted(test.type, Order::kAscending, test.right).value());
  }
}

// The number is right where there is no room, and nothing is written behind the room.
TEST_P(Join, NamesTheRowsThatItHasNoRoomFor) {
  for (const JoinKind kind : kAllKinds) {
    JoinCase test = CaseOf(Keys(Distribution::kSixteenDistinct, 1000, 8), {});
    test.right = Mixed(test.left, Distribution::kUniform, 800, 9);
    test.kind = kind;
    const auto rows = static_cast<int64_t>(JoinRows(kind, test.type, test.left, test.right).size());
    for (const int64_t room : {int64_t{0}, int64_t{1}, rows / 2, rows - 1}) {
      if (room < 0 || room >= rows) continue;
      test.max_rows = room;
      EXPECT_EQ(harness().Join(test).join.rows, rows) << "kind=" << static_cast<int>(kind) << " room=" << room;
    }
  }
}

// 2^36 rows: more than 32 bits count, and more than any machine would write.
TEST_P(Join, CountsRowsThatNobodyCouldWrite) {
  constexpr int64_t kSide = int64_t{1} << 18;
  const Bytes side(static_cast<size_t>(kSide * KeyBytes(GetParam())), uint8_t{0});
  JoinCase test = CaseOf(side, side);
  test.count_only = true;
  EXPECT_EQ(harness().Join(test).join.rows, kSide * kSide);
  test.count_only = false;
  test.max_rows = 100;
  EXPECT_EQ(harness().Join(test).join.rows, kSide * kSide);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Join, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
