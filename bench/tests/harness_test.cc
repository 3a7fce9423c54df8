#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/harness/contest.h"
#include "bench/harness/inputs.h"
#include "bench/harness/intervals.h"
#include "bench/harness/results.h"
#include "bench/harness/statistics.h"

namespace corank::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Bits>
std::vector<Bits> Keys(const InputSpec& spec) {
  std::vector<Bits> keys;
  for (int64_t i = 0; i < spec.count; ++i) keys.push_back(InputKey<Bits>(spec, i));
  return keys;
}

InputSpec Spec(Distribution distribution, int64_t count) {
  InputSpec spec;
  spec.distribution = distribution;
  spec.count = count;
  return spec;
}

/// The number of ascending runs in the keys.
template <typename Bits>
int Runs(const std::vector<Bits>& keys) {
  int runs = keys.empty() ? 0 : 1;
  for (size_t i = 1; i < keys.size(); ++i) runs += keys[i] < keys[i - 1] ? 1 : 0;
  return runs;
}

template <typename Bits>
size_t DistinctKeys(std::vector<Bits> keys) {
  std::sort(keys.begin(), keys.end());
  return static_cast<size_t>(std::unique(keys.begin(), keys.end()) - keys.begin());
}

Row FullRow() {
  Row row;
  row.row = "sort";
  row.type = "u32";
  row.n = 1024;
  row.distribution = "uniform";
  row.unit = "Gkeys/s";
  row.reference_name = "other";
  row.ours = {3, 2.5, 3.5, 9};
  row.reference = {2, 1.5, 2.5, 9};
  return row;
}

TEST(Statistics, QuantilesAreLinearBetweenSamples) {
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(Quantile({5, 7}, 0), 5);
  EXPECT_EQ(Quantile({5, 7}, 1), 7);
  EXPECT_EQ(Quantile({}, 0.5), 0);
}

TEST(Statistics, ARateSwapsTheQuantilesOfItsSeconds) {
  const Summary rate = GigaPerSecond({2, 1, 4, 9}, 4e9);
  EXPECT_EQ(rate.median, 2);
  EXPECT_EQ(rate.p10, 1);
  EXPECT_EQ(rate.p90, 4);
}

TEST(Row, RatioIsAboveOneWhereOursIsBetter) {
  Row row = FullRow();
  EXPECT_EQ(row.Ratio(), 1.5);
  row.better = Better::kLower;
  EXPECT_NEAR(row.Ratio(), 2.0 / 3.0, 1e-12);
  row.reference_name.clear();
  EXPECT_EQ(row.Ratio(), 0);
}

TEST(Row, GoalsAreMetOrMissed) {
  Row row = FullRow();
  row.RequireRatio(1.5);
  EXPECT_TRUE(*row.met);
  row.RequireRatio(1.6);
  EXPECT_FALSE(*row.met);
  row.ceiling = Ceiling{"device copy", row.ours.median / 0.9};
  EXPECT_DOUBLE_EQ(row.PartOfCeiling(), 0.9);
  row.RequirePartOfCeiling(0.92);
  EXPECT_FALSE(*row.met);
  EXPECT_EQ(row.goal, ">= 0.92 of device copy");
  row.ours = Summarize({250});
  row.reference = Summarize({200});
  row.RequireExtra(50, "kernels");
  EXPECT_TRUE(*row.met);
  row.RequireExtra(49, "kernels");
  EXPECT_FALSE(*row.met);
  EXPECT_EQ(row.goal, "<= kernels + 49 us");
  row.DropGoal();
  EXPECT_FALSE(row.met.has_value());
}

TEST(Results, JsonEscapesTextAndMarksAFailure) {
  Row row = FullRow();
  row.goal = "ratio >= 2";
  row.error = "a \"quoted\"\nline";
  const std::string json = ToJson({"machine", "date", "commit", "command"}, {row});
  EXPECT_THAT(json, HasSubstr(R"("error": "a \"quoted\"\u000aline")"));
  EXPECT_THAT(json, HasSubstr(R"("ours": null)"));
  EXPECT_THAT(json, HasSubstr(R"("met": false)"));
}

TEST(Results, AFailedWriteLeavesTheOldFile) {
  const std::string path = ::testing::TempDir() + "/corank_results_test.json";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  EXPECT_FALSE(WriteFileAtomically(path + "/below", "new").ok());
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_EQ(content.str(), "old");
  std::remove(path.c_str());
}

TEST(Contest, AFailedCheckBecomesAnErrorRowAndAnExitCode) {
  const std::string path = ::testing::TempDir() + "/corank_contest_test.json";
  Case entry;
  entry.name = "failing";
  entry.repetitions = 2;
  entry.failure_row = FullRow();
  entry.prepare = [] {
    Contest contest;
    contest.contestants.push_back({"ours", [] { return absl::StatusOr<double>(1.0); }});
    contest.check = [] { return absl::InternalError("wrong answer"); };
    contest.rows = [](const std::vector<Summary>&) { return std::vector<Row>{FullRow()}; };
    return absl::StatusOr<Contest>(contest);
  };
  SuiteOptions options;
  options.out = path;
  EXPECT_EQ(RunSuite(options, {entry}), 1);
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_THAT(content.str(), HasSubstr(R"("error": "wrong answer")"));
  EXPECT_THAT(content.str(), Not(HasSubstr(R"("ours": 3)")));
  std::remove(path.c_str());
}

TEST(Inputs, DistributionsHaveTheShapesTheyAreNamedFor) {
  constexpr int64_t kCount = 100000;
  EXPECT_EQ(Runs(Keys<uint32_t>(Spec(Distribution::kSorted, kCount))), 1);
  EXPECT_EQ(Runs(Keys<uint64_t>(Spec(Distribution::kSorted, kCount))), 1);
  EXPECT_EQ(Runs(Keys<uint16_t>(Spec(Distribution::kSorted, kCount))), 1);
  EXPECT_EQ(Runs(Keys<uint32_t>(Spec(Distribution::kReversed, kCount))), kCount);
  EXPECT_EQ(Runs(Keys<uint32_t>(Spec(Distribution::kSixteenRuns, kCount))), 16);
  EXPECT_EQ(Runs(Keys<uint32_t>(Spec(Distribution::kSaw, kCount))), 1000);
  EXPECT_EQ(DistinctKeys(Keys<uint32_t>(Spec(Distribution::kAllEqual, kCount))), 1u);
  EXPECT_EQ(DistinctKeys(Keys<uint32_t>(Spec(Distribution::kSixteenValues, kCount))), 16u);
  const int disturbed = Runs(Keys<uint32_t>(Spec(Distribution::kDisturbed, kCount)));
  EXPECT_GT(disturbed, kCount / 200);
  EXPECT_LT(disturbed, kCount / 50);
  uint64_t live = 0;
  for (const uint64_t key : Keys<uint64_t>(Spec(Distribution::kSixteenBits, kCount))) live |= key;
  EXPECT_EQ(live, uint64_t{0xFFFF} << 24);
}

/// Merges the adversary's runs pass by pass: each pass must leave sorted runs of twice the length, and for many threads
/// the first keys must lie in one bank. Covers tiles of whole periods and others.
TEST(Inputs, AdversaryIsSortedByMergePassesThatMeetInOneBank) {
  const struct {
    int64_t tile, items, period;
  } kShapes[] = {{512 * 17, 17, 34}, {256 * 32, 39, 39}, {256 * 32, 32, 64}, {256 * 17, 19, 38}};
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(shape.items);
    InputSpec spec = Spec(Distribution::kMergeAdversary, shape.tile * 16);
    spec.adversary = {shape.tile, shape.items};
    std::vector<uint32_t> keys = Keys<uint32_t>(spec);
    EXPECT_EQ(DistinctKeys(keys), keys.size());
    for (int64_t run = shape.tile; run < spec.count; run *= 2) {
      std::vector<uint32_t> merged(keys.size());
      int64_t in_one_bank = 0;
      for (int64_t start = 0; start < spec.count; start += 2 * run) {
        const auto begin = keys.begin() + start;
        ASSERT_TRUE(std::is_sorted(begin, begin + run));
        ASSERT_TRUE(std::is_sorted(begin + run, begin + 2 * run));
        int64_t from_first = 0;
        for (int64_t output = 0; output < 2 * run; ++output) {
          const bool first =
              from_first < run && (output - from_first == run || begin[from_first] < begin[run + output - from_first]);
          const bool is_in_half = output < run / shape.period * shape.period;
          if (is_in_half && output % shape.period == 0 && from_first % 32 == 0) ++in_one_bank;
          merged[static_cast<size_t>(start + output)] = first ? begin[from_first] : begin[run + output - from_first];
          from_first += first ? 1 : 0;
        }
      }
      EXPECT_EQ(in_one_bank, spec.count / (2 * run) * (run / shape.period)) << "run " << run;
      keys = merged;
    }
    EXPECT_EQ(Runs(keys), 1);
  }
}

TEST(Intervals, ShuffledIntervalsCoverSourceAndDestinationOnce) {
  constexpr int64_t kTotal = 10007;
  const IntervalSet set = MakeShuffledIntervals(kTotal, 16);
  std::vector<int> read(kTotal, 0), written(kTotal, 0);
  for (size_t i = 0; i < set.counts.size(); ++i) {
    for (int64_t j = 0; j < set.counts[i]; ++j) {
      ++read[static_cast<size_t>(set.source_offsets[i] + j)];
      ++written[static_cast<size_t>(set.destination_offsets[i] + j)];
    }
  }
  EXPECT_THAT(read, ::testing::Each(1));
  EXPECT_THAT(written, ::testing::Each(1));
}

}  // namespace
}  // namespace corank::bench
