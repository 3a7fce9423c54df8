// The typed operators of corank/cuda.h, compared with the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <vector>

#include "corank/cpu.h"
#include "corank/cuda.h"
#include "tests/kernels/device_array.h"
#include "tests/kernels/typed_oracles.h"

namespace corank::testing {
namespace {

constexpr int64_t kCounts[] = {0, 1, 2, 4097, 300'000};

template <typename Key>
class CudaTyped : public ::testing::Test {};
using Keys = ::testing::Types<int8_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double>;
TYPED_TEST_SUITE(CudaTyped, Keys);

TYPED_TEST(CudaTyped, SortIsThatOfTheStandardLibrary) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const int64_t count : kCounts) {
      const std::vector<TypeParam> keys = FewKeys<TypeParam>(count, 1);
      cuda::SortOptions options;
      options.order = order;
      const DeviceArray<TypeParam> d_keys(keys), d_sorted(count);
      const DeviceArray<std::byte> workspace(cuda::SortWorkspaceBytes<TypeParam>(count, options));
      SortAlgorithm taken = SortAlgorithm::kAuto;
      ASSERT_EQ(cuda::Sort(d_keys.view(), d_sorted.span(), workspace.span(), stream, options, &taken), cudaSuccess);
      EXPECT_TRUE(SameBits(d_sorted.Read(), Take(keys, Permutation(keys, order)))) << count;
      EXPECT_NE(taken, SortAlgorithm::kAuto);
      EXPECT_TRUE(SameBits(d_keys.Read(), keys));
      workspace.Read();
    }
  }
}

TYPED_TEST(CudaTyped, SortWithValuesMovesValuesAndStopsAtTheLimit) {
  CORANK_SKIP_WITHOUT_GPU();
  struct alignas(4) Record {
    int32_t number;
    char rest[8];
  };
  const TestStream stream;
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(20'000, 2);
  std::vector<Record> values(keys.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = {static_cast<int32_t>(i), {}};
  const DeviceArray<TypeParam> d_keys(keys);
  const DeviceArray<Record> d_values(values);
  for (const int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{10}, int64_t{30'000}}) {
    std::vector<int64_t> expected = Permutation(keys, Order::kAscending);
    if (limit >= 0) expected.resize(std::min<size_t>(expected.size(), static_cast<size_t>(limit)));
    const auto results = static_cast<int64_t>(expected.size());
    cuda::SortOptions options;
    options.limit = limit;
    const DeviceArray<TypeParam> d_sorted(results);
    const DeviceArray<Record> d_sorted_values(results);
    const DeviceArray<std::byte> workspace(
        cuda::SortWithValuesWorkspaceBytes<TypeParam, Record>(d_keys.span().size(), options));
    ASSERT_EQ(cuda::SortWithValues(d_keys.view(), d_values.view(), d_sorted.span(), d_sorted_values.span(),
                                   workspace.span(), stream, options),
              cudaSuccess);
    EXPECT_TRUE(SameBits(d_sorted.Read(), Take(keys, expected)));
    const std::vector<Record> moved = d_sorted_values.Read();
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(moved[i].number, expected[i]) << i;
    workspace.Read();
  }
}

TYPED_TEST(CudaTyped, ArgsortOfSegmentsCountsFromTheFirstKey) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(30'000, 3);
  const std::vector<int64_t> offsets = {0, 0, 700, 701, 20'000, 30'000};
  std::vector<int64_t> expected;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto part = Permutation(keys, offsets[i], offsets[i + 1], Order::kDescending);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  const DeviceArray<TypeParam> d_keys(keys), d_sorted(d_keys.span().size());
  const DeviceArray<int64_t> d_offsets(offsets);
  const DeviceArray<uint32_t> d_indices(d_keys.span().size());
  cuda::SortOptions options;
  options.order = Order::kDescending;
  options.segment_offsets = d_offsets.view();
  const DeviceArray<std::byte> workspace(std::max(cuda::ArgsortWorkspaceBytes<TypeParam>(d_keys.span().size(), options),
                                                  cuda::SortWorkspaceBytes<TypeParam>(d_keys.span().size(), options)));
  ASSERT_EQ(cuda::Argsort(d_keys.view(), d_indices.span(), workspace.span(), stream, options), cudaSuccess);
  ASSERT_EQ(cuda::Sort(d_keys.view(), d_sorted.span(), workspace.span(), stream, options), cudaSuccess);
  const std::vector<uint32_t> indices = d_indices.Read();
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), expected.begin(), expected.end()));
  EXPECT_TRUE(SameBits(d_sorted.Read(), Take(keys, expected)));
  workspace.Read();
}

TYPED_TEST(CudaTyped, LimitTakesTheFirstOfEachSegment) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(30'000, 3);
  const std::vector<int64_t> offsets = {0, 0, 700, 701, 20'000, 30'000};
  std::vector<int64_t> expected;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::vector<int64_t> part = Permutation(keys, offsets[i], offsets[i + 1], Order::kAscending);
    part.resize(std::min(part.size(), size_t{800}));
    expected.insert(expected.end(), part.begin(), part.end());
  }
  const DeviceArray<TypeParam> d_keys(keys);
  const DeviceArray<int64_t> d_offsets(offsets), d_results(1);
  cuda::SortOptions options;
  options.limit = 800;
  options.segment_offsets = d_offsets.view();
  options.d_results = d_results.span().data();
  const int64_t room = SortResults(d_keys.span().size(), options);
  ASSERT_EQ(room, 4000);
  const DeviceArray<TypeParam> d_sorted(room);
  const DeviceArray<uint32_t> d_indices(room);
  const DeviceArray<std::byte> workspace(std::max(cuda::ArgsortWorkspaceBytes<TypeParam>(d_keys.span().size(), options),
                                                  cuda::SortWorkspaceBytes<TypeParam>(d_keys.span().size(), options)));
  ASSERT_EQ(cuda::Argsort(d_keys.view(), d_indices.span(), workspace.span(), stream, options), cudaSuccess);
  ASSERT_EQ(cuda::Sort(d_keys.view(), d_sorted.span(), workspace.span(), stream, options), cudaSuccess);
  std::vector<uint32_t> indices = d_indices.Read();
  std::vector<TypeParam> sorted = d_sorted.Read();
  ASSERT_EQ(d_results.Read(), (std::vector<int64_t>{700 + 1 + 800 + 800}));
  indices.resize(expected.size());
  sorted.resize(expected.size());
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), expected.begin(), expected.end()));
  EXPECT_TRUE(SameBits(sorted, Take(keys, expected)));
  workspace.Read();
}

TYPED_TEST(CudaTyped, MergeTakesTiesFromEarlierInputs) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  std::vector<TypeParam> all;
  std::vector<uint32_t> numbers;
  std::vector<DeviceArray<TypeParam>> d_inputs;
  std::vector<DeviceArray<uint32_t>> d_values;
  for (const int64_t count : {10'000, 0, 3, 5000}) {
    const std::vector<TypeParam> keys = FewKeys<TypeParam>(count, static_cast<uint64_t>(count));
    const std::vector<TypeParam> input = Take(keys, Permutation(keys, Order::kAscending));
    std::vector<uint32_t> values(input.size());
    std::iota(values.begin(), values.end(), static_cast<uint32_t>(all.size()));
    all.insert(all.end(), input.begin(), input.end());
    numbers.insert(numbers.end(), values.begin(), values.end());
    d_inputs.emplace_back(input);
    d_values.emplace_back(values);
  }
  const std::vector<int64_t> expected = Permutation(all, Order::kAscending);
  std::vector<Span<const TypeParam>> spans;
  std::vector<KeysAndValues<TypeParam, uint32_t>> pairs;
  for (size_t i = 0; i < d_inputs.size(); ++i) {
    spans.push_back(d_inputs[i].view());
    pairs.push_back({d_inputs[i].view(), d_values[i].view()});
  }
  const auto total = static_cast<int64_t>(all.size());
  const DeviceArray<TypeParam> d_merged(total), d_merged_keys(total);
  const DeviceArray<uint32_t> d_merged_values(total);
  const DeviceArray<OperatorReport> d_report(1);
  const DeviceArray<std::byte> workspace(std::max(cuda::MergeWorkspaceBytes<TypeParam>(spans),
                                                  cuda::MergeWithValuesWorkspaceBytes<TypeParam, uint32_t>(pairs)));
  ASSERT_EQ(cuda::Merge(spans, d_merged.span(), workspace.span(), stream, {}, d_report.span().data()), cudaSuccess);
  EXPECT_TRUE(SameBits(d_merged.Read(), Take(all, expected)));
  EXPECT_EQ(d_report.Read()[0].fault, OperatorReport::Fault::kNone);
  EXPECT_EQ(d_report.Read()[0].merge_algorithm, MergeAlgorithm::kMergePath);
  ASSERT_EQ(cuda::MergeWithValues(pairs, d_merged_keys.span(), d_merged_values.span(), workspace.span(), stream),
            cudaSuccess);
  EXPECT_TRUE(SameBits(d_merged_keys.Read(), Take(all, expected)));
  EXPECT_EQ(d_merged_values.Read(), Take(numbers, expected));
  workspace.Read();
}

TYPED_TEST(CudaTyped, SearchFindsTheBoundsOfTheStandardLibrary) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(10'000, 5), needles = FewKeys<TypeParam>(3000, 6);
  const std::vector<TypeParam> haystack = Take(keys, Permutation(keys, Order::kAscending));
  const DeviceArray<TypeParam> d_haystack(haystack), d_needles(needles);
  const DeviceArray<uint32_t> d_positions(d_needles.span().size());
  const DeviceArray<OperatorReport> d_report(1);
  const DeviceArray<std::byte> workspace(
      cuda::SearchWorkspaceBytes<TypeParam>(d_haystack.span().size(), d_needles.span().size()));
  const auto before = [](TypeParam a, TypeParam b) { return ComesBefore(a, b, Order::kAscending); };
  for (const SearchBound bound : {SearchBound::kLower, SearchBound::kUpper}) {
    SearchOptions options;
    options.bound = bound;
    ASSERT_EQ(cuda::Search(d_haystack.view(), d_needles.view(), d_positions.span(), workspace.span(), stream, options,
                           d_report.span().data()),
              cudaSuccess);
    const std::vector<uint32_t> positions = d_positions.Read();
    for (size_t i = 0; i < needles.size(); ++i) {
      const auto expected = bound == SearchBound::kLower
                                ? std::lower_bound(haystack.begin(), haystack.end(), needles[i], before)
                                : std::upper_bound(haystack.begin(), haystack.end(), needles[i], before);
      ASSERT_EQ(positions[i], expected - haystack.begin());
    }
    EXPECT_EQ(d_report.Read()[0].fault, OperatorReport::Fault::kNone);
  }
}

TYPED_TEST(CudaTyped, JoinIsThatOfTheHost) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  constexpr int64_t kRoom = 200'000;
  const std::vector<TypeParam> left = FewKeys<TypeParam>(3000, 6), right = FewKeys<TypeParam>(500, 7);
  const DeviceArray<TypeParam> d_left(left), d_right(right);
  const DeviceArray<int32_t> d_left_rows(kRoom), d_right_rows(kRoom);
  const DeviceArray<JoinReport> d_report(1);
  const DeviceArray<std::byte> workspace(cuda::JoinWorkspaceBytes<TypeParam>(JoinKind::kFull, 3000, 500));
  ASSERT_EQ((cuda::Join<TypeParam, int32_t>(JoinKind::kFull, d_left.view(), d_right.view(), d_left_rows.span(),
                                            d_right_rows.span(), workspace.span(), stream, d_report.span().data())),
            cudaSuccess);
  std::vector<int32_t> left_rows(kRoom), right_rows(kRoom);
  JoinReport report;
  ASSERT_EQ((cpu::Join<TypeParam, int32_t>(JoinKind::kFull, left, right, left_rows, right_rows, &report)), std::errc());
  const JoinReport ours = d_report.Read()[0];
  ASSERT_EQ(ours.rows, report.rows);
  ASSERT_LE(report.rows, kRoom);
  left_rows.resize(static_cast<size_t>(report.rows));
  right_rows.resize(left_rows.size());
  std::vector<int32_t> d_left_read = d_left_rows.Read(), d_right_read = d_right_rows.Read();
  d_left_read.resize(left_rows.size());
  d_right_read.resize(right_rows.size());
  EXPECT_EQ(d_left_read, left_rows);
  EXPECT_EQ(d_right_read, right_rows);
  EXPECT_EQ((cuda::Join<TypeParam, int32_t>(JoinKind::kSemi, d_left.view(), d_right.view(), d_left_rows.span(),
                                            d_right_rows.span(), workspace.span(), stream, d_report.span().data())),
            cudaErrorInvalidValue);
}

TYPED_TEST(CudaTyped, SelectIsThatOfTheHost) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  constexpr int64_t kCount = 100'000;
  const std::vector<TypeParam> elements = FewKeys<TypeParam>(kCount, 12);
  const std::vector<TypeParam> threshold = {elements[7]};
  const std::vector<int64_t> positions = {kCount - 1, 3, 3, 70'000};
  const DeviceArray<TypeParam> d_elements(elements), d_threshold(threshold), d_taken(kCount);
  const DeviceArray<int64_t> d_positions(positions);
  const DeviceArray<uint32_t> d_indices(kCount);
  const DeviceArray<SelectReport> d_report(1);
  const DeviceArray<std::byte> workspace(cuda::SelectWorkspaceBytes<TypeParam>(kCount));
  for (const SelectBy by : {SelectBy::kThreshold, SelectBy::kPositions}) {
    Predicate<TypeParam> d_predicate, predicate;
    d_predicate.by = predicate.by = by;
    d_predicate.comparison = predicate.comparison = Comparison::kGreaterOrEqual;
    d_predicate.threshold = d_threshold.span().data();
    predicate.threshold = threshold.data();
    d_predicate.positions = d_positions.view();
    predicate.positions = positions;
    ASSERT_EQ((cuda::Select<TypeParam, uint32_t>(d_elements.view(), d_predicate,
                                                 {d_taken.span(), d_indices.span(), /*partition=*/true},
                                                 workspace.span(), stream, d_report.span().data())),
              cudaSuccess);
    std::vector<TypeParam> taken(kCount);
    std::vector<uint32_t> indices(kCount);
    SelectReport report;
    ASSERT_EQ((cpu::Select<TypeParam, uint32_t>(elements, predicate, {taken, indices, true}, &report)), std::errc());
    EXPECT_EQ(d_report.Read()[0].selected, report.selected);
    EXPECT_TRUE(SameBits(d_taken.Read(), taken));
    EXPECT_EQ(d_indices.Read(), indices);
  }
  EXPECT_EQ((cuda::Select<TypeParam, uint32_t>(d_elements.view(), Predicate<TypeParam>(), {}, workspace.span(), stream,
                                               d_report.span().data())),
            cudaErrorInvalidValue);
}

TYPED_TEST(CudaTyped, GroupReduceIsThatOfTheHost) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  const std::vector<TypeParam> keys = FewKeys<TypeParam>(300'000, 9);
  const std::vector<TypeParam> sorted = Take(keys, Permutation(keys, Order::kAscending));
  const std::vector<int64_t> starts = RunStarts(sorted);
  const auto count = static_cast<int64_t>(sorted.size());
  const DeviceArray<TypeParam> d_keys(sorted), d_distinct(count), d_values(keys);
  const DeviceArray<int64_t> d_counts(count);
  const DeviceArray<uint32_t> d_firsts(count);
  const DeviceArray<SumOf<TypeParam>> d_sums(count);
  const DeviceArray<TypeParam> d_minima(count), d_maxima(count);
  const DeviceArray<GroupReport> d_report(1);
  const DeviceArray<std::byte> workspace(std::max(cuda::GroupReduceWorkspaceBytes<TypeParam, TypeParam>(count),
                                                  cuda::GroupWorkspaceBytes<TypeParam>(count)));
  const Groups<TypeParam, uint32_t> groups{d_distinct.span(), d_counts.span(), d_firsts.span()};
  const auto first_of = [&](const auto& d_array) {
    auto elements = d_array.Read();
    elements.resize(starts.size());
    return elements;
  };

  ASSERT_EQ((cuda::Group<TypeParam, uint32_t>(d_keys.view(), groups, workspace.span(), stream, d_report.span().data())),
            cudaSuccess);
  ASSERT_EQ(d_report.Read()[0].groups, static_cast<int64_t>(starts.size()));
  EXPECT_TRUE(SameBits(first_of(d_distinct), Take(sorted, starts)));

  ASSERT_EQ((cuda::GroupReduce<TypeParam, TypeParam, uint32_t>(d_keys.view(), d_values.view(), groups,
                                                               {d_sums.span(), d_minima.span(), d_maxima.span()},
                                                               workspace.span(), stream, d_report.span().data())),
            cudaSuccess);
  std::vector<SumOf<TypeParam>> sums(sorted.size());
  std::vector<TypeParam> minima(sorted.size()), maxima(sorted.size());
  std::vector<int64_t> counts(sorted.size());
  std::vector<uint32_t> firsts(sorted.size());
  GroupReport report;
  ASSERT_EQ((cpu::GroupReduce<TypeParam, TypeParam, uint32_t>(sorted, keys, {{}, counts, firsts},
                                                              {sums, minima, maxima}, &report)),
            std::errc());
  const auto host = [&](auto elements) {
    elements.resize(starts.size());
    return elements;
  };
  EXPECT_TRUE(SameBits(first_of(d_sums), host(sums)));
  EXPECT_TRUE(SameBits(first_of(d_minima), host(minima)));
  EXPECT_TRUE(SameBits(first_of(d_maxima), host(maxima)));
  EXPECT_TRUE(SameBits(first_of(d_counts), host(counts)));
  EXPECT_TRUE(SameBits(first_of(d_firsts), host(firsts)));
  workspace.Read();
}

TEST(CudaTypedIntervals, ExpandMoveGatherAndScatterAreLoops) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  const std::vector<int64_t> counts = Lengths(4000, 7), starts = Starts(counts);
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const auto intervals = static_cast<int64_t>(counts.size());
  std::vector<uint16_t> source(static_cast<size_t>(total)), values(counts.size());
  std::iota(source.begin(), source.end(), uint16_t{1});
  std::iota(values.begin(), values.end(), uint16_t{5});
  std::vector<int64_t> places(counts.size());  // the intervals in reverse order
  int64_t at = 0;
  for (size_t i = counts.size(); i-- > 0; at += counts[i]) places[i] = at;
  std::vector<uint16_t> turned(source.size()), expanded;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::copy_n(source.begin() + starts[i], counts[i], turned.begin() + places[i]);
    expanded.insert(expanded.end(), static_cast<size_t>(counts[i]), values[i]);
  }

  const DeviceArray<int64_t> d_counts(counts), d_starts(starts), d_places(places);
  const DeviceArray<uint16_t> d_source(source), d_values(values), d_turned(turned);
  const DeviceArray<std::byte> workspace(
      std::max(cuda::ExpandIntervalsWorkspaceBytes<uint16_t>(intervals, total),
               cuda::MoveIntervalsWorkspaceBytes<uint16_t>(intervals, total, total)));
  const DeviceArray<uint16_t> d_expanded(total), d_moved(total), d_scattered(total), d_gathered(total);
  const DeviceArray<OperatorReport> d_report(1);
  ASSERT_EQ(cuda::ExpandIntervals(d_values.view(), d_counts.view(), d_expanded.span(), workspace.span(), stream),
            cudaSuccess);
  EXPECT_EQ(d_expanded.Read(), expanded);
  ASSERT_EQ(cuda::MoveIntervals(d_source.view(), d_starts.view(), d_places.view(), d_counts.view(), total,
                                d_moved.span(), workspace.span(), stream),
            cudaSuccess);
  EXPECT_EQ(d_moved.Read(), turned);
  ASSERT_EQ(cuda::ScatterIntervals(d_source.view(), d_places.view(), d_counts.view(), d_scattered.span(),
                                   workspace.span(), stream, d_report.span().data()),
            cudaSuccess);
  EXPECT_EQ(d_scattered.Read(), turned);
  EXPECT_EQ(d_report.Read()[0].fault, OperatorReport::Fault::kNone);
  ASSERT_EQ(cuda::GatherIntervals(d_turned.view(), d_places.view(), d_counts.view(), d_gathered.span(),
                                  workspace.span(), stream),
            cudaSuccess);
  EXPECT_EQ(d_gathered.Read(), source);
  workspace.Read();
}

template <typename Index>
void CheckLoadBalance() {
  const TestStream stream;
  const std::vector<int64_t> counts = Lengths(4000, 8);
  std::vector<Index> segments, ranks;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int64_t rank = 0; rank < counts[i]; ++rank) {
      segments.push_back(static_cast<Index>(i));
      ranks.push_back(static_cast<Index>(rank));
    }
  }
  const auto total = static_cast<int64_t>(segments.size());
  const DeviceArray<int64_t> d_counts(counts);
  const DeviceArray<Index> d_segments(total), d_ranks(total);
  const DeviceArray<std::byte> workspace(cuda::LoadBalanceWorkspaceBytes<Index>(d_counts.span().size(), total));
  ASSERT_EQ(cuda::LoadBalance(d_counts.view(), d_segments.span(), d_ranks.span(), workspace.span(), stream),
            cudaSuccess);
  EXPECT_EQ(d_segments.Read(), segments);
  EXPECT_EQ(d_ranks.Read(), ranks);
  workspace.Read();
}

TEST(CudaTypedIntervals, LoadBalanceNamesSegmentAndRank) {
  CORANK_SKIP_WITHOUT_GPU();
  CheckLoadBalance<uint32_t>();
  CheckLoadBalance<uint64_t>();
}

TEST(CudaTypedReport, NamesUnsortedInputsAndOverlaps) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  const DeviceArray<int32_t> good(std::vector<int32_t>{1, 2, 3}), bad(std::vector<int32_t>{1, 5, 4}), out(6);
  const DeviceArray<OperatorReport> d_report(1);
  const Span<const int32_t> inputs[] = {good.view(), bad.view()};
  const DeviceArray<std::byte> workspace(1 << 20);
  ASSERT_EQ(cuda::Merge(inputs, out.span(), workspace.span(), stream, {}, d_report.span().data()), cudaSuccess);
  EXPECT_EQ(d_report.Read()[0].fault, OperatorReport::Fault::kUnsorted);
  EXPECT_EQ(d_report.Read()[0].input, 1);
  EXPECT_EQ(d_report.Read()[0].index, 2);

  const DeviceArray<int64_t> places(std::vector<int64_t>{0, 1}), counts(std::vector<int64_t>{2, 1});
  ASSERT_EQ(cuda::ScatterIntervals(good.view(), places.view(), counts.view(), out.span(), workspace.span(), stream,
                                   d_report.span().data()),
            cudaSuccess);
  EXPECT_EQ(d_report.Read()[0].fault, OperatorReport::Fault::kOverlapping);
  EXPECT_EQ(d_report.Read()[0].index, 1);
  EXPECT_EQ(d_report.Read()[0].other, 0);
}

TEST(CudaTypedSort, WithALetterAutoSeesThatKeysAreSorted) {
  CORANK_SKIP_WITHOUT_GPU();
  const TestStream stream;
  std::vector<uint32_t> keys(static_cast<size_t>(cuda::kAutoLookCount));
  std::iota(keys.begin(), keys.end(), 0u);
  const DeviceArray<uint32_t> d_keys(keys), d_sorted(cuda::kAutoLookCount);
  const DeviceArray<std::byte> workspace(cuda::SortWorkspaceBytes<uint32_t>(cuda::kAutoLookCount));
  void* h_letter = nullptr;
  ASSERT_EQ(cudaMallocHost(&h_letter, cuda::kSortLetterBytes), cudaSuccess);
  cuda::SortOptions options;
  options.h_letter = {static_cast<std::byte*>(h_letter), cuda::kSortLetterBytes};
  SortAlgorithm taken = SortAlgorithm::kAuto;
  EXPECT_EQ(cuda::Sort(d_keys.view(), d_sorted.span(), workspace.span(), stream, options, &taken), cudaSuccess);
  EXPECT_EQ(taken, SortAlgorithm::kCopy);
  EXPECT_EQ(d_sorted.Read(), keys);
  EXPECT_EQ(cudaFreeHost(h_letter), cudaSuccess);
}

// Refused before anything reaches a device, so that this runs without one.
TEST(CudaTypedErrors, OperandsThatDoNotFitAreRefused) {
  alignas(256) std::byte memory[512] = {};
  const Span<std::byte> workspace(memory, 512), skewed(memory + 8, 504);
  std::vector<float> keys(10), sorted(10), shorter(9);
  std::vector<uint32_t> indices(10);
  std::vector<uint64_t> wide(10);
  const std::vector<int64_t> offsets = {0, 10}, counts(9, 1);
  const auto sort = [&](Span<float> out, Span<std::byte> bytes, const cuda::SortOptions& options = {}) {
    return cuda::Sort<float>(keys, out, bytes, nullptr, options);
  };
  EXPECT_EQ(sort(shorter, workspace), cudaErrorInvalidValue);
  EXPECT_EQ(sort(sorted, skewed), cudaErrorInvalidValue);
  cuda::SortOptions options;
  options.algorithm = SortAlgorithm::kReverse;
  EXPECT_EQ(sort(sorted, workspace, options), cudaErrorInvalidValue);
  options = {};
  options.h_letter = Span<std::byte>(memory, 8);
  EXPECT_EQ(sort(sorted, workspace, options), cudaErrorInvalidValue);
  options = {};
  options.limit = -2;
  options.segment_offsets = offsets;
  EXPECT_EQ(sort(sorted, workspace, options), cudaErrorInvalidValue);
  options.limit = 4;
  EXPECT_EQ(sort(shorter, workspace, options), cudaErrorInvalidValue);
  EXPECT_EQ(cuda::Argsort(Span<float>(keys), Span<uint64_t>(wide), workspace, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cuda::Search(Span<float>(keys), keys, Span<uint64_t>(wide), workspace, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cuda::ExpandIntervals<float>(keys, counts, shorter, workspace, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cuda::GatherIntervals<float>(keys, offsets, counts, shorter, workspace, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cuda::LoadBalance<uint32_t>(counts, indices, Span<uint32_t>(), workspace, nullptr), cudaErrorInvalidValue);
  const Span<const float> inputs[] = {keys, keys};
  EXPECT_EQ(cuda::Merge<float>(inputs, sorted, workspace, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace corank::testing
