// The pure arithmetic of the interval kernels, on the CPU.
#include "kernels/cuda/intervals/interval_units.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "kernels/cuda/intervals/interval_bins.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

TEST(HeadsUpTo, CountsTheBitsUpToAndWithAPosition) {
  Random random(1);
  for (uint32_t heads : {0u, 1u, 0x80000000u, 0xFFFFFFFFu, 0x80000001u, static_cast<uint32_t>(random.Next())}) {
    int expected = 0;
    for (int position = 0; position < 32; ++position) {
      expected += static_cast<int>(heads >> position & 1);
      EXPECT_EQ(cuda::HeadsUpTo(heads, position), expected) << heads << " at " << position;
      EXPECT_EQ(cuda::HeadsBefore(heads, position), expected - static_cast<int>(heads >> position & 1));
    }
  }
}

TEST(BlocksTouched, CountsWholeGroupsOfTheSixteenByteBlocksThatHoldAByte) {
  for (int log_group : {0, 1, 3}) {
    const int64_t group_bytes = int64_t{16} << log_group;
    for (int64_t address = 1024; address < 1024 + group_bytes; ++address) {
      for (int64_t bytes = 0; bytes < 300; ++bytes) {
        std::set<int64_t> groups;
        for (int64_t i = 0; i < bytes; ++i) groups.insert((address + i) / group_bytes);
        ASSERT_EQ(cuda::BlocksTouched(address, bytes, log_group), static_cast<int64_t>(groups.size()) << log_group)
            << address << ", " << bytes;
        if (bytes > 0) {
          ASSERT_EQ(cuda::FirstBlock(address, log_group) * 16, *groups.begin() * group_bytes);
        }
      }
    }
  }
  EXPECT_EQ(cuda::BlocksTouched(8, int64_t{1} << 45, 0), (int64_t{1} << 41) + 1);
}

TEST(BytesBetween, TakesSixteenBytesFromAnyPlaceInTwoBlocks) {
  uint8_t bytes[32];
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<uint8_t>(7 * i + 3);
  uint32_t words[8];
  std::memcpy(words, bytes, sizeof(words));
  for (int shift = 0; shift < 16; ++shift) {
    uint32_t out[4];
    cuda::BytesBetween(words, shift, out);
    EXPECT_EQ(std::memcmp(out, bytes + shift, sizeof(out)), 0) << shift;
  }
}

TEST(LeftCount, KeepsTilesAndWindowsApart) {
  const cuda::LeftCount count = cuda::PackLeft(3, (int64_t{1} << 39) - 5) + cuda::PackLeft(1, 5);
  EXPECT_EQ(cuda::LeftTiles(count), 4);
  EXPECT_EQ(cuda::LeftWindows(count), int64_t{1} << 39);
}

TEST(TileOfWindow, FindsTheTileOfEveryWindow) {
  Random random(2);
  for (int64_t tiles = 1; tiles < 20; ++tiles) {
    std::vector<cuda::LeftTile> left;
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t windows = 1 + random.Below(4);
      left.push_back({i, 0, static_cast<int64_t>(expected.size()), windows});
      expected.insert(expected.end(), static_cast<size_t>(windows), i);
    }
    for (size_t window = 0; window < expected.size(); ++window) {
      EXPECT_EQ(cuda::TileOfWindow(left.data(), tiles, static_cast<int64_t>(window)), expected[window]);
    }
  }
}

TEST(TileIntervals, AreFewerWhereIntervalsAreLong) {
  using Tuning = cuda::MoveTuning;
  const int64_t count = int64_t{1} << 33;
  EXPECT_EQ(cuda::TileIntervals<Tuning>(count, 0), Tuning::kTile);
  EXPECT_EQ(cuda::TileIntervals<Tuning>(count, count), Tuning::kTile);
  EXPECT_EQ(cuda::TileIntervals<Tuning>(count, 100 * count), Tuning::kTileUnits / 100 / 4 * 4);
  EXPECT_EQ(cuda::TileIntervals<Tuning>(count, 1000000 * count), cuda::IntervalTuning::kLeastTile);
  EXPECT_EQ(cuda::TileIntervals<Tuning>(1, int64_t{1} << 40), cuda::IntervalTuning::kLeastTile);
}

TEST(BinOf, FindsTheBinBetweenTwoBeginnings) {
  for (uint32_t extent : {3073u, 4096u, 1000003u, 1u << 27, (1u << 27) + 12345, 0x7FFFFFFFu}) {
    for (int bins : {1, 1536, 2048}) {
      const uint32_t scale = cuda::BinScale(extent, bins);
      ASSERT_LT(cuda::BinOf(extent - 1, scale), static_cast<uint32_t>(bins)) << extent;
      EXPECT_EQ(cuda::BinBegin(0, scale), 0u);
      for (uint32_t bin = 0; bin < static_cast<uint32_t>(bins); ++bin) {
        const uint64_t begin = cuda::BinBegin(bin, scale), end = cuda::BinBegin(bin + 1, scale);
        ASSERT_LE(end - begin, cuda::MostBinWords(scale)) << extent << ", " << bin;
        if (end == begin || end > UINT32_MAX) continue;
        ASSERT_EQ(cuda::BinOf(static_cast<uint32_t>(begin), scale), bin) << extent;
        ASSERT_EQ(cuda::BinOf(static_cast<uint32_t>(end - 1), scale), bin) << extent;
      }
    }
  }
  // The number of a filler lies after the last bin.
  const uint32_t scale = cuda::BinScale(0x7FFFFFFFu, cuda::BinTuning::kBins);
  EXPECT_LT(cuda::BinBegin(cuda::BinTuning::kBins, scale), UINT32_MAX);
}

TEST(UnitBytes, IsTheWidestPowerOfTwoUpToSixteenThatDividesAnElement) {
  const int expected[][2] = {{1, 1},  {2, 2},   {3, 1},  {4, 4},   {6, 2},   {8, 8},
                             {12, 4}, {16, 16}, {24, 8}, {48, 16}, {256, 16}};
  for (const auto& [element, unit] : expected) EXPECT_EQ(cuda::UnitBytes(element), unit) << element;
}

}  // namespace
}  // namespace corank::testing
