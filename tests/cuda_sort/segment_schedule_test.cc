// The schedule for merging long segments, without a GPU.
#include "kernels/cuda/sort/segment_schedule.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace corank::cuda {
namespace {

TEST(MergeSchedule, PassesHaveAllLevelsAndAreEven) {
  for (int64_t pieces = 2; pieces < 70000; pieces += 1 + pieces / 7) {
    const MergeSchedule schedule(pieces);
    SCOPED_TRACE(pieces);
    EXPECT_GE(int64_t{1} << schedule.levels, pieces);
    EXPECT_LT(int64_t{1} << (schedule.levels - 1), pieces);
    EXPECT_EQ(schedule.LevelsBefore(0), 0);
    EXPECT_EQ(schedule.LevelsBefore(schedule.passes), schedule.levels);
    for (int pass = 0; pass < schedule.passes; ++pass) {
      const int levels = schedule.LevelsBefore(pass + 1) - schedule.LevelsBefore(pass);
      EXPECT_GE(levels, schedule.levels / schedule.passes);
      EXPECT_LE(levels, kMergeLevels);
    }
  }
}

TEST(MergeSchedule, OnePieceNeedsNoPass) { EXPECT_EQ(MergeSchedule(1).passes, 0); }

/// Splits of 32 bits suffice: no run of any pass has more keys.
TEST(MergeSchedule, RunsHaveShortLengthsUpToTheLimit) {
  constexpr int kWindow = 2048;
  const MergeSchedule schedule(MergeSchedule::kMaxShortSplits / kWindow + 1);
  const int last = schedule.LevelsBefore(schedule.passes - 1);
  EXPECT_LE((int64_t{1} << last) * kWindow, int64_t{1} << 32);
}

constexpr int kWindow = 16;

TEST(LongPieces, AreThePartsOfTheWindows) {
  for (int64_t begin = 0; begin < 2 * kWindow; ++begin) {
    for (int64_t end = begin + kWindow + 1; end < begin + 5 * kWindow; ++end) {
      SCOPED_TRACE(::testing::Message() << begin << " to " << end);
      const LongPieces pieces{{begin, end}, kWindow};
      ASSERT_GE(pieces.Count(), 2);
      EXPECT_EQ(pieces.Begin(0), begin);
      EXPECT_EQ(pieces.Begin(pieces.Count()), end);
      for (int64_t piece = 1; piece < pieces.Count(); ++piece) {
        EXPECT_EQ(pieces.Begin(piece) % kWindow, 0);
        EXPECT_EQ(pieces.Begin(piece) / kWindow, begin / kWindow + piece);
        EXPECT_LT(pieces.Begin(piece), end);
      }
    }
  }
}

/// In each pass, every piece is in one group, whose runs are the groups of the previous pass. The last pass has one
/// group.
TEST(MergeGroup, RunsAreTheGroupsOfThePassBefore) {
  for (const int64_t length : {kWindow + 1, 7 * kWindow, 17 * kWindow - 3, 300 * kWindow, 5000 * kWindow + 1}) {
    const LongPieces pieces{{5, 5 + length}, kWindow};
    const MergeSchedule schedule(pieces.Count());
    for (int pass = 0; pass < schedule.passes; ++pass) {
      for (int64_t piece = 0; piece < pieces.Count(); ++piece) {
        SCOPED_TRACE(::testing::Message() << "length " << length << ", pass " << pass << ", piece " << piece);
        const MergeGroup group(pieces, schedule, pass, piece);
        ASSERT_LE(group.RunBegin(0), pieces.Begin(piece));
        ASSERT_GE(group.End(), pieces.Begin(piece + 1));
        int64_t all = 0;
        for (int run = 0; run < kMergeWays; ++run) all += group.RunCount(run);
        ASSERT_EQ(all, group.End() - group.RunBegin(0));
        const int64_t run = (piece - group.first) >> group.levels_before;
        const int64_t run_begin = group.RunBegin(static_cast<int>(run));
        ASSERT_LT(run, 1 << group.levels);
        if (pass == 0) {
          ASSERT_EQ(run_begin, pieces.Begin(piece));
        } else {
          const MergeGroup before(pieces, schedule, pass - 1, piece);
          ASSERT_EQ(run_begin, before.RunBegin(0));
          ASSERT_EQ(run_begin + group.RunCount(static_cast<int>(run)), before.End());
        }
        if (pass + 1 == schedule.passes) {
          ASSERT_EQ(group.RunBegin(0), pieces.segment.begin);
          ASSERT_EQ(group.End(), pieces.segment.end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace corank::cuda
