#include "kernels/cuda/sort/tile_words.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/tuning.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

constexpr int kTile = MergesortTuningFor(8, MergeForm::kPayload).SortTile();
using Words = TileWords<kTile>;
using Places = std::vector<int>;

Places Identity(size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

int CommonBits(const std::vector<uint64_t>& ranks) {
  uint64_t differ = 1;
  for (const uint64_t rank : ranks) differ |= rank ^ ranks[0];
  return __builtin_clzll(differ);
}

/// One round: the places in the order of their words. any_tied: whether words tie.
Places SortedByWords(const std::vector<uint64_t>& ranks, const Places& places, int shift, bool* any_tied) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < places.size(); ++i) {
    words.push_back(Words::Make(ranks[static_cast<size_t>(places[i])], shift, static_cast<int>(i)));
  }
  std::sort(words.begin(), words.end());
  Places sorted;
  *any_tied = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(words[i - 1], words[i]);
      *any_tied = *any_tied || Words::AreTied(words[i - 1], words[i]);
    }
    EXPECT_LT(words[i], ~uint64_t{0});
    sorted.push_back(places[static_cast<size_t>(Words::PlaceOf(words[i]))]);
  }
  return sorted;
}

/// Determines the order of keys as a tile sort does, in as many rounds as it needs.
void ExpectSorts(const std::vector<uint64_t>& ranks) {
  Places expected = Identity(ranks.size());
  const auto by_rank = [&](int x, int y) { return ranks[static_cast<size_t>(x)] < ranks[static_cast<size_t>(y)]; };
  std::stable_sort(expected.begin(), expected.end(), by_rank);
  const int common = CommonBits(ranks);
  bool any_tied = false;
  const Places first = SortedByWords(ranks, Identity(ranks.size()), Words::ShiftOf(0, common), &any_tied);
  if (Words::HoldAllBits(common) || !any_tied) {
    EXPECT_EQ(first, expected);
  } else if (first != expected) {
    EXPECT_FALSE(std::is_sorted(first.begin(), first.end(), by_rank)) << "which is how a tile sort notices it";
  }
  const Places by_lowest = SortedByWords(ranks, Identity(ranks.size()), Words::ShiftOf(1, common), &any_tied);
  EXPECT_EQ(SortedByWords(ranks, by_lowest, Words::ShiftOf(2, common), &any_tied), expected);
}

TEST(TileWords, SortStablyByAnyBits) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const size_t count = static_cast<size_t>(1 + random.Below(round < 290 ? 60 : kTile));
    const uint64_t live = random.Next() & (random.OneIn(2) ? random.Next() : ~uint64_t{0}) &
                          (random.OneIn(2) ? 0xFF00000000001FFF : ~uint64_t{0}) >> random.Below(64);
    const uint64_t same = random.Next();
    std::vector<uint64_t> ranks(count);
    for (uint64_t& rank : ranks) rank = (random.Next() & live) | (same & ~live);
    ExpectSorts(ranks);
  }
}

TEST(TileWords, SortWholeTilesOfTheGreatestAndTheLeastRank) {
  std::vector<uint64_t> ranks(kTile, ~uint64_t{0});
  ExpectSorts(ranks);
  for (size_t i = 0; i < ranks.size(); i += 2) ranks[i] = 0;
  ExpectSorts(ranks);
}

TEST(TileWords, HoldAllBitsOfRanksThatDifferInSoMany) {
  constexpr int kHeld = 64 - Words::kPlaceBits;
  for (const int span : {kHeld - 1, kHeld, kHeld + 1}) {
    const std::vector<uint64_t> ranks = {uint64_t{1} << (span - 1), 1, 0};
    EXPECT_EQ(Words::HoldAllBits(CommonBits(ranks)), span <= kHeld);
    ExpectSorts(ranks);
  }
}

}  // namespace
}  // namespace corank::cuda
