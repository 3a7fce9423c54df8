// Which keys AUTO selects before it sorts the first ones.
#include "kernels/cuda/sort/selection_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

constexpr KeyType kTypes[] = {KeyType::kUint16, KeyType::kFloat32, KeyType::kInt64};

SortArgs FirstOf(KeyType type, int64_t count, int64_t results) {
  SortArgs args;
  args.key_type = type;
  args.count = count;
  args.limit = results;
  return args;
}

TEST(PlanSelection, NeedsFewResultsOfKeysThatDiffer) {
  EXPECT_GT(PlanSelection(FirstOf(KeyType::kUint32, 6400, 100)).capacity, 0);
  EXPECT_EQ(PlanSelection(FirstOf(KeyType::kUint32, 6400, 101)).capacity, 0);
  EXPECT_EQ(PlanSelection(FirstOf(KeyType::kUint32, 6400, 0)).capacity, 0);
  EXPECT_EQ(PlanSelection(FirstOf(KeyType::kUint32, 6400, -1)).capacity, 0);
  EXPECT_EQ(PlanSelection(FirstOf(KeyType::kInt8, 6400, 100)).capacity, 0);
}

TEST(PlanSelection, HasRoomForAllResultsAndForChance) {
  for (const KeyType type : kTypes) {
    for (const int64_t count : {int64_t{1} << 18, int64_t{1} << 22, int64_t{1} << 28, int64_t{1} << 40}) {
      for (const int64_t results : {int64_t{1}, int64_t{100}, count / 3000, count / 1000, count / 64}) {
        const SelectionPlan plan = PlanSelection(FirstOf(type, count, results));
        EXPECT_GT(plan.number, 0);
        EXPECT_LT(plan.number, SelectionTuning::kGroups / 2);
        EXPECT_GT(plan.likely, results);
        EXPECT_LT(plan.likely, plan.capacity / 2) << "keys near one another may be alike";
      }
    }
  }
}

TEST(PlanSelection, RecordsShowTheOrderOfEqualKeysWhereItMatters) {
  SortArgs args = FirstOf(KeyType::kUint32, 6400, 100);
  EXPECT_EQ(PlanSelection(args).form, SelectedForm::kKeys);
  EXPECT_EQ(RecordBytes(args, PlanSelection(args).form), 4);
  args.value_bytes = 12;
  EXPECT_EQ(PlanSelection(args).form, SelectedForm::kWords);
  EXPECT_EQ(RecordBytes(args, PlanSelection(args).form), 8);
  args.key_type = KeyType::kUint64;
  EXPECT_EQ(PlanSelection(args).form, SelectedForm::kIndices);
  EXPECT_EQ(RecordBytes(args, PlanSelection(args).form), 4);
  EXPECT_FALSE(PlanSelection(args).SortsBlindly());
  args = FirstOf(KeyType::kFloat32, 6400, 100);
  EXPECT_EQ(PlanSelection(args).form, SelectedForm::kWords) << "zeros and NaNs have many bits";
  args.count = (int64_t{1} << 32) + 1;
  EXPECT_EQ(PlanSelection(args).form, SelectedForm::kIndices);
  EXPECT_EQ(RecordBytes(args, PlanSelection(args).form), 8);
}

TEST(SelectsInSegments, NeedsAFewLongOnesAndASmallLimit) {
  constexpr int64_t kLeast = SegmentSelectionTuning::kLeastLength, kMost = SegmentSelectionTuning::kMostResults;
  const int64_t offsets[] = {0};
  SortArgs args = FirstOf(KeyType::kFloat32, 256 * kLeast, kMost);
  EXPECT_FALSE(SelectsInSegments(args, 1));
  args.segment_offsets = offsets;
  args.segment_count = 256;
  EXPECT_TRUE(SelectsInSegments(args, args.count));
  EXPECT_FALSE(SelectsInSegments(args, args.count + 1));
  const auto differs = [&](auto change) {
    SortArgs other = args;
    change(other);
    return !SelectsInSegments(other, 1);
  };
  EXPECT_TRUE(differs([](SortArgs& other) { ++other.segment_count; }));
  EXPECT_TRUE(differs([](SortArgs& other) { ++other.limit; }));
  EXPECT_TRUE(differs([](SortArgs& other) { other.limit = 0; }));
  EXPECT_TRUE(differs([](SortArgs& other) { other.limit = -1; }));
  EXPECT_TRUE(differs([](SortArgs& other) { other.key_type = KeyType::kUint8; }));
  EXPECT_TRUE(differs([](SortArgs& other) { other.algorithm = SortAlgorithm::kMergesort; }));
}

TEST(SegmentSampleRounds, LeaveRoomForAllResultsAndForChance) {
  constexpr double kGroups = SelectionTuning::kGroups;
  for (const int vector_keys : {2, 4, 8}) {
    for (int64_t length = SegmentSelectionTuning::kCapacity + 1; length < int64_t{1} << 25; length += length / 5) {
      for (int64_t limit = 1; limit <= SegmentSelectionTuning::kMostResults; limit += 1 + limit / 3) {
        const int group = vector_keys * SegmentSampleRounds(length, limit, vector_keys);
        const double part = static_cast<double>(limit) / static_cast<double>(length);
        const double most_groups = AtMost(ThresholdNumber(part, group));
        ASSERT_LT(most_groups, kGroups);
        const double selected = -std::expm1(std::log1p(-most_groups / kGroups) / group) * static_cast<double>(length);
        EXPECT_LT(selected, SegmentSelectionTuning::kCapacity)
            << "length " << length << ", limit " << limit << ", " << vector_keys << " keys in a vector";
      }
    }
  }
}

// The kernels' sample, of random keys: their ranks among all.
TEST(PlanSelection, HoldsForRandomKeys) {
  constexpr int64_t kCount = int64_t{1} << 28;
  testing::Random random(5);
  for (const KeyType type : kTypes) {
    for (const int64_t results : {int64_t{1}, int64_t{1000}, int64_t{65536}, kCount / 1000, kCount / 64}) {
      const SelectionPlan plan = PlanSelection(FirstOf(type, kCount, results));
      const int vector_keys = SelectionTuning::kVectorBytes / KeyBytes(type);
      const int group = SelectionTuning::kGroupVectors * (plan.whole_vectors ? vector_keys : 1);
      for (int round = 0; round < 5; ++round) {
        std::vector<int64_t> least(SelectionTuning::kGroups, kCount);
        for (int64_t& rank : least) {
          for (int i = 0; i < group; ++i) rank = std::min<int64_t>(rank, random.Below(kCount));
        }
        std::sort(least.begin(), least.end());
        const int64_t selected = least[static_cast<size_t>(plan.number) - 1] + 1;
        EXPECT_GE(selected, results);
        EXPECT_LE(selected, plan.likely);
      }
    }
  }
}

}  // namespace
}  // namespace corank::cuda
