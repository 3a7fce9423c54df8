// Group: every type, order and kind of keys, compared with loops over the keys' and values' real numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

Bytes Int64s(const std::vector<int64_t>& numbers) { return IndexArray(numbers, 8); }

// The lengths of the groups that begin at `starts`.
std::vector<int64_t> Lengths(std::vector<int64_t> starts, int64_t count) {
  starts.push_back(count);
  for (size_t i = 0; i + 1 < starts.size(); ++i) starts[i] = starts[i + 1] - starts[i];
  starts.pop_back();
  return starts;
}

template <typename T>
Bytes BytesOf(const std::vector<T>& numbers) {
  const auto* begin = reinterpret_cast<const uint8_t*>(numbers.data());
  return Bytes(begin, begin + numbers.size() * sizeof(T));
}

class Group : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  static int64_t CountOf(const GroupCase& test) { return static_cast<int64_t>(test.keys.size()) / KeyBytes(test.type); }

  GroupCase Sorted(int64_t count, Order order, Distribution distribution, uint64_t seed) {
    GroupCase test;
    test.type = GetParam();
    test.order = order;
    const Bytes keys = MakeKeys(test.type, distribution, count, seed);
    test.keys = Gather(keys, KeyBytes(test.type), StableOrder(test.type, order, keys));
    return test;
  }

  // Runs the case and compares it with the loops.
  void Check(const GroupCase& test) {
    const Outcome outcome = harness().Group(test);
    ASSERT_EQ(outcome.group.unsorted, -1);
    const int64_t count = CountOf(test);
    const std::vector<int64_t> starts = GroupStarts(test.type, test.keys);
    ASSERT_EQ(outcome.group.groups, static_cast<int64_t>(starts.size()));
    std::vector<int64_t> firsts = starts;
    Bytes values = test.values;
    std::vector<bool> valid = test.valid;
    if (!test.indices.empty()) {
      for (int64_t& first : firsts) first = test.indices[static_cast<size_t>(first)];
      values = Gather(values, KeyBytes(test.value_type), test.indices);
      for (size_t i = 0; i < valid.size(); ++i) valid[i] = test.valid[static_cast<size_t>(test.indices[i])];
    }
    const Bytes keys = Gather(test.keys, KeyBytes(test.type), starts);
    EXPECT_TRUE(outcome.outputs[0] == (test.want_keys ? keys : Bytes())) << "keys";
    EXPECT_TRUE(outcome.outputs[1] == (test.want_counts ? Int64s(Lengths(starts, count)) : Bytes())) << "counts";
    EXPECT_TRUE(outcome.outputs[2] == (test.want_firsts ? IndexArray(firsts, 4) : Bytes())) << "firsts";
    if (test.values.empty()) return;
    const GroupReductions expected = ReduceGroups(test.value_type, values, starts, valid);
    EXPECT_EQ(outcome.group.overflow, expected.overflow);
    if (expected.overflow < 0) {
      EXPECT_TRUE(outcome.outputs[3] == expected.sums) << "sums";
    }
    EXPECT_TRUE(outcome.outputs[4] == expected.minima) << "minima";
    EXPECT_TRUE(outcome.outputs[5] == expected.maxima) << "maxima";
    EXPECT_TRUE(outcome.outputs[6] == expected.value_counts) << "value counts";
  }
};

// Around the tiles of both engines.
constexpr int64_t kGroupSizes[] = {0, 1, 2, 7, 8, 9, 2047, 2048, 2049, 32767, 32768, 32769, 100003};

TEST_P(Group, FindsKeysCountsAndFirstsOfSortedKeys) {
  uint64_t seed = 0;
  for (const int64_t count : kGroupSizes) {
    for (const Distribution distribution : {Distribution::kUniform, Distribution::kZipf, Distribution::kAllEqual,
                                            Distribution::kSixteenDistinct, Distribution::kSpecialFloats}) {
      ++seed;
      SCOPED_TRACE(::testing::Message() << "count=" << count << " " << DistributionName(distribution)
                                        << " seed=" << seed);
      Check(Sorted(count, kBothOrders[seed % 2], distribution, seed));
      if (HasFailure()) return;
    }
  }
}

TEST_P(Group, FindsRunsOfKeysInNoOrder) {
  for (const Distribution distribution : kAllDistributions) {
    SCOPED_TRACE(DistributionName(distribution));
    GroupCase test;
    test.type = GetParam();
    test.check_sorted = false;
    test.keys = MakeKeys(test.type, distribution, 30011, 3);
    Check(test);
  }
}

TEST_P(Group, WritesWhatIsWantedAlone) {
  for (int wanted = 0; wanted < 8; ++wanted) {
    SCOPED_TRACE(::testing::Message() << "wanted=" << wanted);
    GroupCase test = Sorted(5000, Order::kAscending, Distribution::kZipf, 9);
    test.want_keys = (wanted & 1) != 0;
    test.want_counts = (wanted & 2) != 0;
    test.want_firsts = (wanted & 4) != 0;
    Check(test);
  }
}

TEST_P(Group, RanksSortedKeys) {
  uint64_t seed = 0;
  for (const int64_t count : kGroupSizes) {
    for (const Distribution distribution : {Distribution::kUniform, Distribution::kAllEqual,
                                            Distribution::kSixteenDistinct, Distribution::kSpecialFloats}) {
      const auto method = static_cast<RankMethod>(1 + ++seed % 5);
      SCOPED_TRACE(::testing::Message() << "count=" << count << " " << DistributionName(distribution)
                                        << " method=" << static_cast<int>(method) << " seed=" << seed);
      // Twice: with the ranks in the order of the sorted keys, and in that of the keys as they were.
      const Order order = kBothOrders[seed % 2];
      GroupCase test = Sorted(count, order, distribution, seed);
      test.want_firsts = test.want_counts = false;
      test.rank_method = method;
      EXPECT_TRUE(harness().Group(test).outputs[7] == Ranks(method, test.type, order, test.keys)) << "ranks";
      const Bytes keys = MakeKeys(test.type, distribution, count, seed);
      test.indices = StableOrder(test.type, order, keys);
      EXPECT_TRUE(harness().Group(test).outputs[7] == Ranks(method, test.type, order, keys)) << "ranks by indices";
      if (HasFailure()) return;
    }
  }
}

// Segments of many lengths, and of one length that is near that of a word or tile of the kernels.
std::vector<std::vector<int64_t>> SegmentsOf(int64_t count, uint64_t seed) {
  std::vector<std::vector<int64_t>> all = {{0, count}};
  for (const int64_t longest : {1, 40, 5000, 200000}) all.push_back(CutSegments(count, longest, seed));
  for (const int64_t length : {31, 32, 33, 2047, 2048, 2049, 4096, 32768}) {
    std::vector<int64_t>& offsets = all.emplace_back(std::vector<int64_t>{0});
    while (offsets.back() < count) offsets.push_back(std::min(count, offsets.back() + length));
  }
  if (count == 0) all.push_back({0});
  return all;
}

TEST_P(Group, RanksEachSegmentByItself) {
  uint64_t seed = 0;
  for (const int64_t count : kGroupSizes) {
    for (const std::vector<int64_t>& offsets : SegmentsOf(count, static_cast<uint64_t>(count))) {
      constexpr Distribution kDistributions[] = {Distribution::kSixteenDistinct, Distribution::kUniform,
                                                 Distribution::kSpecialFloats, Distribution::kAllEqual};
      const Distribution distribution = kDistributions[++seed % 4];
      const auto method = static_cast<RankMethod>(1 + seed % 5);
      const Order order = kBothOrders[seed / 2 % 2];
      SCOPED_TRACE(::testing::Message() << "count=" << count << " segments=" << offsets.size() - 1 << " "
                                        << DistributionName(distribution) << " method=" << static_cast<int>(method)
                                        << " seed=" << seed);
      GroupCase test;
      test.type = GetParam();
      test.order = order;
      test.want_keys = test.want_firsts = test.want_counts = false;
      test.rank_method = method;
      test.segment_offsets = offsets;
      const Bytes keys = MakeKeys(test.type, distribution, count, seed);
      const std::vector<int64_t> sorted = StableOrder(test.type, order, keys, offsets);
      test.keys = Gather(keys, KeyBytes(test.type), sorted);
      const Outcome outcome = harness().Group(test);
      EXPECT_EQ(outcome.group.unsorted, -1);
      EXPECT_TRUE(outcome.outputs[7] == Ranks(method, test.type, order, test.keys, offsets)) << "ranks";
      test.indices = sorted;
      EXPECT_TRUE(harness().Group(test).outputs[7] == Ranks(method, test.type, order, keys, offsets))
          << "ranks by indices";
      if (HasFailure()) return;
    }
  }
}

TEST_P(Group, ReportsTheFirstUnsortedIndexOfASegment) {
  for (const Order order : kBothOrders) {
    for (const int64_t longest : {40, 5000, 200000}) {
      SCOPED_TRACE(::testing::Message() << "longest=" << longest);
      GroupCase test;
      test.type = GetParam();
      test.order = order;
      test.segment_offsets = CutSegments(100003, longest, 5);
      const Bytes keys = MakeKeys(test.type, Distribution::kUniform, 100003, 6);
      test.keys = Gather(keys, KeyBytes(test.type), StableOrder(test.type, order, keys, test.segment_offsets));
      EXPECT_EQ(harness().Group(test).group.unsorted, -1);
      for (const int64_t at : {99999, 4097, 33, 2, 1}) {
        std::swap_ranges(test.keys.begin(), test.keys.begin() + KeyBytes(test.type),
                         test.keys.begin() + at * KeyBytes(test.type));
        int64_t expected = -1;
        for (size_t s = 1; s < test.segment_offsets.size() && expected < 0; ++s) {
          const int64_t begin = test.segment_offsets[s - 1], end = test.segment_offsets[s];
          const Bytes segment(test.keys.begin() + begin * KeyBytes(test.type),
                              test.keys.begin() + end * KeyBytes(test.type));
          if (const auto found = FirstUnsorted(test.type, order, segment)) expected = begin + *found;
        }
        EXPECT_EQ(harness().Group(test).group.unsorted, expected) << "at=" << at;
      }
    }
  }
}

TEST_P(Group, ReportsTheFirstUnsortedIndex) {
  for (const Order order : kBothOrders) {
    GroupCase test = Sorted(100003, order, Distribution::kUniform, 3);
    for (const int64_t at : {99999, 4097, 32, 2, 1}) {
      // Moves the first key to the front of a tail.
      std::swap_ranges(test.keys.begin(), test.keys.begin() + KeyBytes(test.type),
                       test.keys.begin() + at * KeyBytes(test.type));
      const std::optional<int64_t> expected = FirstUnsorted(test.type, order, test.keys);
      ASSERT_TRUE(expected.has_value());
      EXPECT_EQ(harness().Group(test).group.unsorted, *expected);
    }
  }
}

// The parameter is the type of the values.
class GroupReduce : public Group {
 protected:
  // Groups of random lengths, up to `longest`.
  GroupCase Random(int64_t count, int64_t longest, Distribution distribution, uint64_t seed) {
    testing::Random random(seed);
    GroupCase test;
    std::vector<uint32_t> keys;
    for (uint32_t key = 0; static_cast<int64_t>(keys.size()) < count; ++key) {
      const int64_t left = count - static_cast<int64_t>(keys.size());
      keys.insert(keys.end(), static_cast<size_t>(std::min(left, 1 + random.Below(longest))), key);
    }
    test.keys = BytesOf(keys);
    test.value_type = GetParam();
    test.values = MakeKeys(test.value_type, distribution, count, seed);
    return test;
  }
};

TEST_P(GroupReduce, SumsMinimaAndMaximaOfGroupsOfEveryLength) {
  constexpr Distribution kDistributions[] = {Distribution::kUniform, Distribution::kSixteenBits,
                                             Distribution::kSpecialFloats};
  uint64_t seed = 0;
  for (const int64_t count : kGroupSizes) {
    for (const int64_t longest : {1, 3, 40, 5000, 200000}) {
      const Distribution distribution = kDistributions[++seed % 3];
      SCOPED_TRACE(::testing::Message() << "count=" << count << " longest=" << longest << " "
                                        << DistributionName(distribution) << " seed=" << seed);
      Check(Random(count, longest, distribution, seed));
      if (HasFailure()) return;
    }
  }
}

TEST_P(GroupReduce, LeavesNullsOut) {
  constexpr Distribution kDistributions[] = {Distribution::kUniform, Distribution::kSixteenBits,
                                             Distribution::kSpecialFloats};
  uint64_t seed = 0;
  for (const int64_t count : kGroupSizes) {
    for (const int64_t longest : {1, 3, 40, 5000, 200000}) {
      const Distribution distribution = kDistributions[++seed % 3];
      const int64_t valid_of_16 = std::array{0, 1, 8, 15, 16}[seed % 5];
      SCOPED_TRACE(::testing::Message() << "count=" << count << " longest=" << longest << " valid=" << valid_of_16
                                        << "/16 " << DistributionName(distribution) << " seed=" << seed);
      GroupCase test = Random(count, longest, distribution, seed);
      testing::Random random(seed + 1000);
      for (int64_t i = 0; i < count; ++i) test.valid.push_back(random.Below(16) < valid_of_16);
      Check(test);
      if (HasFailure()) return;
    }
  }
}

TEST_P(GroupReduce, TakesValuesAndFirstsThroughIndices) {
  for (const int64_t longest : {2, 3000}) {
    SCOPED_TRACE(::testing::Message() << "longest=" << longest);
    GroupCase test = Random(20011, longest, Distribution::kUniform, 5);
    testing::Random random(6);
    if (longest == 2) {
      for (int64_t i = 0; i < 20011; ++i) test.valid.push_back(random.Below(3) > 0);
    }
    test.indices.resize(20011);
    std::iota(test.indices.begin(), test.indices.end(), int64_t{0});
    for (size_t i = test.indices.size(); i > 1; --i) {
      std::swap(test.indices[i - 1], test.indices[static_cast<size_t>(random.Below(static_cast<int64_t>(i)))]);
    }
    Check(test);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Group, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);
INSTANTIATE_TEST_SUITE_P(AllTypes, GroupReduce, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

class GroupSums : public OnEngineUnderTest<::testing::Test> {
 protected:
  // The report of groups of these lengths.
  template <typename T>
  Outcome Sum(KeyType type, const std::vector<T>& values, const std::vector<int64_t>& lengths) {
    GroupCase test;
    std::vector<uint32_t> keys;
    for (size_t i = 0; i < lengths.size(); ++i) {
      keys.insert(keys.end(), static_cast<size_t>(lengths[i]), static_cast<uint32_t>(i));
    }
    test.keys = BytesOf(keys);
    test.value_type = type;
    test.values = BytesOf(values);
    return harness().Group(test);
  }
};

TEST_F(GroupSums, NamesTheFirstGroupThat64BitsDoNotHold) {
  constexpr int64_t kMost = INT64_MAX, kLeast = INT64_MIN;
  EXPECT_EQ(Sum<int64_t>(KeyType::kInt64, {kMost, 1, kMost, 1, kLeast, -1}, {1, 1, 2, 2}).group.overflow, 2);
  EXPECT_EQ(Sum<int64_t>(KeyType::kInt64, {kLeast, -1, 5}, {2, 1}).group.overflow, 0);
  EXPECT_EQ(Sum<uint64_t>(KeyType::kUint64, {UINT64_MAX, 1}, {2}).group.overflow, 0);
  // Only the whole sum counts.
  const Outcome back = Sum<int64_t>(KeyType::kInt64, {kMost, kMost, kLeast, kLeast, 3}, {5});
  EXPECT_EQ(back.group.overflow, -1);
  EXPECT_TRUE(back.outputs[3] == BytesOf<int64_t>({1}));
}

TEST_F(GroupSums, OverflowInAGroupOfManyTilesIsNamed) {
  std::vector<int64_t> values(300000, INT64_MAX / 100000);
  EXPECT_EQ(Sum(KeyType::kInt64, values, {1, 299999}).group.overflow, 1);
  EXPECT_EQ(Sum(KeyType::kInt64, values, {100000, 100000, 99999, 1}).group.overflow, -1);
}

TEST_F(GroupSums, FloatsLoseLittleInLongGroups) {
  std::vector<double> values(1 << 20, 0.1);
  const Outcome outcome = Sum(KeyType::kFloat64, values, {1, (1 << 20) - 1});
  double sum;
  std::memcpy(&sum, &outcome.outputs[3][8], sizeof(sum));
  // The sum of the doubles nearest to 0.1, which is above it.
  const long double exact = static_cast<long double>(0.1) * ((1 << 20) - 1);
  EXPECT_LE(std::fabs(static_cast<double>(static_cast<long double>(sum) - exact)), 20 * 0x1p-53 * sum);
}

}  // namespace
}  // namespace corank::testing
