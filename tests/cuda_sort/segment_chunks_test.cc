// The work of one thread of the segmented sort, without a GPU.
#include "kernels/cuda/sort/segment_chunks.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

constexpr int kItems = 5;

/// A tile in padded memory. Noise surrounds the two runs: a merge may read it but must not use it.
template <typename Bits>
struct Tile {
  static constexpr int kCapacity = 200;
  std::vector<Bits> keys;
  std::vector<Bits> merged;         // by the oracle
  std::vector<uint32_t> positions;  // of each merged key, in the tile
  int begin, middle, end;

  Tile(Random& random, int a_count, int b_count) : keys(Padded<Bits>(kCapacity + kTileSlack)) {
    for (Bits& key : keys) key = static_cast<Bits>(random.Next());
    begin = static_cast<int>(random.Below(50));
    middle = begin + a_count;
    end = middle + b_count;
    const int64_t distinct = 1 + random.Below(a_count + b_count + 3);
    const auto run = [&](int count) {
      std::vector<Bits> sorted(count);
      for (Bits& key : sorted) key = static_cast<Bits>(~Bits{0} - static_cast<Bits>(random.Below(distinct)));
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    const std::vector<Bits> a = run(a_count), b = run(b_count);
    for (int i = 0; i < a_count; ++i) At(begin + i) = a[i];
    for (int i = 0; i < b_count; ++i) At(end - 1 - i) = b[i];
    for (int i = 0; i < a_count; ++i) positions.push_back(static_cast<uint32_t>(begin + i));
    for (int i = 0; i < b_count; ++i) positions.push_back(static_cast<uint32_t>(end - 1 - i));
    std::stable_sort(positions.begin(), positions.end(),
                     [&](uint32_t x, uint32_t y) { return At(static_cast<int>(x)) < At(static_cast<int>(y)); });
    for (const uint32_t position : positions) merged.push_back(At(static_cast<int>(position)));
  }
  Bits& At(int i) { return keys[Padded<Bits>(i)]; }
};

template <typename Bits>
void TestMergeChunk(uint64_t seed) {
  Random random(seed);
  for (int a_count = 0; a_count < 24; ++a_count) {
    for (int b_count = 0; b_count < 24; ++b_count) {
      const Tile<Bits> tile(random, a_count, b_count);
      for (int first = 0; first < a_count + b_count; ++first) {
        SCOPED_TRACE(::testing::Message() << a_count << " and " << b_count << " keys, from " << first);
        Bits keys[kItems], stable_keys[kItems];
        uint32_t unused[kItems] = {}, sources[kItems];
        MergeChunk<false>(tile.keys.data(), tile.begin, tile.middle, tile.end, first, keys, unused);
        MergeChunk<true>(tile.keys.data(), tile.begin, tile.middle, tile.end, first, stable_keys, sources);
        for (int i = 0; i < kItems && first + i < a_count + b_count; ++i) {
          ASSERT_EQ(keys[i], tile.merged[first + i]) << "output " << first + i;
          ASSERT_EQ(stable_keys[i], tile.merged[first + i]) << "output " << first + i;
          ASSERT_EQ(sources[i], tile.positions[first + i]) << "output " << first + i;
        }
      }
    }
  }
}

TEST(MergeChunk, MergesARunWithABackwardOneStably) {
  TestMergeChunk<uint8_t>(1);
  TestMergeChunk<uint32_t>(2);
  TestMergeChunk<uint64_t>(3);
}

template <typename Bits>
void ExpectPlacesOfTheirOwn(int capacity) {
  std::set<int> places;
  for (int i = -kTileSlack; i < capacity + kTileSlack; ++i) {
    EXPECT_GE(Padded<Bits>(i), 0);
    EXPECT_LT(Padded<Bits>(i), Padded<Bits>(capacity + kTileSlack));
    EXPECT_TRUE(places.insert(Padded<Bits>(i)).second) << i;
  }
}

TEST(Padded, GivesEachKeyAndTheSlackAPlaceOfItsOwn) {
  ExpectPlacesOfTheirOwn<uint8_t>(6144);
  ExpectPlacesOfTheirOwn<uint32_t>(4096);
  ExpectPlacesOfTheirOwn<uint64_t>(3072);
}

/// The threads of a warp on adjacent chunks of 16 keys meet in no bank.
TEST(Padded, SpreadsChunksOverTheBanks) {
  std::set<int> banks;
  for (int lane = 0; lane < 32; ++lane) banks.insert(Padded<uint32_t>(16 * lane) % 32);
  EXPECT_EQ(banks.size(), 32u);
  banks.clear();
  for (int lane = 0; lane < 16; ++lane) banks.insert(Padded<uint64_t>(16 * lane) % 16);
  EXPECT_EQ(banks.size(), 16u);
}

TEST(ChunkCode, KeepsWhatItIsGiven) {
  for (const int begin : {0, 1, 4095}) {
    for (const int length : {1, 2, 17, 4096}) {
      for (const int chunk : {0, 1, 255}) {
        const uint32_t code = ChunkCode::Of(begin, length, chunk);
        EXPECT_EQ(ChunkCode::Begin(code), begin);
        EXPECT_EQ(ChunkCode::Length(code), length);
        EXPECT_EQ(ChunkCode::Chunk(code), chunk);
      }
    }
  }
}

}  // namespace
}  // namespace corank::cuda
