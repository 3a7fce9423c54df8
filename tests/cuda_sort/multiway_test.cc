// The arithmetic of the multiway merge: places of runs, tiles, chunks and rows, and the division into passes.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/common/integer_math.h"
#include "kernels/cuda/common/multiway_levels.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/multiway_search.h"
#include "kernels/cuda/common/split_search.h"
#include "kernels/cuda/sort/merge_plan.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

TEST(MultiwayRuns, EvenRunsCoverTheArrayInOrder) {
  for (const int64_t count :
       {int64_t{1}, int64_t{9}, int64_t{10}, int64_t{11}, int64_t{59}, int64_t{60}, int64_t{61}}) {
    const std::vector<uint32_t> keys(static_cast<size_t>(count));
    const std::vector<uint64_t> payload(keys.size());
    const EvenRuns<uint32_t> runs{keys.data(), payload.data(), 8, count, /*width=*/10, /*ways=*/3};
    int64_t next = 0;
    for (int64_t group = 0; group * 30 < count; ++group) {
      EXPECT_EQ(runs.GroupStart(group), next);
      const int64_t start = next;
      for (int way = 0; way < 3; ++way) {
        const cuda::Run<uint32_t> run = runs.RunAt(group, way);
        EXPECT_EQ(run.first, next);
        EXPECT_EQ(run.keys, keys.data() + next);
        EXPECT_EQ(run.payload, payload.data() + next);
        EXPECT_LE(run.count, 10);
        next += run.count;
      }
      EXPECT_EQ(runs.GroupCount(group), next - start);
    }
    EXPECT_EQ(next, count);
  }
}

TEST(MultiwayTiles, CoverEveryGroupAndFitABlock) {
  for (const int64_t max_tile : {64, 1000, 7936}) {
    for (const int64_t group : {int64_t{1}, max_tile - 1, max_tile, max_tile + 1, 32 * max_tile, 100 * max_tile + 7}) {
      for (const int64_t count : {group, group + 1, 2 * group, 3 * group - 1}) {
        const auto cut = MultiwayTiles::Cut(count, group, count, max_tile);
        EXPECT_LE(cut.tile + cut.slack, max_tile);
        EXPECT_GE(cut.tile * cut.tiles_per_group, group);
        EXPECT_LT(cut.tile * (cut.tiles_per_group - 1), group) << "an empty tile";
        const int64_t rest = count % group;
        EXPECT_EQ(cut.tiles, count / group * cut.tiles_per_group + CeilDiv(rest, cut.tile));
      }
    }
  }
}

TEST(MultiwayTiles, LimitLeavesOutTilesThatStartBehindIt) {
  constexpr int64_t kCount = 1'000'000, kMaxTile = 1000;
  const int64_t all = MultiwayTiles::Cut(kCount, kCount, kCount, kMaxTile).tiles;
  for (const int64_t wanted : {int64_t{1}, int64_t{984}, int64_t{985}, int64_t{500'000}, kCount - 1, kCount}) {
    const auto cut = MultiwayTiles::Cut(kCount, kCount, wanted, kMaxTile);
    EXPECT_LE(cut.tiles, all);
    // The tile after the last one starts at tiles * tile, or up to the slack earlier.
    if (cut.tiles < all) {
      EXPECT_GE(cut.tiles * cut.tile - cut.slack, wanted);
    }
    EXPECT_LT((cut.tiles - 1) * cut.tile - cut.slack, wanted);
  }
}

TEST(MultiwaySearch, GallopFindsTheBorderFromEverywhere) {
  for (const int64_t step : {1, 2, 8, 64}) {
    for (int64_t high = 0; high <= 70; ++high) {
      for (int64_t border = 0; border <= high; ++border) {
        for (int64_t start = 0; start <= high; ++start) {
          const auto before = [&](int64_t position) {
            EXPECT_GE(position, 0);
            EXPECT_LT(position, high);
            return position < border;
          };
          const bool up = start <= border;
          ASSERT_EQ(Gallop<SearchWidth::kNarrow>(0, high, start, up, step, before), border)
              << high << " from " << start << " by " << step;
          ASSERT_EQ(Gallop<SearchWidth::kWide>(0, high, start, up, step, before), border)
              << high << " from " << start << " by " << step;
        }
      }
    }
  }
}

struct Probes {
  int whole = 0, near = 0;
};

// Searches every split of two ranges, with guesses like those of the kernels. Returns the number of probes.
template <typename Element>
Probes SearchAllSplits(std::vector<Element> a, std::vector<Element> b) {
  constexpr int kSize = sizeof(Element);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const int a_count = static_cast<int>(a.size()), b_count = static_cast<int>(b.size()), all = a_count + b_count;
  Probes probes;
  int taken = 0;
  for (int output = 0; output <= all; ++output) {
    const auto low = static_cast<uint32_t>(std::max(0, output - b_count)) * kSize;
    const auto high = static_cast<uint32_t>(std::min(output, a_count)) * kSize;
    int count = 0;
    const auto before = [&](uint32_t at) {
      ++count;
      EXPECT_GE(at, low);
      EXPECT_LT(at, high);
      EXPECT_EQ(at % kSize, 0u);
      return b[static_cast<size_t>(output - 1) - at / kSize] < a[at / kSize];
    };
    const int guess = static_cast<int>(static_cast<float>(output) * a_count / std::max(1, all));
    EXPECT_EQ(FindSplit<kSize>(low, high, before), static_cast<uint32_t>(taken) * kSize);
    probes.whole += count;
    count = 0;
    EXPECT_EQ(FindSplitNear<kSize>(low, high, guess, SplitReach(all), before), static_cast<uint32_t>(taken) * kSize);
    probes.near += count;
    if (output < all) {
      const int of_b = output - taken;
      taken += of_b == b_count || (taken < a_count && !(b[static_cast<size_t>(of_b)] < a[static_cast<size_t>(taken)]));
    }
  }
  return probes;
}

TEST(SplitSearch, FindsEverySplitOfAnyRanges) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<uint32_t> a(static_cast<size_t>(random.Below(random.OneIn(4) ? 1500 : 40)));
    std::vector<uint32_t> b(static_cast<size_t>(random.Below(random.OneIn(4) ? 1500 : 40)));
    const int64_t distinct = random.OneIn(2) ? 1'000'000 : 1 + random.Below(5);
    const int64_t shift = random.OneIn(2) ? 0 : random.Below(2 * distinct);  // up to ranges one after the other
    const bool is_a = random.OneIn(2);
    for (uint32_t& key : a) key = static_cast<uint32_t>(random.Below(distinct) + (is_a ? shift : 0));
    for (uint32_t& key : b) key = static_cast<uint32_t>(random.Below(distinct) + (is_a ? 0 : shift));
    if (random.OneIn(4)) b.resize(b.size() / 2, 0);
    SearchAllSplits(a, b);
    SearchAllSplits(std::vector<uint64_t>(a.begin(), a.end()), std::vector<uint64_t>(b.begin(), b.end()));
    if (HasFailure()) return;
  }
}

TEST(SplitSearch, StaysWithinItsBoundsWhateverIsFound) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto low = static_cast<uint32_t>(4 * random.Below(50));
    const auto high = low + static_cast<uint32_t>(4 * random.Below(200));
    const auto guess = static_cast<int>(random.Below(300)) - 20;
    const auto any = [&](uint32_t at) {
      EXPECT_GE(at, low);
      EXPECT_LT(at, high);
      return random.OneIn(2);
    };
    const uint32_t split = FindSplitNear<4>(low, high, guess, 1 << random.Below(6), any);
    ASSERT_GE(split, low);
    ASSERT_LE(split, high);
  }
}

TEST(SplitSearch, AsksLessWhereRangesInterleaveAtRandom) {
  Random random(2);
  std::vector<uint32_t> a(312), b(312);
  for (auto* range : {&a, &b}) {
    for (uint32_t& key : *range) key = static_cast<uint32_t>(random.Below(1'000'000'000));
  }
  const Probes random_order = SearchAllSplits(a, b);
  EXPECT_LT(random_order.near, random_order.whole * 3 / 4);
  for (uint32_t& key : b) key += 1'000'000'000;
  const Probes in_order = SearchAllSplits(a, b);
  EXPECT_LT(in_order.near, in_order.whole * 11 / 10) << "the far end comes next";
  EXPECT_EQ(SplitReach(0), 1);
  EXPECT_EQ(SplitReach(624), 16);
  EXPECT_EQ(SplitReach(9984), 64);
}

TEST(MultiwaySearch, GallopStepIsAboutTheRoot) {
  EXPECT_EQ(GallopStep(0), 1);
  for (const int64_t n : {int64_t{1}, int64_t{100}, int64_t{10'000}, int64_t{1} << 40}) {
    EXPECT_LE(GallopStep(n) * GallopStep(n), 2 * n);
    EXPECT_GE(4 * GallopStep(n) * GallopStep(n), n);
  }
}

TEST(MergePlan, MergesAllRunsInAsFewPassesAsItTakes) {
  for (const int max_log : {1, 3, 5}) {
    for (int64_t runs = 1; runs < 40'000; runs += 1 + runs / 7) {
      const MergePlan plan(runs, max_log);
      int64_t left = runs;
      for (int pass = 0; pass < plan.passes(); ++pass) {
        EXPECT_EQ(CeilDiv(runs, plan.RunsBefore(pass)), left);
        EXPECT_GE(plan.WaysOf(pass), 2);
        EXPECT_LE(plan.WaysOf(pass), left);
        EXPECT_LE(plan.WaysOf(pass), 1 << max_log);
        left = CeilDiv(left, plan.WaysOf(pass));
      }
      EXPECT_EQ(left, 1) << runs << " runs";
      EXPECT_EQ(plan.passes(), CeilDiv(CeilLog2(runs), max_log));
    }
  }
}

/// The lengths of a tile's pieces: random, some of them empty, or everything in one piece.
std::vector<int> RandomPieces(Random& random, int ways) {
  std::vector<int> pieces(static_cast<size_t>(ways));
  const bool one = random.OneIn(4);
  for (int& piece : pieces) piece = one || random.OneIn(4) ? 0 : static_cast<int>(random.Below(60));
  if (one) pieces[static_cast<size_t>(random.Below(ways))] = 500;
  return pieces;
}

template <int kItems>
PieceTable TableOf(const std::vector<int>& pieces) {
  PieceTable table{};
  const int ways = static_cast<int>(pieces.size());
  for (int piece = 0; piece < ways; ++piece) {
    table.start[piece + 1] = table.start[piece] + pieces[static_cast<size_t>(piece)];
    table.load_slot[piece] = table.start[piece] + piece;
  }
  for (int level = 0; level < kMaxLevels; ++level) {
    for (int pair = 0; pair < LevelPairs(ways, level); ++pair) {
      const int keys = table.Start((pair + 1) << (level + 1), ways) - table.Start(pair << (level + 1), ways);
      table.slot_start[level][pair + 1] = table.slot_start[level][pair] + (keys + kItems - 1) / kItems;
    }
  }
  return table;
}

TEST(MultiwayLevels, ChunksOfAllLevelsSortTheTile) {
  constexpr int kItems = 7;
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const int ways = 1 + static_cast<int>(random.Below(kMaxWays));
    const std::vector<int> pieces = RandomPieces(random, ways);
    const PieceTable table = TableOf<kItems>(pieces);
    const int total = table.start[ways];
    std::vector<uint32_t> slots(static_cast<size_t>(total + 2 * kMaxWays)), expected;
    for (int piece = 0; piece < ways; ++piece) {
      const auto begin = slots.begin() + table.load_slot[piece];
      std::generate_n(begin, pieces[static_cast<size_t>(piece)], [&] { return random.Below(1000); });
      std::sort(begin, begin + pieces[static_cast<size_t>(piece)]);
      expected.insert(expected.end(), begin, begin + pieces[static_cast<size_t>(piece)]);
    }
    std::sort(expected.begin(), expected.end());
    for (int level = 0; level == 0 || (1 << level) < ways; ++level) {
      std::vector<uint32_t> next(slots.size());
      int made = 0;
      for (int thread = 0; thread <= total; ++thread) {
        const PairChunk chunk = ChunkAt<kItems>(table, ways, level, thread);
        ASSERT_LE(chunk.count, kItems);
        made += chunk.count;
        std::vector<uint32_t> merged;
        std::merge(slots.begin() + chunk.a_begin, slots.begin() + chunk.a_end, slots.begin() + chunk.b_begin,
                   slots.begin() + chunk.b_end, std::back_inserter(merged));
        if (chunk.count > 0) std::copy_n(merged.begin() + chunk.first, chunk.count, next.begin() + chunk.out);
      }
      ASSERT_EQ(made, total) << "level " << level << " of " << ways << " pieces";
      slots = next;
    }
    slots.resize(expected.size());
    ASSERT_EQ(slots, expected) << ways << " pieces";
  }
}

TEST(MultiwayLevels, SlotOfPlaceDivides) {
  for (uint32_t place = 0; place < kPlaceLimit<31>; ++place) ASSERT_EQ(SlotOfPlace<31>(place), place / 31);
  for (uint32_t place = 0; place < kPlaceLimit<25>; ++place) ASSERT_EQ(SlotOfPlace<25>(place), place / 25);
  for (uint32_t place = 0; place < kPlaceLimit<7>; ++place) ASSERT_EQ(SlotOfPlace<7>(place), place / 7);
}

TEST(MultiwayLevels, PathsLeadEveryOutputBackToItsKey) {
  constexpr int kItems = 7;
  struct Element {
    uint32_t key;
    uint32_t position;
  };
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    const int ways = 1 + static_cast<int>(random.Below(kMaxWays));
    const std::vector<int> pieces = RandomPieces(random, ways);
    const PieceTable table = TableOf<kItems>(pieces);
    const int total = table.start[ways];
    std::vector<Element> slots(static_cast<size_t>(total + 2 * kMaxWays)), expected;
    for (int piece = 0; piece < ways; ++piece) {
      std::vector<uint32_t> keys(static_cast<size_t>(pieces[static_cast<size_t>(piece)]));
      std::generate(keys.begin(), keys.end(), [&] { return random.Below(20); });
      std::sort(keys.begin(), keys.end());
      for (size_t i = 0; i < keys.size(); ++i) {
        const Element element{keys[i], static_cast<uint32_t>(expected.size())};
        slots[static_cast<size_t>(table.load_slot[piece]) + i] = element;
        expected.push_back(element);
      }
    }
    const auto before = [](const Element& a, const Element& b) { return a.key < b.key; };
    std::stable_sort(expected.begin(), expected.end(), before);

    std::vector<std::vector<PathWord>> words;
    for (int level = 0; level == 0 || (1 << level) < ways; ++level) {
      std::vector<Element> next(slots.size());
      std::vector<PathWord>& path = words.emplace_back(static_cast<size_t>(total) + 1);
      for (int thread = 0; thread <= total; ++thread) {
        const PairChunk chunk = ChunkAt<kItems>(table, ways, level, thread);
        int a = chunk.a_begin, b = chunk.b_begin, a_before = 0;
        uint32_t from_b = 0;
        for (int i = 0; chunk.count > 0 && i < chunk.first + chunk.count; ++i) {
          const bool takes_b = a == chunk.a_end || (b != chunk.b_end && before(slots[size_t(b)], slots[size_t(a)]));
          if (i >= chunk.first) {
            next[static_cast<size_t>(chunk.out + i - chunk.first)] = slots[static_cast<size_t>(takes_b ? b : a)];
            from_b |= static_cast<uint32_t>(takes_b) << (i - chunk.first);
          } else if (!takes_b) {
            ++a_before;
          }
          (takes_b ? b : a)++;
        }
        if (chunk.count == 0) continue;
        const auto place = [&](int pair) { return PlaceOfPair<kItems>(table, ways, level - 1, pair); };
        path[static_cast<size_t>(thread)] = {
            from_b, static_cast<uint32_t>(place(2 * chunk.pair) + a_before) |
                        static_cast<uint32_t>(place(2 * chunk.pair + 1) + chunk.first - a_before) << 16};
      }
      slots = next;
    }
    for (uint32_t output = 0; output < expected.size(); ++output) {
      uint32_t place = output;
      for (size_t level = words.size(); level-- > 0;) {
        const uint32_t slot = SlotOfPlace<kItems>(place);
        place = PlaceBefore(words[level][slot], place - slot * kItems);
      }
      ASSERT_EQ(place, expected[output].position) << "output " << output << " of " << ways << " pieces";
    }
  }
}

}  // namespace
}  // namespace corank::cuda
