// The mergesort of the GPU, one thread after the other: PartitionKernel's and MergeKernel's arithmetic on plain arrays.
#include "kernels/cuda/sort/run_pairs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

/// A key with its origin. Rank looks at the upper half only, so that equal keys can be told apart.
uint64_t MakeKey(int64_t rank, int64_t origin) {
  return static_cast<uint64_t>(rank) << 32 | static_cast<uint64_t>(origin);
}
uint64_t RankOf(uint64_t key) { return key >> 32; }

std::vector<uint64_t> RandomKeys(Random& random, int64_t count) {
  const int64_t distinct = 1 + random.Below(count + 1);
  std::vector<uint64_t> keys(count);
  for (int64_t i = 0; i < count; ++i) keys[i] = MakeKey(random.Below(distinct), i);
  return keys;
}

/// Offsets of random segments, some empty.
std::vector<int64_t> RandomOffsets(Random& random, int64_t count, int64_t segments) {
  std::vector<int64_t> offsets = {0, count};
  for (int64_t i = 1; i < segments; ++i) offsets.push_back(random.Below(count + 1));
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

/// Sorts keys in [begin, end), each of its segments for itself, stably.
void SortSegments(std::vector<uint64_t>& keys, const std::vector<int64_t>& offsets, int64_t begin, int64_t end) {
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    const int64_t from = std::max(begin, offsets[s]), to = std::min(end, offsets[s + 1]);
    if (from >= to) continue;
    std::stable_sort(keys.begin() + from, keys.begin() + to,
                     [](uint64_t x, uint64_t y) { return RankOf(x) < RankOf(y); });
  }
}

constexpr int kItems = 3;
constexpr int kTile = 4 * kItems;
constexpr int64_t kSortTile = 2 * kTile;

/// MergeKernel on the tile that starts at tile_start.
template <bool kSegmented>
void MergeTile(const std::vector<uint64_t>& in, const RunPair& pair, const ActiveRange& active, int64_t tile_start,
               std::vector<uint64_t>& out) {
  const int64_t count = static_cast<int64_t>(in.size());
  const int64_t tile_end = std::min<int64_t>(tile_start + kTile, count);
  const int64_t a_start = SplitAt(tile_start, pair, active, in.data(), RankOf);
  const int64_t a_end = SplitAt(tile_end, pair, active, in.data(), RankOf);
  const int64_t b_start = pair.middle + tile_start - a_start;
  TilePair tile{};
  tile.a_begin = 2;
  tile.a_count = static_cast<int>(a_end - a_start);
  tile.b_begin = tile.a_begin + tile.a_count + 5;
  tile.b_count = static_cast<int>(tile_end - tile_start) - tile.a_count;
  ASSERT_GE(tile.b_count, 0);
  tile.active_begin = static_cast<int>(std::clamp(active.begin, tile_start, tile_end) - tile_start);
  tile.active_end = static_cast<int>(std::clamp(active.end, tile_start, tile_end) - tile_start);
  std::vector<uint64_t> shared(tile.b_begin + tile.b_count);
  std::copy_n(in.begin() + a_start, tile.a_count, shared.begin() + tile.a_begin);
  std::copy_n(in.begin() + b_start, tile.b_count, shared.begin() + tile.b_begin);
  for (int first = 0; first < kTile; first += kItems) {
    uint64_t keys[kItems];
    uint32_t sources[kItems];
    MergeItems<kSegmented>(shared.data(), tile, first, RankOf, keys, sources);
    for (int i = 0; i < kItems && tile_start + first + i < tile_end; ++i) {
      ASSERT_EQ(keys[i], shared[tile.Place(static_cast<int>(sources[i]))]) << "a source is not its key's";
      out[tile_start + first + i] = keys[i];
    }
  }
}

template <bool kSegmented>
void TestMergesort(int64_t count, int64_t segments, Random& random) {
  std::vector<uint64_t> keys = RandomKeys(random, count);
  const std::vector<int64_t> offsets =
      kSegmented ? RandomOffsets(random, count, segments) : std::vector<int64_t>{0, count};
  std::vector<uint64_t> expected = keys;
  SortSegments(expected, offsets, 0, count);
  for (int64_t start = 0; start < count; start += kSortTile) SortSegments(keys, offsets, start, start + kSortTile);
  for (int64_t width = kSortTile; width < count; width *= 2) {
    std::vector<uint64_t> merged(count);
    for (int64_t tile_start = 0; tile_start < count; tile_start += kTile) {
      const RunPair pair = PairAt(tile_start, width, count);
      const ActiveRange active =
          kSegmented ? SegmentAcross(pair, offsets.data(), segments) : ActiveRange{pair.start, pair.end};
      MergeTile<kSegmented>(keys, pair, active, tile_start, merged);
      if (::testing::Test::HasFatalFailure()) return;
    }
    keys = merged;
  }
  ASSERT_EQ(keys, expected);
}

TEST(RunPairs, MergePassesSortStably) {
  constexpr uint64_t kSeed = 7;
  Random random(kSeed);
  for (int64_t count = 0; count < 400; ++count) {
    SCOPED_TRACE(::testing::Message() << "count " << count << ", seed " << kSeed);
    TestMergesort<false>(count, 1, random);
    if (HasFatalFailure()) return;
  }
}

TEST(RunPairs, MergePassesSortEachSegmentForItself) {
  constexpr uint64_t kSeed = 8;
  Random random(kSeed);
  for (int64_t count = 0; count < 400; ++count) {
    for (const int64_t segments : {int64_t{1}, int64_t{3}, 1 + random.Below(count + 1), 3 * count + 1}) {
      SCOPED_TRACE(::testing::Message() << "count " << count << ", segments " << segments << ", seed " << kSeed);
      TestMergesort<true>(count, segments, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RunPairs, LastPairIsCutAtTheCount) {
  const RunPair whole = PairAt(95, 10, 100);
  EXPECT_EQ(whole.start, 80);
  EXPECT_EQ(whole.middle, 90);
  EXPECT_EQ(whole.end, 100);
  const RunPair cut = PairAt(85, 10, 83 + 5);
  EXPECT_EQ(cut.middle, 88);
  EXPECT_EQ(cut.end, 88);
}

TEST(RunPairs, WidthsNearTheLargestCountDoNotOverflow) {
  constexpr int64_t kCount = INT64_MAX;
  const RunPair pair = PairAt(kCount - 1, int64_t{1} << 62, kCount);
  EXPECT_EQ(pair.start, 0);
  EXPECT_EQ(pair.middle, int64_t{1} << 62);
  EXPECT_EQ(pair.end, kCount);
}

TEST(SegmentAcross, IsEmptyWhereASegmentStartsAtTheMiddle) {
  const std::vector<int64_t> offsets = {0, 10, 10, 10, 20};
  const ActiveRange active = SegmentAcross({0, 10, 20}, offsets.data(), 4);
  EXPECT_EQ(active.begin, 10);
  EXPECT_EQ(active.end, 10);
}

TEST(SegmentAcross, IsCutToThePair) {
  const std::vector<int64_t> offsets = {0, 3, 100};
  const ActiveRange active = SegmentAcross({20, 30, 40}, offsets.data(), 2);
  EXPECT_EQ(active.begin, 20);
  EXPECT_EQ(active.end, 40);
}

}  // namespace
}  // namespace corank::cuda
