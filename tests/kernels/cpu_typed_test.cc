// The typed operators of corank/cpu.h, compared with the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <vector>

#include "corank/cpu.h"
#include "tests/kernels/typed_oracles.h"

namespace corank::testing {
namespace {

constexpr int64_t kCounts[] = {0, 1, 2, 1000, 100'001};

template <typename Key>
class CpuTyped : public ::testing::Test {};
using Keys = ::testing::Types<int8_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double>;
TYPED_TEST_SUITE(CpuTyped, Keys);

TYPED_TEST(CpuTyped, SortIsThatOfTheStandardLibrary) {
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const int64_t count : kCounts) {
      const std::vector<TypeParam> keys = FewKeys<TypeParam>(count, 1);
      std::vector<TypeParam> sorted(keys.size());
      SortOptions options;
      options.order = order;
      ASSERT_EQ(cpu::Sort<TypeParam>(keys, sorted, options), std::errc());
      EXPECT_TRUE(SameBits(sorted, Take(keys, Permutation(keys, order)))) << count;
    }
  }
}

TYPED_TEST(CpuTyped, SortWithValuesMovesValuesAndStopsAtTheLimit) {
  struct Record {
    int32_t number;
    char rest[8];
  };
  for (const int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{10}, int64_t{2000}}) {
    const std::vector<TypeParam> keys = FewKeys<TypeParam>(1000, 2);
    std::vector<Record> values(keys.size());
    for (size_t i = 0; i < values.size(); ++i) values[i].number = static_cast<int32_t>(i);
    std::vector<int64_t> expected = Permutation(keys, Order::kAscending);
    if (limit >= 0) expected.resize(std::min<size_t>(expected.size(), static_cast<size_t>(limit)));
    std::vector<TypeParam> sorted(expected.size());
    std::vector<Record> sorted_values(expected.size());
    SortOptions options;
    options.limit = limit;
    ASSERT_EQ((cpu::SortWithValues<TypeParam, Record>(keys, values, sorted, sorted_values, options)), std::errc());
    EXPECT_TRUE(SameBits(sorted, Take(keys, expected)));
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(sorted_values[i].number, expected[i]);
  }
}

TYPED_TEST(CpuTyped, ArgsortOfSegmentsCountsFromTheFirstKey) {
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(3000, 3);
  const std::vector<int64_t> offsets = {0, 0, 700, 701, 3000};
  std::vector<int64_t> expected;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto part = Permutation(keys, offsets[i], offsets[i + 1], Order::kDescending);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  std::vector<uint32_t> indices(keys.size());
  SortOptions options;
  options.order = Order::kDescending;
  options.segment_offsets = offsets;
  ASSERT_EQ((cpu::Argsort<TypeParam, uint32_t>(keys, indices, options)), std::errc());
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), expected.begin(), expected.end()));
}

TYPED_TEST(CpuTyped, LimitTakesTheFirstOfEachSegment) {
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(3000, 3);
  const std::vector<int64_t> offsets = {0, 0, 700, 701, 3000};
  SortOptions options;
  options.limit = 600;
  options.segment_offsets = offsets;
  std::vector<int64_t> expected;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::vector<int64_t> part = Permutation(keys, offsets[i], offsets[i + 1], Order::kAscending);
    part.resize(std::min(part.size(), size_t{600}));
    expected.insert(expected.end(), part.begin(), part.end());
  }
  ASSERT_EQ(SortResults(3000, options), 2400);  // 600 of each of four segments: only the run finds that there are fewer
  std::vector<uint32_t> indices(2400);
  OperatorReport report;
  ASSERT_EQ((cpu::Argsort<TypeParam, uint32_t>(keys, indices, options, 0, &report)), std::errc());
  ASSERT_EQ(report.results, 1201);
  indices.resize(1201);
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), expected.begin(), expected.end()));
}

TYPED_TEST(CpuTyped, MergeTakesTiesFromEarlierInputs) {
  std::vector<std::vector<TypeParam>> inputs;
  std::vector<TypeParam> all;
  std::vector<uint32_t> numbers;
  std::vector<std::vector<uint32_t>> values;
  for (const int64_t count : {1000, 0, 3, 500}) {
    const std::vector<TypeParam> keys = FewKeys<TypeParam>(count, static_cast<uint64_t>(count));
    inputs.push_back(Take(keys, Permutation(keys, Order::kAscending)));
    values.emplace_back();
    for (int64_t i = 0; i < count; ++i)
      values.back().push_back(static_cast<uint32_t>(numbers.size() + values.back().size()));
    numbers.insert(numbers.end(), values.back().begin(), values.back().end());
    all.insert(all.end(), inputs.back().begin(), inputs.back().end());
  }
  const std::vector<int64_t> expected = Permutation(all, Order::kAscending);
  std::vector<Span<const TypeParam>> spans(inputs.begin(), inputs.end());
  std::vector<TypeParam> merged(all.size());
  OperatorReport report;
  ASSERT_EQ(cpu::Merge<TypeParam>(spans, merged, {}, 2, &report), std::errc());
  EXPECT_TRUE(SameBits(merged, Take(all, expected)));
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  EXPECT_NE(report.merge_algorithm, MergeAlgorithm::kAuto);

  std::vector<KeysAndValues<TypeParam, uint32_t>> pairs;
  for (size_t i = 0; i < inputs.size(); ++i) pairs.push_back({inputs[i], values[i]});
  std::vector<uint32_t> merged_values(all.size());
  ASSERT_EQ((cpu::MergeWithValues<TypeParam, uint32_t>(pairs, merged, merged_values)), std::errc());
  EXPECT_EQ(merged_values, Take(numbers, expected));
}

TYPED_TEST(CpuTyped, SearchFindsTheBoundsOfTheStandardLibrary) {
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(1000, 5), needles = FewKeys<TypeParam>(300, 6);
  const std::vector<TypeParam> haystack = Take(keys, Permutation(keys, Order::kAscending));
  const auto before = [](TypeParam a, TypeParam b) { return ComesBefore(a, b, Order::kAscending); };
  for (const SearchBound bound : {SearchBound::kLower, SearchBound::kUpper}) {
    std::vector<uint32_t> positions(needles.size());
    SearchOptions options;
    options.bound = bound;
    ASSERT_EQ((cpu::Search<TypeParam, uint32_t>(haystack, needles, positions, options)), std::errc());
    for (size_t i = 0; i < needles.size(); ++i) {
      const auto expected = bound == SearchBound::kLower
                                ? std::lower_bound(haystack.begin(), haystack.end(), needles[i], before)
                                : std::upper_bound(haystack.begin(), haystack.end(), needles[i], before);
      ASSERT_EQ(positions[i], expected - haystack.begin());
    }
  }
}

TYPED_TEST(CpuTyped, GroupsAreTheRunsOfEqualKeys) {
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(5000, 9);
  const std::vector<TypeParam> sorted = Take(keys, Permutation(keys, Order::kAscending));
  const std::vector<int64_t> starts = RunStarts(sorted);
  std::vector<TypeParam> distinct(sorted.size());
  std::vector<int64_t> counts(sorted.size());
  std::vector<uint32_t> firsts(sorted.size());
  const Groups<TypeParam, uint32_t> groups{distinct, counts, firsts};
  GroupReport report;
  ASSERT_EQ((cpu::Group<TypeParam, uint32_t>(sorted, groups, &report)), std::errc());
  ASSERT_EQ(report.groups, static_cast<int64_t>(starts.size()));
  distinct.resize(starts.size());
  EXPECT_TRUE(SameBits(distinct, Take(sorted, starts)));
  for (size_t i = 0; i < starts.size(); ++i) {
    ASSERT_EQ(firsts[i], starts[i]);
    ASSERT_EQ(counts[i], (i + 1 < starts.size() ? starts[i + 1] : 5000) - starts[i]);
  }

  ASSERT_EQ((cpu::Group<TypeParam, uint32_t>(keys, {{}, counts, {}}, &report)), std::errc());
  EXPECT_GT(report.unsorted, 0);
  GroupOptions options;
  options.check_sorted = false;
  ASSERT_EQ((cpu::Group<TypeParam, uint32_t>(keys, {{}, counts, {}}, &report, options)), std::errc());
  EXPECT_EQ(report.unsorted, -1);
  EXPECT_EQ(report.groups, static_cast<int64_t>(RunStarts(keys).size()));
}

TYPED_TEST(CpuTyped, GroupReduceReducesTheValuesOfEachGroup) {
  const std::vector<uint8_t> keys = {1, 1, 1, 5, 9, 9};
  const std::vector<TypeParam> values = {3, 1, 2, 7, 4, 4};
  std::vector<SumOf<TypeParam>> sums(6);
  std::vector<TypeParam> minima(6), maxima(6);
  GroupReport report;
  ASSERT_EQ((cpu::GroupReduce<uint8_t, TypeParam, uint32_t>(keys, values, {}, {sums, minima, maxima}, &report)),
            std::errc());
  EXPECT_EQ(report.groups, 3);
  EXPECT_EQ(std::vector<SumOf<TypeParam>>(sums.begin(), sums.begin() + 3), (std::vector<SumOf<TypeParam>>{6, 7, 8}));
  EXPECT_EQ(std::vector<TypeParam>(minima.begin(), minima.begin() + 3), (std::vector<TypeParam>{1, 7, 4}));
  EXPECT_EQ(std::vector<TypeParam>(maxima.begin(), maxima.begin() + 3), (std::vector<TypeParam>{3, 7, 4}));
  std::vector<int64_t> value_counts(6);
  const std::vector<uint8_t> validity = {0b010101};
  GroupOptions options;
  options.values_validity = validity;
  ASSERT_EQ((cpu::GroupReduce<uint8_t, TypeParam, uint32_t>(keys, values, {}, {sums, {}, {}, value_counts}, &report,
                                                            options)),
            std::errc());
  EXPECT_EQ(std::vector<SumOf<TypeParam>>(sums.begin(), sums.begin() + 3), (std::vector<SumOf<TypeParam>>{5, 0, 4}));
  EXPECT_EQ(std::vector<int64_t>(value_counts.begin(), value_counts.begin() + 3), (std::vector<int64_t>{2, 0, 1}));
}

TYPED_TEST(CpuTyped, SelectTakesElementsByFlagsPositionsAndComparison) {
  const std::vector<TypeParam> elements = {4, 1, 3, 1, 5};
  const std::vector<uint8_t> flags = {0, 1, 0, 0, 2};
  const std::vector<int64_t> positions = {3, 0, 3}, outside = {2, 5};
  const TypeParam threshold = 3;
  std::vector<TypeParam> taken(5);
  std::vector<uint32_t> indices(5);
  SelectReport report;
  Predicate<TypeParam> predicate;
  predicate.flags = flags;
  ASSERT_EQ((cpu::Select<TypeParam, uint32_t>(elements, predicate, {taken, indices, true}, &report)), std::errc());
  EXPECT_EQ(report.selected, 2);
  EXPECT_EQ(taken, (std::vector<TypeParam>{1, 5, 4, 3, 1}));
  EXPECT_EQ(indices, (std::vector<uint32_t>{1, 4, 0, 2, 3}));
  predicate.by = SelectBy::kPositions;
  predicate.positions = positions;
  predicate.negate = true;
  ASSERT_EQ((cpu::Select<TypeParam, uint32_t>(elements, predicate, {taken, {}}, &report)), std::errc());
  taken.resize(static_cast<size_t>(report.selected));
  EXPECT_EQ(taken, (std::vector<TypeParam>{1, 3, 5}));
  predicate.positions = outside;
  ASSERT_EQ((cpu::Select<TypeParam, uint32_t>(elements, predicate, {}, &report)), std::errc());
  EXPECT_EQ(report.out_of_range, 1);
  predicate = Predicate<TypeParam>();
  predicate.by = SelectBy::kThreshold;
  predicate.comparison = Comparison::kGreaterOrEqual;
  predicate.threshold = &threshold;
  ASSERT_EQ((cpu::Select<TypeParam, uint32_t>(elements, predicate, {}, &report)), std::errc());
  EXPECT_EQ(report.selected, 3);
  EXPECT_EQ((cpu::Select<TypeParam, uint32_t>(elements, predicate, {taken, {}}, &report)), std::errc::invalid_argument);
}

TYPED_TEST(CpuTyped, SetsAreThoseOfTheStandardLibrary) {
  const std::vector<TypeParam> left = {1, 2, 2, 5, 9}, right = {2, 3, 5, 5};
  std::vector<TypeParam> result(9);
  SetReport report;
  ASSERT_EQ((cpu::CombineSets<TypeParam>(SetOperation::kUnion, left, right, result, &report)), std::errc());
  result.resize(static_cast<size_t>(report.count));
  EXPECT_EQ(result, (std::vector<TypeParam>{1, 2, 2, 3, 5, 5, 9}));
  ASSERT_EQ((cpu::CombineSets<TypeParam>(SetOperation::kIntersection, left, right, {}, &report)), std::errc());
  EXPECT_EQ(report.count, 2);
  std::vector<TypeParam> narrow(4);
  EXPECT_EQ((cpu::CombineSets<TypeParam>(SetOperation::kDifference, left, right, narrow, &report)),
            std::errc::invalid_argument);
}

TYPED_TEST(CpuTyped, JoinPairsRowsWithEqualKeys) {
  const std::vector<TypeParam> left = {5, 1, 2, 5}, right = {2, 5, 7, 5};
  std::vector<int32_t> left_rows(8), right_rows(8);
  JoinReport report;
  ASSERT_EQ((cpu::Join<TypeParam, int32_t>(JoinKind::kFull, left, right, left_rows, right_rows, &report)), std::errc());
  ASSERT_EQ(report.rows, 7);
  left_rows.resize(7);
  right_rows.resize(7);
  EXPECT_EQ(left_rows, (std::vector<int32_t>{0, 0, 1, 2, 3, 3, -1}));
  EXPECT_EQ(right_rows, (std::vector<int32_t>{1, 3, -1, 0, 1, 3, 2}));
  ASSERT_EQ((cpu::Join<TypeParam, int32_t>(JoinKind::kAnti, left, right, left_rows, {}, &report)), std::errc());
  EXPECT_EQ(report.rows, 1);
  EXPECT_EQ(left_rows[0], 1);
  ASSERT_EQ((cpu::Join<TypeParam, int32_t>(JoinKind::kInner, left, right, {}, {}, &report)), std::errc());
  EXPECT_EQ(report.rows, 5);
  ASSERT_EQ((cpu::Join<TypeParam, int32_t>(JoinKind::kSemi, left, right, {}, {}, &report, true)), std::errc());
  EXPECT_EQ(report.unsorted, 3);
  EXPECT_EQ((cpu::Join<TypeParam, int32_t>(JoinKind::kSemi, left, right, left_rows, right_rows, &report)),
            std::errc::invalid_argument);
}

TEST(CpuTypedIntervals, ExpandMoveGatherAndScatterAreLoops) {
  const std::vector<int64_t> counts = Lengths(400, 7), starts = Starts(counts);
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  std::vector<uint32_t> source(static_cast<size_t>(total));
  std::iota(source.begin(), source.end(), 1u);
  // The intervals in reverse order.
  std::vector<int64_t> places(counts.size());
  for (size_t i = counts.size(), at = 0; i-- > 0; at += static_cast<size_t>(counts[i]))
    places[i] = static_cast<int64_t>(at);
  std::vector<uint32_t> turned(source.size()), expanded;
  std::vector<uint32_t> values(counts.size());
  std::iota(values.begin(), values.end(), 5u);
  for (size_t i = 0; i < counts.size(); ++i) {
    std::copy_n(source.begin() + starts[i], counts[i], turned.begin() + places[i]);
    expanded.insert(expanded.end(), static_cast<size_t>(counts[i]), values[i]);
  }

  std::vector<uint32_t> out(source.size());
  ASSERT_EQ(cpu::ExpandIntervals<uint32_t>(values, counts, out), std::errc());
  EXPECT_EQ(out, expanded);
  ASSERT_EQ(cpu::MoveIntervals<uint32_t>(source, starts, places, counts, total, out), std::errc());
  EXPECT_EQ(out, turned);
  OperatorReport report;
  std::fill(out.begin(), out.end(), 0);
  ASSERT_EQ(cpu::ScatterIntervals<uint32_t>(source, places, counts, out, 0, &report), std::errc());
  EXPECT_EQ(out, turned);
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  ASSERT_EQ(cpu::GatherIntervals<uint32_t>(turned, places, counts, out), std::errc());
  EXPECT_EQ(out, source);
}

TEST(CpuTypedIntervals, LoadBalanceNamesSegmentAndRank) {
  const std::vector<int64_t> counts = Lengths(400, 8);
  std::vector<uint64_t> expected_segments, expected_ranks;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int64_t rank = 0; rank < counts[i]; ++rank) {
      expected_segments.push_back(i);
      expected_ranks.push_back(static_cast<uint64_t>(rank));
    }
  }
  std::vector<uint64_t> segments(expected_segments.size()), ranks(segments.size());
  ASSERT_EQ(cpu::LoadBalance<uint64_t>(counts, segments, ranks), std::errc());
  EXPECT_EQ(segments, expected_segments);
  EXPECT_EQ(ranks, expected_ranks);
}

TEST(CpuTypedReport, NamesUnsortedInputsAndOverlaps) {
  const std::vector<int32_t> good = {1, 2, 3}, bad = {1, 5, 4};
  const Span<const int32_t> inputs[] = {good, bad};
  std::vector<int32_t> merged(6);
  OperatorReport report;
  ASSERT_EQ(cpu::Merge<int32_t>(inputs, merged, {}, 0, &report), std::errc());
  EXPECT_EQ(report.fault, OperatorReport::Fault::kUnsorted);
  EXPECT_EQ(report.input, 1);
  EXPECT_EQ(report.index, 2);
  ASSERT_EQ(cpu::Merge<int32_t>(inputs, merged), std::errc());  // nobody looks
  std::sort(merged.begin(), merged.end());
  EXPECT_EQ(merged, (std::vector<int32_t>{1, 1, 2, 3, 4, 5}));

  const std::vector<int64_t> places = {0, 1}, counts = {2, 1};
  ASSERT_EQ(cpu::ScatterIntervals<int32_t>(good, places, counts, merged, 0, &report), std::errc());
  EXPECT_EQ(report.fault, OperatorReport::Fault::kOverlapping);
  EXPECT_EQ(report.index, 1);
  EXPECT_EQ(report.other, 0);
}

TEST(CpuTypedErrors, OperandsThatDoNotFitAreRefused) {
  const std::vector<float> keys(10);
  std::vector<float> sorted(10), shorter(9);
  std::vector<uint32_t> indices(10);
  std::vector<uint64_t> wide(10);
  constexpr std::errc kInvalid = std::errc::invalid_argument;
  EXPECT_EQ(cpu::Sort<float>(keys, shorter), kInvalid);
  EXPECT_EQ(cpu::Sort<float>(keys, sorted, {}, -1), kInvalid);
  SortOptions options;
  options.limit = 9;
  EXPECT_EQ(cpu::Sort<float>(keys, sorted, options), kInvalid);
  EXPECT_EQ(cpu::Sort<float>(keys, shorter, options), std::errc());
  const std::vector<int64_t> offsets = {0, 4, 10};
  options.segment_offsets = offsets;
  EXPECT_EQ(cpu::Sort<float>(keys, shorter, options), kInvalid);  // 9 of each segment: room for all keys
  options.limit = -2;
  EXPECT_EQ(cpu::Sort<float>(keys, sorted, options), kInvalid);
  options = {};
  options.algorithm = SortAlgorithm::kCount;
  EXPECT_EQ(cpu::Sort<float>(keys, sorted, options), kInvalid);
  EXPECT_EQ((cpu::SortWithValues<float, uint32_t>(keys, Span<const uint32_t>(indices.data(), 9), sorted, indices)),
            kInvalid);
  EXPECT_EQ((cpu::Argsort<float, uint64_t>(keys, wide)), kInvalid);
  EXPECT_EQ((cpu::Search<float, uint64_t>(keys, keys, wide)), kInvalid);
  const std::vector<Span<const float>> inputs(kMaxMergeInputs + 1);
  EXPECT_EQ(cpu::Merge<float>(inputs, Span<float>()), kInvalid);
  EXPECT_EQ(cpu::Merge<float>(Span<const Span<const float>>(inputs.data(), 2), sorted), kInvalid);
  // A record of 8 bytes whose type has the alignment of char.
  struct Chars {
    char eight[8];
  };
  alignas(8) char bytes[88] = {};
  const Span<Chars> aligned(reinterpret_cast<Chars*>(bytes), 10), skewed(reinterpret_cast<Chars*>(bytes + 1), 10);
  std::vector<Chars> moved(10);
  EXPECT_EQ((cpu::SortWithValues<float, Chars>(keys, aligned, sorted, moved)), std::errc());
  EXPECT_EQ((cpu::SortWithValues<float, Chars>(keys, skewed, sorted, moved)), kInvalid);
  const std::vector<int64_t> counts(9, 1);
  EXPECT_EQ(cpu::ExpandIntervals<float>(keys, counts, shorter), kInvalid);
  EXPECT_EQ(cpu::GatherIntervals<float>(keys, offsets, counts, shorter), kInvalid);
  EXPECT_EQ(cpu::LoadBalance<uint32_t>(counts, indices, Span<uint32_t>()), kInvalid);
  GroupReport report;
  EXPECT_EQ((cpu::Group<float, uint32_t>(keys, {shorter, {}, {}}, &report)), kInvalid);
  EXPECT_EQ((cpu::Group<float, uint64_t>(keys, {sorted, {}, {}}, &report)), kInvalid);
  EXPECT_EQ((cpu::GroupReduce<float, float, uint32_t>(keys, shorter, {}, {{}, sorted, {}}, &report)), kInvalid);
  EXPECT_EQ((cpu::GroupReduce<float, float, uint32_t>(keys, keys, {}, {{}, shorter, {}}, &report)), kInvalid);
}

}  // namespace
}  // namespace corank::testing
