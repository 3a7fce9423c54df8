// AUTO looks at the data: its choice for keys with a structure. Keys that only seem to have one must be sorted too.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/selection_rules.h"
#include "kernels/cuda/sort/sort.h"
#include "kernels/cuda/sort/statistics.h"
#include "tests/cuda_sort/device_sort.h"

namespace corank::testing {
namespace {

/// Enough keys that samples miss some, and not a multiple of a vector.
constexpr int64_t kCount = 64 * cuda::StatisticsTuning::kSamples + 5;

/// An array of keys, as numbers that ascend with their bits: positive ones, also for floats.
class Keys {
 public:
  Keys(KeyType type, int64_t count) : width_(KeyBytes(type)), bytes_(static_cast<size_t>(count * width_)) {}

  int64_t count() const { return static_cast<int64_t>(bytes_.size()) / width_; }
  const Bytes& bytes() const { return bytes_; }
  void Set(int64_t i, uint64_t bits) { std::memcpy(At(i), &bits, static_cast<size_t>(width_)); }
  uint64_t Get(int64_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data() + i * width_, static_cast<size_t>(width_));
    return bits;
  }
  void Reverse(int64_t begin, int64_t end) {
    for (--end; begin < end; ++begin, --end) {
      const uint64_t bits = Get(begin);
      Set(begin, Get(end));
      Set(end, bits);
    }
  }

 private:
  uint8_t* At(int64_t i) { return bytes_.data() + i * width_; }

  int width_;
  Bytes bytes_;
};

/// The greatest number used: below the infinity of floats, and positive in signed types.
uint64_t GreatestBits(KeyType type) {
  switch (KeyBytes(type)) {
    case 1:
      return 0x7F;
    case 2:
      return 0x7BFF;
    case 4:
      return 0x7F000000;
    default:
      return 0x7FE0000000000000;
  }
}

/// kCount keys in the given order; all different if the width allows it.
Keys InOrder(KeyType type, Order order) {
  Keys keys(type, kCount);
  const uint64_t greatest = GreatestBits(type);
  for (int64_t i = 0; i < kCount; ++i) {
    const auto part = static_cast<double>(i) / static_cast<double>(kCount);
    keys.Set(i, static_cast<uint64_t>(part * static_cast<double>(greatest)));
  }
  if (order == Order::kDescending) keys.Reverse(0, kCount);
  return keys;
}

/// `runs` runs of nearly equal length in the given order.
Keys Runs(KeyType type, Order order, int64_t runs) {
  const Keys sorted = InOrder(type, order);
  Keys keys(type, kCount);
  int64_t next = 0;
  for (int64_t run = 0; run < runs; ++run) {
    for (int64_t i = run; i < kCount; i += runs) keys.Set(next++, sorted.Get(i));
  }
  return keys;
}

Keys FewDistinct(KeyType type, int64_t distinct) {
  Random random(7);
  Keys keys(type, kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    keys.Set(i, 1 + static_cast<uint64_t>(random.Below(distinct)) * (GreatestBits(type) / 2 / distinct));
  }
  return keys;
}

class CudaSortStructured : public ::testing::TestWithParam<std::pair<KeyType, Order>> {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }

  static KeyType type() { return GetParam().first; }
  static Order order() { return GetParam().second; }
  /// Whether all keys of InOrder are different.
  static bool IsWide() { return KeyBytes(type()) >= 4; }
  static uint64_t SignBit() { return uint64_t{1} << (8 * KeyBytes(type()) - 1); }
  static uint64_t Nan(uint64_t payload) {
    const uint64_t infinity = KeyBytes(type()) == 8          ? 0x7FF0000000000000
                              : KeyBytes(type()) == 4        ? 0x7F800000
                              : type() == KeyType::kBfloat16 ? 0x7F80
                                                             : 0x7C00;
    return infinity | payload;
  }

  /// Keys alone, and with every form of payload. `alone` and `with_payload` are the expected algorithms; none means
  /// anything except copying, reversing, merging and counting.
  static void ExpectTaken(const Keys& keys, std::optional<SortAlgorithm> alone,
                          std::optional<SortAlgorithm> with_payload) {
    const SortInput input(type(), order(), keys.bytes());
    SortRequest plain;
    plain.algorithm = SortAlgorithm::kAuto;
    plain.look_count = 1;
    std::vector<SortRequest> requests(7, plain);
    requests[1].skew = 1;
    requests[2].limit = kCount / 3 + 1;
    requests[3].indices = true;
    requests[4].indices = true;
    requests[4].keys = false;
    requests[5].value_bytes = 4;
    requests[6].value_bytes = 12;
    requests[6].skew = 3;
    requests[6].limit = kCount - 1;
    for (const SortRequest& request : requests) {
      const auto expected = request.indices || request.value_bytes > 0 ? with_payload : alone;
      SortAlgorithm taken = SortAlgorithm::kAuto;
      ASSERT_TRUE(SortsRight(input, request, &taken));
      if (expected.has_value()) {
        ASSERT_STREQ(SortAlgorithmName(taken), SortAlgorithmName(*expected));
      } else {
        ASSERT_TRUE(IsRequestable(taken)) << SortAlgorithmName(taken);
      }
    }
  }
  static void ExpectTaken(const Keys& keys, std::optional<SortAlgorithm> taken) { ExpectTaken(keys, taken, taken); }
};

INSTANTIATE_TEST_SUITE_P(
    EveryKindOfKey, CudaSortStructured,
    ::testing::Values(std::pair(KeyType::kUint8, Order::kAscending), std::pair(KeyType::kInt16, Order::kDescending),
                      std::pair(KeyType::kBfloat16, Order::kAscending),
                      std::pair(KeyType::kFloat16, Order::kDescending), std::pair(KeyType::kUint32, Order::kAscending),
                      std::pair(KeyType::kInt32, Order::kDescending), std::pair(KeyType::kFloat32, Order::kAscending),
                      std::pair(KeyType::kFloat32, Order::kDescending), std::pair(KeyType::kUint64, Order::kDescending),
                      std::pair(KeyType::kInt64, Order::kAscending), std::pair(KeyType::kFloat64, Order::kAscending)),
    [](const auto& info) {
      return std::string(KeyTypeName(info.param.first)) +
             (info.param.second == Order::kAscending ? "Ascending" : "Descending");
    });

/// More keys than MERGESORT takes: the work that AUTO starts while it waits must be useful or harmless.
TEST_P(CudaSortStructured, DigitsAreCountedWhileKeysAreLookedAt) {
  const int64_t count = cuda::AutoRadixCount(KeyBytes(type())) + 77;
  ASSERT_LE(count, cuda::kAutoEarlyHistogramCount);
  for (const Distribution distribution : kAllDistributions) {
    const SortInput input(type(), order(), distribution, count, 90);
    for (const int value_bytes : {0, 4}) {
      SortRequest request;
      request.algorithm = SortAlgorithm::kAuto;
      request.look_count = 1;
      request.value_bytes = value_bytes;
      EXPECT_TRUE(SortsRight(input, request));
      request.limit = count - 1;
      EXPECT_TRUE(SortsRight(input, request));
    }
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortStructured, SortedKeysAreCopied) { ExpectTaken(InOrder(type(), order()), SortAlgorithm::kCopy); }

TEST_P(CudaSortStructured, EqualKeysAreCopied) {
  Keys keys(type(), kCount);
  for (int64_t i = 0; i < kCount; ++i) keys.Set(i, GreatestBits(type()) / 3);
  ExpectTaken(keys, SortAlgorithm::kCopy);
}

TEST_P(CudaSortStructured, TheLastKeyAloneCanBeOutOfOrder) {
  Keys keys = InOrder(type(), order());
  keys.Set(kCount - 1, keys.Get(kCount / 2));
  ExpectTaken(keys, SortAlgorithm::kMergeRuns);
}

TEST_P(CudaSortStructured, TheFirstKeyAloneCanBeOutOfOrder) {
  Keys keys = InOrder(type(), order());
  keys.Set(0, keys.Get(kCount / 2));
  ExpectTaken(keys, SortAlgorithm::kMergeRuns);
}

TEST_P(CudaSortStructured, OneDescentInTheMiddleIsMerged) {
  Keys keys = InOrder(type(), order());
  keys.Reverse(0, kCount);
  keys.Reverse(0, kCount / 2 + 3);
  keys.Reverse(kCount / 2 + 3, kCount);
  ExpectTaken(keys, SortAlgorithm::kMergeRuns);
}

TEST_P(CudaSortStructured, FewRunsAreMerged) {
  ExpectTaken(Runs(type(), order(), 16), SortAlgorithm::kMergeRuns);
  ExpectTaken(Runs(type(), order(), cuda::kMaxListedRuns), SortAlgorithm::kMergeRuns);
}

TEST_P(CudaSortStructured, OneRunTooManyIsSorted) {
  ExpectTaken(Runs(type(), order(), cuda::kMaxListedRuns + 1), std::nullopt);
}

TEST_P(CudaSortStructured, RunsOfOneKeyAreMerged) {
  Keys keys = InOrder(type(), order());
  for (int64_t i = 0; i < 5; ++i) keys.Set(i, keys.Get(kCount - 1 - 20000 * i));
  ExpectTaken(keys, SortAlgorithm::kMergeRuns);
}

TEST_P(CudaSortStructured, DisorderThatNoSampleSeesIsSorted) {
  Keys keys = InOrder(type(), order());
  for (int64_t i = 1; i < 100; ++i) {
    const int64_t at = i * (kCount / 100);
    const uint64_t bits = keys.Get(at);
    keys.Set(at, keys.Get(at - 2000));
    keys.Set(at - 2000, bits);
  }
  ExpectTaken(keys, std::nullopt);
}

TEST_P(CudaSortStructured, KeysInTheOppositeOrderAreReversed) {
  Keys keys = InOrder(type(), order());
  keys.Reverse(0, kCount);
  if (IsWide()) {
    ExpectTaken(keys, SortAlgorithm::kReverse);
    // A visible tie would change its order in a reversal.
    keys.Set(1000, keys.Get(999));
  }
  const SortInput input(type(), order(), keys.bytes());
  SortRequest request;
  request.algorithm = SortAlgorithm::kAuto;
  request.look_count = 1;
  SortAlgorithm taken = SortAlgorithm::kAuto;
  EXPECT_TRUE(SortsRight(input, request, &taken));
  EXPECT_EQ(taken, SortAlgorithm::kReverse);
  request.indices = true;
  EXPECT_TRUE(SortsRight(input, request, &taken));
  EXPECT_NE(taken, SortAlgorithm::kReverse);
}

TEST_P(CudaSortStructured, NearlyReversedKeysAreSorted) {
  Keys keys = InOrder(type(), order());
  keys.Reverse(0, kCount);
  keys.Set(kCount - 1, keys.Get(0));
  const SortInput input(type(), order(), keys.bytes());
  SortRequest request;
  request.algorithm = SortAlgorithm::kAuto;
  request.look_count = 1;
  SortAlgorithm taken = SortAlgorithm::kAuto;
  EXPECT_TRUE(SortsRight(input, request, &taken));
  EXPECT_NE(taken, SortAlgorithm::kReverse);
}

TEST_P(CudaSortStructured, FewDistinctKeysAreCounted) {
  const bool is_byte = KeyBytes(type()) == 1;
  const auto alone = is_byte ? std::optional<SortAlgorithm>() : SortAlgorithm::kCount;
  const auto with_payload = KeyBytes(type()) < 4 ? std::optional<SortAlgorithm>() : SortAlgorithm::kCount;
  ExpectTaken(FewDistinct(type(), 16), alone, with_payload);
  if (!is_byte) ExpectTaken(FewDistinct(type(), cuda::kMaxDistinctKeys), alone, with_payload);
}

TEST_P(CudaSortStructured, OneDistinctKeyThatNoSampleSeesIsSorted) {
  Keys keys = FewDistinct(type(), 16);
  keys.Set(kCount - 1, GreatestBits(type()));
  ExpectTaken(keys, std::nullopt);
}

TEST_P(CudaSortStructured, MoreDistinctKeysThanFitAreSorted) {
  if (KeyBytes(type()) == 1) return;
  ExpectTaken(FewDistinct(type(), cuda::kMaxDistinctKeys + 1), std::nullopt);
}

TEST_P(CudaSortStructured, LiveBitsThatNoSampleSeesAreSorted) {
  if (!IsWide()) return;
  Random random(8);
  Keys keys(type(), kCount);
  for (int64_t i = 0; i < kCount; ++i) keys.Set(i, (random.Next() & 0xFFFF) << 7);
  ExpectTaken(keys, std::nullopt);
  keys.Set(1, keys.Get(1) | uint64_t{1} << 30);
  keys.Set(kCount - 1, keys.Get(2) | 1);
  ExpectTaken(keys, std::nullopt);
}

TEST_P(CudaSortStructured, EqualFloatsWithOtherBitsAreSorted) {
  if (!IsFloat(type())) return;
  Keys keys = InOrder(type(), order());
  // Many zeros of both signs at the low end, and NaNs at their end: still sorted.
  const bool ascends = order() == Order::kAscending;
  for (int64_t i = 0; i < 1000; ++i) {
    keys.Set(ascends ? i : kCount - 1 - i, i % 3 == 0 ? SignBit() : 0);
    keys.Set(ascends ? kCount - 1 - i : i, Nan(1 + static_cast<uint64_t>(i) % 5));
  }
  ExpectTaken(keys, SortAlgorithm::kCopy);
  keys.Reverse(0, kCount);
  ExpectTaken(keys, std::nullopt);
}

TEST_P(CudaSortStructured, ZerosOfBothSignsAreNotCounted) {
  if (!IsFloat(type())) return;
  Keys keys = FewDistinct(type(), 4);
  for (int64_t i = 0; i < kCount; i += 3) keys.Set(i, i % 2 == 0 ? SignBit() : 0);
  ExpectTaken(keys, std::nullopt);
}

TEST_P(CudaSortStructured, SmallArraysHaveStructureToo) {
  for (const int64_t count : {2, 3, 17, 100, 5000}) {
    for (const bool descends : {false, true}) {
      Keys keys(type(), count);
      for (int64_t i = 0; i < count; ++i) keys.Set(i, 1 + static_cast<uint64_t>(i) % 127);
      if (descends) keys.Reverse(0, count);
      const SortInput input(type(), order(), keys.bytes());
      SortRequest request;
      request.algorithm = SortAlgorithm::kAuto;
      request.look_count = 1;
      EXPECT_TRUE(SortsRight(input, request));
      request.value_bytes = 8;
      EXPECT_TRUE(SortsRight(input, request));
    }
  }
}

TEST_P(CudaSortStructured, RandomKeysOfEightBytesWithAsManyAreMerged) {
  if (KeyBytes(type()) != 8) return;
  const int64_t count = cuda::AutoRadixCount(8) + 77;
  Random random(9);
  Keys keys(type(), count), last_byte_alike(type(), count), nearly_sorted(type(), count);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random.Next() % GreatestBits(type());
    keys.Set(i, bits);
    last_byte_alike.Set(i, bits & ~uint64_t{0xFF});
    nearly_sorted.Set(i, i % 16 == 0 ? bits : static_cast<uint64_t>(i) << 43 | bits >> 24);
  }
  const auto taken = [](const Keys& input, int value_bytes, int64_t limit) {
    SortRequest request;
    request.algorithm = SortAlgorithm::kAuto;
    request.look_count = 1;
    request.value_bytes = value_bytes;
    request.limit = limit;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    EXPECT_TRUE(SortsRight(SortInput(type(), order(), input.bytes()), request, &algorithm));
    return algorithm;
  };
  EXPECT_EQ(taken(keys, 8, -1), SortAlgorithm::kMergesort);
  EXPECT_EQ(taken(keys, 8, count / 2), SortAlgorithm::kMergesort);
  EXPECT_EQ(taken(keys, 4, -1), SortAlgorithm::kMergesort);
  EXPECT_EQ(taken(keys, 3, -1), SortAlgorithm::kMergesort);
  EXPECT_EQ(taken(keys, 0, -1), SortAlgorithm::kRadix);
  EXPECT_EQ(taken(last_byte_alike, 8, -1), SortAlgorithm::kRadix);
  EXPECT_EQ(taken(nearly_sorted, 8, -1), SortAlgorithm::kRadix);
}

void ExpectFirst(const SortInput& input, int64_t limit, SortAlgorithm* taken = nullptr) {
  SortRequest request;
  request.algorithm = SortAlgorithm::kAuto;
  request.look_count = 1;
  request.limit = limit;
  EXPECT_TRUE(SortsRight(input, request, taken));
  request.value_bytes = 12;
  request.skew = 1;
  EXPECT_TRUE(SortsRight(input, request, taken));
  request.value_bytes = 0;
  request.indices = true;
  EXPECT_TRUE(SortsRight(input, request, taken));
  request.keys = false;
  EXPECT_TRUE(SortsRight(input, request, taken));
}

TEST_P(CudaSortStructured, FewResultsAreTheFirst) {
  for (const Distribution distribution : kAllDistributions) {
    const SortInput input(type(), order(), distribution, kCount, 32);
    for (const int64_t limit : {int64_t{1}, kCount / 64, kCount / 64 + 1}) ExpectFirst(input, limit);
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortStructured, FewResultsOfShortArraysAreTheFirst) {
  for (const int64_t count : {64, 100, 1000, 4097}) {
    const SortInput input(type(), order(), Distribution::kUniform, count, 33);
    for (const int64_t limit : {int64_t{1}, count / 64}) ExpectFirst(input, limit);
  }
}

// The sort of all of these keys would be RADIX.
TEST_P(CudaSortStructured, FewResultsOfManyKeysAreSelected) {
  if (KeyBytes(type()) == 1) return;
  const int64_t count = cuda::AutoRadixCount(KeyBytes(type())) + 77;
  Random random(34);
  Keys uniform(type(), count), alike(type(), count), corner(type(), count);
  uint64_t bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t other = random.Next() % GreatestBits(type());
    if (i % 8 == 0) bits = other;
    uniform.Set(i, other);
    alike.Set(i, bits);                                    // as its neighbours: many more are selected
    corner.Set(i, i < count / 100 ? other / 128 : other);  // small ones lie together
  }
  for (const Keys* keys : {&uniform, &alike, &corner}) {
    const SortInput input(type(), order(), keys->bytes());
    for (const int64_t limit : {int64_t{1}, int64_t{100}, count / 64}) {
      SortAlgorithm taken = SortAlgorithm::kAuto;
      ExpectFirst(input, limit, &taken);
      EXPECT_EQ(taken, SortAlgorithm::kMergesort) << "limit " << limit;
    }
    if (HasFailure()) return;
  }
}

// Only the samples are small, so that too few keys are selected.
TEST(CudaSortSelection, NoticesASampleThatMisleads) {
  CORANK_SKIP_WITHOUT_GPU();
  constexpr int64_t kMany = int64_t{1} << 22;
  constexpr int64_t kParts = int64_t{cuda::SelectionTuning::kGroups} * cuda::SelectionTuning::kGroupVectors;
  constexpr int kPer = cuda::SelectionTuning::kVectorBytes / sizeof(uint32_t);
  Random random(35);
  Keys keys(KeyType::kUint32, kMany);
  for (int64_t i = 0; i < kMany; ++i) keys.Set(i, random.Next() >> 33 | 0x40000000);
  for (int64_t part = 0; part < kParts; ++part) {
    uint32_t jitter;
    keys.Set(SampledPlace(part, kParts, kMany / kPer, &jitter) * kPer, random.Next() >> 35);
  }
  const SortInput input(KeyType::kUint32, Order::kAscending, keys.bytes());
  for (const int64_t limit : {1, 1000}) ExpectFirst(input, limit);
}

TEST_P(CudaSortStructured, RandomKeysAreSortedAsUsual) {
  for (const Distribution distribution : kAllDistributions) {
    SortRequest request;
    request.algorithm = SortAlgorithm::kAuto;
    request.look_count = 1;
    const SortInput input(type(), order(), distribution, kCount, 31);
    EXPECT_TRUE(SortsRight(input, request));
    request.indices = true;
    EXPECT_TRUE(SortsRight(input, request));
  }
}

}  // namespace
}  // namespace corank::testing
