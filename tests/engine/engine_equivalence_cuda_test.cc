// Random requests must give the same bytes and the same faults on both engines. A failure prints the seed;
// CORANK_TEST_SEED runs that case alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

#include "kernels/cpu/cpu_engine.h"
#include "kernels/cuda/cuda_engine.h"
#include "tests/engine/harness.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

constexpr int kCasesPerOperator = 1500;

class BothEngines : public ::testing::Test {
 protected:
  void SetUp() override {
    static auto& cuda = *new absl::StatusOr<std::unique_ptr<Engine>>(CreateCudaEngine({}));
    static auto& cpu = *new absl::StatusOr<std::unique_ptr<Engine>>(CreateCpuEngine({/*threads=*/3}));
    if (absl::IsFailedPrecondition(cuda.status())) {
      GTEST_SKIP() << "no NVIDIA GPU or driver on this machine: " << cuda.status().message();
    }
    ASSERT_TRUE(cuda.ok()) << cuda.status();
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    cuda_ = std::make_unique<Harness>(cuda->get());
    cpu_ = std::make_unique<Harness>(cpu->get());
  }

  // Calls run(harness, random) on both engines, with the same random numbers, for many seeds, and compares.
  template <typename Run>
  void Compare(uint64_t first_seed, const Run& run) {
    const char* wanted = std::getenv("CORANK_TEST_SEED");
    for (uint64_t seed = first_seed; seed < first_seed + kCasesPerOperator && !HasFailure(); ++seed) {
      if (wanted != nullptr && seed != std::strtoull(wanted, nullptr, 10)) continue;
      if (wanted == nullptr && !RunsNextCase()) continue;
      SCOPED_TRACE(::testing::Message() << "CORANK_TEST_SEED=" << seed);
      Random cuda_random(seed), cpu_random(seed);
      const Outcome cuda = run(*cuda_, cuda_random);
      const Outcome cpu = run(*cpu_, cpu_random);
      EXPECT_EQ(cuda.report.fault, cpu.report.fault);
      EXPECT_EQ(cuda.report.input, cpu.report.input);
      EXPECT_EQ(cuda.report.index, cpu.report.index);
      EXPECT_EQ(cuda.report.other, cpu.report.other);
      EXPECT_EQ(cuda.group.groups, cpu.group.groups);
      EXPECT_EQ(cuda.group.unsorted, cpu.group.unsorted);
      EXPECT_EQ(cuda.group.overflow, cpu.group.overflow);
      if (cpu.report.fault == OperatorReport::Fault::kNone && cpu.group.overflow < 0) {
        EXPECT_TRUE(cuda.outputs == cpu.outputs);
      }
    }
  }

 private:
  std::unique_ptr<Harness> cuda_, cpu_;
};

template <typename T, size_t kCount>
T OneOf(const T (&choices)[kCount], Random& random) {
  return choices[random.Below(static_cast<int64_t>(kCount))];
}

constexpr Order kOrders[] = {Order::kAscending, Order::kDescending};
constexpr SortAlgorithm kSortAlgorithms[] = {SortAlgorithm::kAuto, SortAlgorithm::kMergesort, SortAlgorithm::kRadix,
                                             SortAlgorithm::kOddEvenMergesort};
constexpr int kWidths[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 100, 256};

// Mostly small counts, sometimes several tiles, and rarely enough for the paths of large arrays.
int64_t AnyCount(Random& random) {
  if (random.OneIn(500)) return random.Below(int64_t{1} << 22);
  return random.OneIn(10) ? random.Below(30000) : random.Below(300);
}

Bytes SortedKeys(KeyType type, Order order, int64_t count, Random& random) {
  const Bytes keys = MakeKeys(type, OneOf(kAllDistributions, random), count, random.Next());
  // Sometimes the keys stay unsorted: then the faults must be equal.
  if (random.OneIn(8)) return keys;
  return Gather(keys, KeyBytes(type), StableOrder(type, order, keys));
}

std::vector<int64_t> AnyCounts(Random& random) {
  std::vector<int64_t> counts(static_cast<size_t>(AnyCount(random) / 4));
  const int64_t bound = random.OneIn(4) ? 300 : 6;
  for (int64_t& count : counts) count = random.OneIn(5) ? 0 : random.Below(bound);
  return counts;
}

TEST_F(BothEngines, SortGivesTheSameBytes) {
  Compare(100000, [](Harness& harness, Random& random) {
    SortCase test;
    test.type = OneOf(kAllKeyTypes, random);
    test.order = OneOf(kOrders, random);
    test.algorithm = OneOf(kSortAlgorithms, random);
    const int64_t count = AnyCount(random);
    test.keys = MakeKeys(test.type, OneOf(kAllDistributions, random), count, random.Next());
    if (random.OneIn(2)) {
      test.value_bytes = OneOf(kWidths, random);
      test.values = MakeBytes(count * test.value_bytes, random.Next());
    } else if (random.OneIn(2)) {
      test.want_indices = true;
      test.want_keys = random.OneIn(2);
    }
    if (random.OneIn(3)) {
      test.segment_offsets = {0};
      const int64_t longest = random.OneIn(2) ? 10 : 3000;
      while (test.segment_offsets.back() < count) {
        test.segment_offsets.push_back(std::min(count, test.segment_offsets.back() + random.Below(longest)));
      }
    } else if (random.OneIn(3)) {
      test.limit = random.Below(count + 10);
    }
    if (test.segment_offsets.empty() && random.OneIn(3)) test.offset = random.Below(count + 10);
    return harness.Sort(test);
  });
}

// Few distinct bytes, so that rows are equal in it and the next column decides.
TestColumn AnyColumn(int64_t rows, Random& random) {
  const Order order = OneOf(kOrders, random);
  const int64_t kinds = random.OneIn(3) ? 256 : 1 + random.Below(3);
  const auto fill = [&](uint8_t& byte) { byte = static_cast<uint8_t>(random.Below(kinds)); };
  if (random.OneIn(2)) {
    const KeyType type = OneOf(kAllKeyTypes, random);
    return NumberColumn(type, order, MakeKeys(type, OneOf(kAllDistributions, random), rows, random.Next()));
  }
  if (random.OneIn(2)) {
    const int width = OneOf(kWidths, random);
    Bytes data(static_cast<size_t>(rows * width));
    std::for_each(data.begin(), data.end(), fill);
    return BytesColumn(width, order, std::move(data));
  }
  const int64_t longest = random.OneIn(3) ? 40 : 9;
  TestColumn column = StringColumn(order, {});
  for (int64_t row = 0; row < rows; ++row) column.offsets.push_back(column.offsets.back() + random.Below(longest + 1));
  column.data.resize(static_cast<size_t>(column.offsets.back()));
  std::for_each(column.data.begin(), column.data.end(), fill);
  return column;
}

TestColumn WithNulls(TestColumn column, Random& random) {
  constexpr NanOrder kNans[] = {NanOrder::kGreatest, NanOrder::kBesideNulls, NanOrder::kAsNulls};
  column.nulls = random.OneIn(2) ? NullOrder::kFirst : NullOrder::kLast;
  column.nans = OneOf(kNans, random);
  if (random.OneIn(3)) return column;
  const int64_t rarity = random.OneIn(2) ? 3 : 100;
  for (int64_t row = column.rows(); row > 0; --row) column.valid.push_back(!random.OneIn(rarity));
  return column;
}

TEST_F(BothEngines, SortColumnsGivesTheSameBytes) {
  Compare(700000, [](Harness& harness, Random& random) {
    ColumnSortCase test;
    test.algorithm = OneOf(kSortAlgorithms, random);
    const int64_t rows = std::min(AnyCount(random), int64_t{100000});
    bool has_strings = false;
    for (int64_t columns = 1 + random.Below(4); columns > 0; --columns) {
      test.columns.push_back(AnyColumn(rows, random));
      if (random.OneIn(2)) test.columns.back() = WithNulls(std::move(test.columns.back()), random);
      has_strings |= test.columns.back().kind == ColumnKind::kStrings;
    }
    if (random.OneIn(3)) {
      test.algorithm = SortAlgorithm::kAuto;
      test.run_offsets = {0, rows};
      for (int64_t cuts = random.Below(random.OneIn(5) ? 200 : 5); cuts > 0; --cuts) {
        test.run_offsets.push_back(random.Below(rows + 1));
      }
      std::sort(test.run_offsets.begin(), test.run_offsets.end());
      // Sometimes the runs stay unsorted: then the faults must be equal.
      if (!random.OneIn(8)) test.columns = WithSortedRuns(test.columns, test.run_offsets);
    }
    if (random.OneIn(2)) {
      test.value_bytes = OneOf(kWidths, random);
      test.values = MakeBytes(rows * test.value_bytes, random.Next());
    } else {
      test.want_indices = true;
      test.want_columns = random.OneIn(2);
    }
    // Under a limit, the rest of an output of strings is unspecified.
    if (!has_strings && random.OneIn(3)) test.limit = random.Below(rows + 10);
    return harness.SortColumns(test);
  });
}

TEST_F(BothEngines, MergeGivesTheSameBytes) {
  Compare(200000, [](Harness& harness, Random& random) {
    constexpr MergeAlgorithm kAlgorithms[] = {MergeAlgorithm::kAuto, MergeAlgorithm::kMergePath, MergeAlgorithm::kBasic,
                                              MergeAlgorithm::kTiled, MergeAlgorithm::kCircularBuffer};
    MergeCase test;
    test.type = OneOf(kAllKeyTypes, random);
    test.order = OneOf(kOrders, random);
    test.algorithm = OneOf(kAlgorithms, random);
    if (random.OneIn(2)) test.value_bytes = OneOf(kWidths, random);
    const int64_t inputs = random.OneIn(10) ? random.Below(60) : 2 + random.Below(3);
    for (int64_t i = 0; i < inputs; ++i) {
      const int64_t count = random.OneIn(8) ? 0 : AnyCount(random);
      test.keys.push_back(SortedKeys(test.type, test.order, count, random));
      test.values.push_back(MakeBytes(count * test.value_bytes, random.Next()));
    }
    return harness.Merge(test);
  });
}

TEST_F(BothEngines, ExpandGivesTheSameBytes) {
  Compare(300000, [](Harness& harness, Random& random) {
    const std::vector<int64_t> counts = AnyCounts(random);
    const int width = OneOf(kWidths, random);
    const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * width, random.Next());
    return harness.Expand(values, width, counts);
  });
}

TEST_F(BothEngines, LoadBalanceGivesTheSameBytes) {
  Compare(400000, [](Harness& harness, Random& random) { return harness.LoadBalance(AnyCounts(random)); });
}

TEST_F(BothEngines, MoveGivesTheSameBytes) {
  Compare(500000, [](Harness& harness, Random& random) {
    MoveCase test;
    test.counts = AnyCounts(random);
    test.element_bytes = OneOf(kWidths, random);
    const int64_t source_count = 400 + random.Below(1000);
    int64_t end = 0;
    for (int64_t count : test.counts) {
      test.source_offsets.push_back(random.Below(source_count - count + 1));
      end += random.OneIn(3) ? random.Below(3) : 0;
      test.destination_offsets.push_back(end);
      end += count;
    }
    // Another order of the destinations: a rotation.
    if (!test.counts.empty()) {
      const int64_t turn = random.Below(static_cast<int64_t>(test.counts.size()));
      std::rotate(test.counts.begin(), test.counts.begin() + turn, test.counts.end());
      std::rotate(test.source_offsets.begin(), test.source_offsets.begin() + turn, test.source_offsets.end());
      std::rotate(test.destination_offsets.begin(), test.destination_offsets.begin() + turn,
                  test.destination_offsets.end());
      // Sometimes an overlap.
      if (random.OneIn(4)) {
        int64_t& moved = test.destination_offsets[static_cast<size_t>(random.Below(turn + 1))];
        moved = std::max<int64_t>(0, moved - random.Below(4));
      }
    }
    test.source = MakeBytes(source_count * test.element_bytes, random.Next());
    test.destination = MakeBytes(end * test.element_bytes, random.Next());
    return harness.Move(test);
  });
}

TEST_F(BothEngines, SearchGivesTheSameBytes) {
  Compare(600000, [](Harness& harness, Random& random) {
    SearchCase test;
    test.type = OneOf(kAllKeyTypes, random);
    test.order = OneOf(kOrders, random);
    test.bound = random.OneIn(2) ? SearchBound::kLower : SearchBound::kUpper;
    test.haystack = SortedKeys(test.type, test.order, AnyCount(random), random);
    test.needles = MakeKeys(test.type, OneOf(kAllDistributions, random), AnyCount(random), random.Next());
    return harness.Search(test);
  });
}

TEST_F(BothEngines, SearchColumnsGivesTheSameBytes) {
  Compare(650000, [](Harness& harness, Random& random) {
    ColumnSearchCase test;
    test.bound = random.OneIn(2) ? SearchBound::kLower : SearchBound::kUpper;
    const int64_t haystack = std::min(AnyCount(random), int64_t{50000});
    const int64_t needles = std::min(AnyCount(random), int64_t{50000});
    for (int64_t columns = 1 + random.Below(4); columns > 0; --columns) {
      TestColumn all = AnyColumn(haystack + needles, random);
      if (random.OneIn(2)) all = WithNulls(std::move(all), random);
      std::vector<int64_t> rows(static_cast<size_t>(haystack + needles));
      std::iota(rows.begin(), rows.end(), 0);
      test.haystack.push_back(TakeRows(all, {rows.begin(), rows.begin() + haystack}));
      test.needles.push_back(TakeRows(all, {rows.begin() + haystack, rows.end()}));
      // Either table may be without nulls.
      if (random.OneIn(4)) test.haystack.back().valid.clear();
      if (random.OneIn(4)) test.needles.back().valid.clear();
    }
    // Sometimes the haystack stays unsorted: then the faults must be equal.
    if (!random.OneIn(8)) test.haystack = WithSortedRuns(test.haystack, {0, haystack});
    return harness.SearchColumns(test);
  });
}

TEST_F(BothEngines, GroupGivesTheSameBytes) {
  Compare(800000, [](Harness& harness, Random& random) {
    GroupCase test;
    test.type = OneOf(kAllKeyTypes, random);
    test.order = OneOf(kOrders, random);
    // Runs in no order have the same groups on both engines too.
    test.check_sorted = !random.OneIn(4);
    const int64_t count = AnyCount(random);
    test.keys = MakeKeys(test.type, OneOf(kAllDistributions, random), count, random.Next());
    if (test.check_sorted)
      test.keys = Gather(test.keys, KeyBytes(test.type), StableOrder(test.type, test.order, test.keys));
    test.value_type = OneOf(kAllKeyTypes, random);
    if (random.OneIn(2))
      test.values = MakeKeys(test.value_type, OneOf(kAllDistributions, random), count, random.Next());
    if (random.OneIn(3)) {
      test.indices.resize(static_cast<size_t>(count));
      for (int64_t& index : test.indices) index = random.Below(count);
    }
    return harness.Group(test);
  });
}

}  // namespace
}  // namespace corank::testing
