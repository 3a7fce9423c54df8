// Sort on the GPU, compared with the oracle: every type, order and algorithm, at the sizes where tiles and passes
// change.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/sort/small_sort_tuning.h"
#include "kernels/cuda/sort/sort.h"
#include "kernels/cuda/sort/tuning.h"
#include "tests/cuda_sort/device_sort.h"

namespace corank::testing {
namespace {

constexpr SortAlgorithm kAlgorithms[] = {SortAlgorithm::kMergesort, SortAlgorithm::kRadix,
                                         SortAlgorithm::kOddEvenMergesort};
constexpr Order kOrders[] = {Order::kAscending, Order::kDescending};

class CudaSort : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }
};

class CudaSortOfType : public CudaSort, public ::testing::WithParamInterface<KeyType> {};

INSTANTIATE_TEST_SUITE_P(EveryType, CudaSortOfType, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

/// The forms in which a mergesort of such keys may carry data.
std::vector<cuda::MergeForm> FormsOf(KeyType type) {
  std::vector<cuda::MergeForm> forms = {cuda::MergeForm::kKeys, cuda::MergeForm::kPayload};
  const cuda::MergeForm with_index = cuda::MergeFormOf(KeyBytes(type), 4);
  if (with_index != cuda::MergeForm::kPayload) forms.push_back(with_index);
  return forms;
}

/// The longest block sort tile of any form.
int64_t SortTile(KeyType type) {
  int64_t longest = 0;
  for (const auto form : FormsOf(type)) {
    longest = std::max<int64_t>(longest, cuda::MergesortTuningFor(KeyBytes(type), form).SortTile());
  }
  return longest;
}

/// Counts around the tiles of every algorithm for this type.
std::vector<int64_t> BoundaryCounts(KeyType type) {
  std::vector<int64_t> counts = {0, 1, 2, 3, 31, 32, 33, 511, 1000};
  for (const auto form : FormsOf(type)) {
    const cuda::MergesortTuning tuning = cuda::MergesortTuningFor(KeyBytes(type), form);
    for (const int64_t tile : {tuning.MergeTile(), tuning.SortTile(), 2 * tuning.SortTile(), 5 * tuning.SortTile()}) {
      counts.insert(counts.end(), {tile - 1, tile, tile + 1});
    }
  }
  for (const int index_bytes : {0, 4}) {
    const int64_t window = cuda::OddEvenTuningFor(KeyBytes(type), index_bytes).window;
    for (const int64_t tiles : {1, 3, 4}) counts.insert(counts.end(), {tiles * window - 1, tiles * window + 1});
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Keys alone, indices alone, and both, with every algorithm.
void ExpectEveryAlgorithmSorts(const SortInput& input) {
  for (const SortAlgorithm algorithm : kAlgorithms) {
    SortRequest request;
    request.algorithm = algorithm;
    SortAlgorithm taken = SortAlgorithm::kAuto;
    EXPECT_TRUE(SortsRight(input, request, &taken));
    EXPECT_EQ(taken, algorithm);
    request.indices = true;
    EXPECT_TRUE(SortsRight(input, request));
    request.keys = false;
    EXPECT_TRUE(SortsRight(input, request));
  }
}

TEST_P(CudaSortOfType, SortsCountsAroundTileSizes) {
  for (const int64_t count : BoundaryCounts(GetParam())) {
    for (const Order order : kOrders) {
      ExpectEveryAlgorithmSorts(SortInput(GetParam(), order, Distribution::kUniform, count, 100 + count));
    }
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortOfType, SortsEveryDistribution) {
  const int64_t count = 3 * SortTile(GetParam()) + 1;
  for (const Distribution distribution : kAllDistributions) {
    for (const Order order : kOrders) {
      ExpectEveryAlgorithmSorts(SortInput(GetParam(), order, distribution, count, 200));
    }
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortOfType, SortsAMillionKeys) {
  constexpr int64_t kCount = 1'000'000 + 7;
  ExpectEveryAlgorithmSorts(SortInput(GetParam(), Order::kAscending, Distribution::kZipf, kCount, 300));
  ExpectEveryAlgorithmSorts(SortInput(GetParam(), Order::kDescending, Distribution::kUniform, kCount, 301));
}

/// Keys alone, with an index, with values of 4 and 8 bytes, all by MERGESORT.
void ExpectMergesortSorts(const SortInput& input, int64_t limit = -1) {
  for (const int value_bytes : {-1, 0, 4, 8}) {
    SortRequest request;
    request.limit = limit;
    request.indices = value_bytes < 0;
    request.value_bytes = std::max(value_bytes, 0);
    EXPECT_TRUE(SortsRight(input, request));
  }
}

TEST_P(CudaSortOfType, MergesortMergesGroupsOfRuns) {
  for (const auto form : FormsOf(GetParam())) {
    const cuda::MergesortTuning tuning = cuda::MergesortTuningFor(KeyBytes(GetParam()), form);
    const int64_t group = int64_t{tuning.SortTile()} << tuning.max_ways_log;
    // Shorter arrays of this form take other paths.
    const auto small = cuda::SmallFormFor(KeyBytes(GetParam()), IsFloat(GetParam()), form != cuda::MergeForm::kKeys,
                                          std::numeric_limits<int64_t>::max());
    const int64_t groups = cuda::SmallSortLimit(small) / group * group + group;
    // Whole groups, a last group of one run, of a single key, of two runs.
    for (const int64_t count : {groups - tuning.SortTile(), groups, groups + 1, groups + tuning.SortTile() + 1}) {
      for (const Distribution distribution :
           {Distribution::kUniform, Distribution::kAllEqual, Distribution::kSpecialFloats}) {
        ExpectMergesortSorts(SortInput(GetParam(), Order::kAscending, distribution, count, 310 + count));
      }
      ExpectMergesortSorts(SortInput(GetParam(), Order::kDescending, Distribution::kSpecialFloats, count, 311),
                           count / 2);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CudaSort, MergesortTakesThreePasses) {
  for (const KeyType type : {KeyType::kUint8, KeyType::kUint32, KeyType::kFloat32, KeyType::kUint64}) {
    const cuda::MergesortTuning tuning = cuda::MergesortTuningFor(KeyBytes(type), cuda::MergeForm::kKeys);
    const int64_t count = (int64_t{tuning.SortTile()} << (2 * tuning.max_ways_log)) + tuning.SortTile() + 7;
    ExpectMergesortSorts(SortInput(type, Order::kAscending, Distribution::kZipf, count, 320));
    ExpectMergesortSorts(SortInput(type, Order::kDescending, Distribution::kRuns, count, 321), count - 1);
    if (HasFailure()) return;
  }
}

TEST_F(CudaSort, MergesortCutsLongPassesInTwoSteps) {
  const cuda::MergesortTuning tuning = cuda::MergesortTuningFor(8, cuda::MergeForm::kPayload);
  const int64_t most = cuda::kMultiwayShort * tuning.MergeTile();  // cut directly, with the longest tiles
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kRuns}) {
    SortRequest request;
    request.indices = true;
    EXPECT_TRUE(SortsRight(SortInput(KeyType::kUint64, Order::kAscending, distribution, most + 1, 330), request));
    if (HasFailure()) return;
  }
}

/// Tiles of ranks. In each tile, another pair of neighbours agrees in all bits above the lowest 13 and is in the wrong
/// order. `span`: the bits in which ranks differ.
std::vector<uint64_t> TilesWithOneTurnedPair(int tile, int items, int span) {
  std::vector<uint64_t> ranks;
  Random random(span);
  for (const int pair : {0, 1, items - 2, items - 1, items, 32 * items - 1, 32 * items, tile / 2, tile - 2}) {
    const auto begin = static_cast<std::ptrdiff_t>(ranks.size());
    for (int i = 0; i < tile; ++i) {
      ranks.push_back(static_cast<uint64_t>(i) << (span - 13));
      std::swap(ranks.back(), ranks[static_cast<size_t>(begin + random.Below(i + 1))]);
    }
    const auto place_of = [&](int i) {
      return std::find(ranks.begin() + begin, ranks.end(), static_cast<uint64_t>(i) << (span - 13));
    };
    const auto places = std::minmax({place_of(pair), place_of(pair + 1)});
    const uint64_t bits = static_cast<uint64_t>(pair) << (span - 13);
    *places.first = bits | 1;
    *places.second = bits;
  }
  return ranks;
}

/// Keys of 8 bytes with a payload are sorted by words without room for all their bits (tile_words.h).
TEST_F(CudaSort, MergesortSortsTilesWhoseRanksDifferInTheLowestBits) {
  const cuda::TileTuning tile = cuda::MergesortTuningFor(8, cuda::MergeForm::kPayload).sort;
  const int64_t count = cuda::SmallSortLimit(cuda::SmallForm::kRankIndex64) + 7;
  std::vector<std::vector<uint64_t>> arrays;
  for (const int span : {64, 63, 52, 51}) {
    arrays.push_back(TilesWithOneTurnedPair(tile.Tile(), tile.items, span));
    // In all tiles, many ranks equal except in the lowest bits: in any order, sorted, reversed, all equal.
    Random random(span);
    std::vector<uint64_t> any, rising, falling, alike;
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t high = static_cast<uint64_t>(random.Below(50)) << (span - 6), low = i & 0x1FFF;
      any.push_back(high | static_cast<uint64_t>(random.Below(0x1000)));
      rising.push_back(high | low);
      falling.push_back(high | (0x1FFF - low));
      alike.push_back(high | 0x15);
    }
    arrays.insert(arrays.end(), {any, rising, falling, alike});
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<uint64_t>& ranks = arrays[i];
    Random random(i);
    while (static_cast<int64_t>(ranks.size()) < count) ranks.push_back(random.Next());
    const char* const bytes = reinterpret_cast<const char*>(ranks.data());
    const Bytes keys(bytes, bytes + ranks.size() * sizeof(uint64_t));
    ExpectMergesortSorts(SortInput(KeyType::kUint64, Order::kAscending, keys));
    ExpectMergesortSorts(SortInput(KeyType::kInt64, Order::kDescending, keys), count / 2);
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortOfType, SortsArraysThatStartAnywhere) {
  const SortInput input(GetParam(), Order::kAscending, Distribution::kSpecialFloats, 2 * SortTile(GetParam()) + 5, 400);
  for (const SortAlgorithm algorithm : kAlgorithms) {
    for (const int skew : {1, 3}) {
      SortRequest request;
      request.algorithm = algorithm;
      request.skew = skew;
      EXPECT_TRUE(SortsRight(input, request));
      request.value_bytes = 4;
      EXPECT_TRUE(SortsRight(input, request));
    }
  }
}

TEST_P(CudaSortOfType, LimitReturnsTheFirstResults) {
  const int64_t tile = SortTile(GetParam());
  for (const int64_t count : {int64_t{1000}, tile + 9, 5 * tile + 9}) {
    const SortInput input(GetParam(), Order::kDescending, Distribution::kSixteenDistinct, count, 500 + count);
    for (const SortAlgorithm algorithm : kAlgorithms) {
      for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{100}, tile, count - 1, count, count + 5}) {
        SortRequest request;
        request.algorithm = algorithm;
        request.limit = limit;
        EXPECT_TRUE(SortsRight(input, request));
        request.value_bytes = 8;
        EXPECT_TRUE(SortsRight(input, request));
        request.value_bytes = 0;
        request.indices = true;
        EXPECT_TRUE(SortsRight(input, request));
      }
    }
    if (HasFailure()) return;
  }
}

TEST_F(CudaSort, MovesValuesOfEveryWidth) {
  for (const KeyType type :
       {KeyType::kUint8, KeyType::kFloat16, KeyType::kInt32, KeyType::kUint64, KeyType::kFloat64}) {
    for (const int64_t count : {int64_t{1}, int64_t{777}, 3 * SortTile(type) + 17}) {
      const SortInput input(type, Order::kAscending, Distribution::kSixteenDistinct, count, 600 + count);
      for (const SortAlgorithm algorithm : kAlgorithms) {
        for (const int value_bytes : {1, 2, 3, 4, 8, 12, 16, 24, 255, 256}) {
          SortRequest request;
          request.algorithm = algorithm;
          request.value_bytes = value_bytes;
          request.keys = value_bytes != 8;
          EXPECT_TRUE(SortsRight(input, request));
        }
      }
      if (HasFailure()) return;
    }
  }
}

/// Offsets of segments of lengths below `bound`. The last segment takes the rest.
std::vector<int64_t> SegmentsBelow(int64_t bound, int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> offsets = {0};
  while (offsets.back() < count) offsets.push_back(std::min(count, offsets.back() + random.Below(bound)));
  return offsets;
}

TEST_P(CudaSortOfType, SortsEachSegmentForItself) {
  const int64_t tile = SortTile(GetParam());
  const int64_t count = 6 * tile + 123;
  std::vector<std::vector<int64_t>> patterns = {
      {0, count},                                                       // one
      {0, 0, 0, tile, tile, 2 * tile + 1, 2 * tile + 2, count, count},  // empty segments, and cuts at tiles
      SegmentsBelow(5, count, 1),                                       // tiny
      SegmentsBelow(100, count, 2),
      SegmentsBelow(3 * tile, count, 3),  // longer than a tile
  };
  std::vector<int64_t> uneven = SegmentsBelow(3, tile / 2, 4);  // many tiny ones, one huge one, many empty ones
  uneven.resize(uneven.size() + 1000, count);
  patterns.push_back(uneven);
  std::vector<int64_t> single(count + 1);
  for (int64_t i = 0; i <= count; ++i) single[i] = i;
  patterns.push_back(single);
  for (size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    SCOPED_TRACE(pattern);
    const Order order = pattern % 2 == 0 ? Order::kAscending : Order::kDescending;
    const Distribution distribution = pattern % 3 == 0 ? Distribution::kSixteenDistinct : Distribution::kSpecialFloats;
    const SortInput input(GetParam(), order, distribution, count, 700 + pattern, patterns[pattern]);
    SortRequest request;
    request.algorithm = SortAlgorithm::kRadix;
    SortAlgorithm taken = SortAlgorithm::kAuto;
    EXPECT_TRUE(SortsRight(input, request, &taken));
    EXPECT_EQ(taken, patterns[pattern].size() == 2 ? SortAlgorithm::kRadix : SortAlgorithm::kMergesort);
    request.indices = true;
    EXPECT_TRUE(SortsRight(input, request));
    request.indices = false;
    for (const int value_bytes : {3, 4, 8}) {
      request.value_bytes = value_bytes;
      EXPECT_TRUE(SortsRight(input, request));
    }
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortOfType, SortsSmallSegmentedArrays) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{33}, SortTile(GetParam())}) {
    const SortInput input(GetParam(), Order::kAscending, Distribution::kUniform, count, 800,
                          SegmentsBelow(10, count, 800));
    SortRequest request;
    EXPECT_TRUE(SortsRight(input, request));
    request.indices = true;
    EXPECT_TRUE(SortsRight(input, request));
  }
}

TEST_F(CudaSort, AutoTakesRadixFromItsCountOnAndReportsIt) {
  for (const KeyType type : {KeyType::kInt8, KeyType::kInt32, KeyType::kFloat32, KeyType::kUint64}) {
    const int64_t radix_count = cuda::AutoRadixCount(KeyBytes(type));
    for (const int64_t count : {radix_count - 1, radix_count}) {
      if (count < 0) continue;
      SortRequest request;
      request.algorithm = SortAlgorithm::kAuto;
      SortAlgorithm taken = SortAlgorithm::kAuto;
      EXPECT_TRUE(SortsRight(SortInput(type, Order::kAscending, Distribution::kUniform, count, 900), request, &taken));
      EXPECT_EQ(taken, count < radix_count ? SortAlgorithm::kMergesort : SortAlgorithm::kRadix);
    }
  }
}

TEST_F(CudaSort, RefusesAWorkspaceThatIsTooSmall) {
  SortArgs args;
  args.count = 100'000;
  args.algorithm = SortAlgorithm::kMergesort;
  OperatorReport report;
  EXPECT_EQ(cuda::Sort(args, nullptr, cuda::SortWorkspaceBytes(args) - 1, &report, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace corank::testing
