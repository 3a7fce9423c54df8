// Sort by segments on the GPU, compared with the oracle, at the lengths where the path of a segment changes.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/radix_state.h"
#include "kernels/cuda/sort/segment_schedule.h"
#include "kernels/cuda/sort/segment_tuning.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"

namespace corank::testing {
namespace {

using Offsets = std::vector<int64_t>;

/// Runs of a merge pass of long segments.
constexpr int64_t kWays = 16;

class CudaSegmentSort : public ::testing::TestWithParam<KeyType> {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }

  /// Keys alone, with values that move and that are gathered, and indices alone. Wide float types go by index.
  static void ExpectSorts(Order order, Distribution distribution, uint64_t seed, const Offsets& offsets) {
    const SortInput input(GetParam(), order, distribution, offsets.back(), seed, offsets);
    SortRequest request;
    EXPECT_TRUE(SortsRight(input, request));
    request.skew = 1;
    for (const int value_bytes : {3, 4, 8}) {
      request.value_bytes = value_bytes;
      EXPECT_TRUE(SortsRight(input, request));
    }
    request.value_bytes = 0;
    request.indices = true;
    request.keys = false;
    EXPECT_TRUE(SortsRight(input, request));
  }
  /// The same for the first keys of each segment.
  static void ExpectFirst(Order order, Distribution distribution, uint64_t seed, const Offsets& offsets) {
    const SortInput input(GetParam(), order, distribution, offsets.back(), seed, offsets);
    for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{31}, int64_t{2047}, offsets.back() - 1}) {
      SortRequest request;
      request.limit = limit;
      request.skew = 1;
      for (const int value_bytes : {0, 3, 4, 8}) {
        request.value_bytes = value_bytes;
        EXPECT_TRUE(SortsRight(input, request));
      }
      request.value_bytes = 0;
      for (const bool keys : {true, false}) {
        request.keys = keys;
        request.indices = true;
        EXPECT_TRUE(SortsRight(input, request));
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(EveryType, CudaSegmentSort, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

/// Both tunings of a type: without payload and with one.
std::vector<cuda::SegmentTuning> Tunings(KeyType type) {
  return {cuda::SegmentTuningFor(KeyBytes(type), false), cuda::SegmentTuningFor(KeyBytes(type), true)};
}

/// Segments of `length` keys; the first and the last one are shorter, so that segments begin at any place of a window.
Offsets EqualSegments(int64_t length, int64_t count, int64_t first) {
  Offsets offsets = {0};
  for (int64_t end = std::min(first, count); end < count; end += length) offsets.push_back(end);
  offsets.push_back(count);
  return offsets;
}

TEST_P(CudaSegmentSort, SortsEqualSegmentsAroundItsTuning) {
  std::vector<int64_t> lengths = {1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 48, 100};
  int64_t window = 0;
  for (const cuda::SegmentTuning& tuning : Tunings(GetParam())) {
    window = std::max<int64_t>(window, tuning.Window());
    for (const int64_t length :
         {int64_t{tuning.Window()} / 2, int64_t{tuning.Window()}, 2 * int64_t{tuning.Window()}}) {
      lengths.insert(lengths.end(), {length - 1, length, length + 1});
    }
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  for (const int64_t length : lengths) {
    SCOPED_TRACE(::testing::Message() << "length " << length);
    const bool even = length % 2 == 0;
    ExpectSorts(even ? Order::kAscending : Order::kDescending,
                length % 3 == 0 ? Distribution::kSixteenDistinct : Distribution::kSpecialFloats, 1000 + length,
                EqualSegments(length, 3 * window + 77, even ? length : 1 + length / 3));
    if (HasFailure()) return;
  }
}

TEST_P(CudaSegmentSort, MergesEveryNumberOfRuns) {
  const int64_t window = Tunings(GetParam())[0].Window();
  for (const int64_t windows : {int64_t{2}, int64_t{3}, kWays - 1, kWays, kWays + 1, 2 * kWays + 1, 5 * kWays}) {
    SCOPED_TRACE(::testing::Message() << windows << " windows");
    const int64_t length = windows * window;
    ExpectSorts(Order::kAscending, Distribution::kZipf, 2000 + windows, {0, 5, 5 + length - 1, 7 + 2 * length});
    ExpectSorts(Order::kDescending, Distribution::kSixteenDistinct, 2001 + windows, {0, length, length + 1});
    if (HasFailure()) return;
  }
}

TEST_P(CudaSegmentSort, SortsUnevenSegments) {
  const int64_t window = Tunings(GetParam())[0].Window();
  Random random(3);
  const auto take = [](int64_t count, auto next) {
    Offsets offsets = {0};
    while (offsets.back() < count) offsets.push_back(std::min(count, offsets.back() + next()));
    return offsets;
  };
  std::vector<std::pair<std::string, Offsets>> layouts;
  layouts.emplace_back("power law", take(40 * window, [&] {
                         const double u = static_cast<double>(1 + random.Below(1 << 30)) / (1 << 30);
                         return std::min<int64_t>(30 * window, static_cast<int64_t>(std::pow(u, -1.2)));
                       }));
  layouts.emplace_back("every order of magnitude",
                       take(30 * window, [&] { return random.Below((int64_t{1} << random.Below(18)) + 1); }));
  layouts.emplace_back("tiny", take(5 * window, [&] { return random.Below(20); }));
  layouts.emplace_back("around a window", take(20 * window, [&] { return window - 3 + random.Below(7); }));

  Offsets giant = take(window, [&] { return random.Below(4); });
  giant.push_back(giant.back() + 20 * window + 1);
  for (int i = 0; i < 5000; ++i) giant.push_back(giant.back() + random.Below(4));
  layouts.emplace_back("one giant among tiny ones", giant);

  Offsets empty(100'000, 0);
  empty.insert(empty.end(), 50'000, window);
  empty.insert(empty.end(), 50'000, window + 1);
  empty.insert(empty.end(), 50'000, 3 * window);
  layouts.emplace_back("mostly empty", empty);

  for (const auto& [name, offsets] : layouts) {
    SCOPED_TRACE(name);
    ExpectSorts(Order::kAscending, Distribution::kUniform, 3000, offsets);
    ExpectSorts(Order::kDescending, Distribution::kSixteenDistinct, 3001, offsets);
    if (HasFailure()) return;
  }
}

/// Giants are sorted by digits: the shortest giant, next to the longest merged segment, with windows that both share.
TEST_P(CudaSegmentSort, SortsGiantsBetweenOthers) {
  const int64_t giant = cuda::LongSegment::kLeastGiant;
  const int64_t window = Tunings(GetParam())[0].Window();
  Offsets offsets = {0, 3, 3 + giant, 3 + 2 * giant - 1, 4 + 2 * giant};
  for (const int64_t length : {window + 5, giant + window / 2, window / 2, 2 * giant + 77, int64_t{1}}) {
    offsets.push_back(offsets.back() + length);
  }
  ExpectSorts(Order::kAscending, Distribution::kUniform, 4000, offsets);
  ExpectSorts(Order::kDescending, Distribution::kZipf, 4001, offsets);
  // Digits that differ in no giant have no pass.
  ExpectSorts(Order::kAscending, Distribution::kSixteenDistinct, 4002, offsets);
  ExpectSorts(Order::kDescending, Distribution::kAllEqual, 4003, offsets);
}

TEST_P(CudaSegmentSort, TakesTheFirstOfEachSegment) {
  const int64_t window = Tunings(GetParam())[0].Window();
  ExpectFirst(Order::kAscending, Distribution::kSpecialFloats, 5000, EqualSegments(33, 2 * window + 5, 7));
  ExpectFirst(Order::kDescending, Distribution::kSixteenDistinct, 5001, EqualSegments(window + 1, 5 * window, 1));
  ExpectFirst(Order::kAscending, Distribution::kUniform, 5002, {0, 0, 3, 3, 3, 3 + 20 * window, 4 + 20 * window});
  // Many empty segments between two words of the bitmap, and within one.
  Offsets offsets(1000, 0);
  offsets.resize(3000, 64);
  offsets.resize(5000, 70);
  offsets.resize(5001, 5000);
  ExpectFirst(Order::kDescending, Distribution::kUniform, 5003, offsets);
}

/// More tiles of giants than rows of statuses: rows are reused within a pass.
TEST_P(CudaSegmentSort, SortsSoManyGiantsThatTilesShareRows) {
  if (GetParam() != KeyType::kInt16) GTEST_SKIP() << "once is enough";
  int device = 0, multiprocessors = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), cudaSuccess);
  const cuda::RadixTuning tuning = cuda::RadixTuningFor(2, 4);
  const int64_t rows = cuda::StatusRows(cuda::MostRunningTiles(multiprocessors, tuning.threads));
  Offsets offsets = {0, 1};
  while (offsets.back() < (rows + rows / 4) * tuning.Tile()) {
    offsets.push_back(offsets.back() + cuda::LongSegment::kLeastGiant * (1 + static_cast<int64_t>(offsets.size()) % 9));
  }
  SortRequest request;
  request.value_bytes = 4;
  const SortInput input(GetParam(), Order::kAscending, Distribution::kUniform, offsets.back(), 4002, offsets);
  EXPECT_TRUE(SortsRight(input, request));
}

TEST_P(CudaSegmentSort, NeedsOneMoreCopyABitAKeyAndTwoPercent) {
  if (IsFloat(GetParam())) GTEST_SKIP() << "floats are sorted as ranks with indices";
  SortArgs args;
  args.key_type = GetParam();
  args.count = int64_t{1} << 28;
  args.keys_out = &args;  // only whether it is null matters
  args.segment_offsets = &args.count;
  args.segment_count = 2;
  const int64_t copy = args.count * KeyBytes(GetParam());
  EXPECT_GE(cuda::SortWorkspaceBytes(args), copy);
  constexpr int64_t kConstant = int64_t{4} << 20;
  EXPECT_LE(cuda::SortWorkspaceBytes(args), copy + args.count / 8 + copy / 50 + kConstant);
}

}  // namespace
}  // namespace corank::testing
