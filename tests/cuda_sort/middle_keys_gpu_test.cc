// Sort with an offset: the keys in the middle, by a selection and by a sort of all keys.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/selection_rules.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

// The sort of so many keys would be RADIX, that of a selection is MERGESORT.
constexpr int64_t kCount = (int64_t{1} << 20) + 77;

class CudaSortMiddle : public ::testing::TestWithParam<std::tuple<KeyType, Order>> {
 protected:
  void SetUp() override { CORANK_SKIP_WITHOUT_GPU(); }
  static KeyType type() { return std::get<0>(GetParam()); }
  static Order order() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(EveryTypeAndOrder, CudaSortMiddle,
                         ::testing::Combine(::testing::ValuesIn(kAllKeyTypes),
                                            ::testing::Values(Order::kAscending, Order::kDescending)),
                         [](const auto& info) {
                           const bool ascends = std::get<1>(info.param) == Order::kAscending;
                           return std::string(KeyTypeName(std::get<0>(info.param))) +
                                  (ascends ? "Ascending" : "Descending");
                         });

// Sorts for each form of records; *taken: the algorithm of all of them, or AUTO if they differ.
void ExpectMiddle(const SortInput& input, int64_t offset, int64_t limit, SortAlgorithm* taken = nullptr) {
  SortRequest request;
  request.algorithm = SortAlgorithm::kAuto;
  request.look_count = 1;
  request.offset = offset;
  request.limit = limit;
  SortAlgorithm each = SortAlgorithm::kAuto;
  const auto expect = [&](bool is_first = false) {
    EXPECT_TRUE(SortsRight(input, request, taken == nullptr ? nullptr : &each));
    if (taken != nullptr) *taken = is_first || *taken == each ? each : SortAlgorithm::kAuto;
  };
  expect(true);
  request.value_bytes = 8;
  expect();
  request.value_bytes = 12;
  request.skew = 1;
  expect();
  request.value_bytes = 0;
  request.indices = true;
  expect();
  request.keys = false;
  expect();
}

TEST_P(CudaSortMiddle, SmallResultsOfManyKeysAreSelected) {
  if (KeyBytes(type()) == 1) return;
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kZipf, Distribution::kSixteenDistinct,
                                          Distribution::kAllEqual, Distribution::kSpecialFloats}) {
    const SortInput input(type(), order(), distribution, kCount, 61);
    for (const int64_t offset : {kCount / 4, kCount / 2, kCount - 1000}) {
      SortAlgorithm taken = SortAlgorithm::kAuto;
      ExpectMiddle(input, offset, 1 + offset % 900, &taken);
      EXPECT_EQ(taken, SortAlgorithm::kMergesort) << DistributionName(distribution) << " offset " << offset;
    }
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortMiddle, AnyPartOfTheOrderIsRight) {
  for (const int64_t count : {int64_t{1}, int64_t{100}, int64_t{20'000}, int64_t{1} << 19}) {
    for (const Distribution distribution : kAllDistributions) {
      const SortInput input(type(), order(), distribution, count, 62);
      for (const int64_t offset : {int64_t{1}, count / 2, count - 1, count, std::numeric_limits<int64_t>::max()}) {
        for (const int64_t limit : {int64_t{-1}, int64_t{1}, count / 3}) {
          SortRequest request;
          request.algorithm = SortAlgorithm::kAuto;
          request.look_count = 1;
          request.offset = offset;
          request.limit = limit;
          request.indices = offset % 2 == 0;
          request.value_bytes = request.indices ? 0 : 4;
          EXPECT_TRUE(SortsRight(input, request));
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(CudaSortMiddle, NamedAlgorithmsSortAll) {
  const SortInput input(type(), order(), Distribution::kUniform, 50'000, 63);
  for (const SortAlgorithm algorithm :
       {SortAlgorithm::kMergesort, SortAlgorithm::kRadix, SortAlgorithm::kOddEvenMergesort}) {
    SortRequest request;
    request.algorithm = algorithm;
    request.look_count = 1;
    request.offset = 25'000;
    request.limit = 10;
    SortAlgorithm taken = SortAlgorithm::kAuto;
    EXPECT_TRUE(SortsRight(input, request, &taken));
    EXPECT_EQ(taken, algorithm);
  }
}

// Random keys with others in the places of the samples. Expects right results, and that a band does not give them.
void ExpectNoBand(int64_t limit, uint64_t seed, const std::function<uint32_t(int64_t part)>& sampled) {
  SortArgs args;
  args.count = kCount;
  args.offset = kCount / 2;
  args.limit = limit;
  const RankBand band = cuda::PlanMiddle(args).band;
  ASSERT_GT(band.samples, 0);
  Random random(seed);
  Bytes keys(static_cast<size_t>(kCount) * sizeof(uint32_t));
  const auto set = [&](int64_t i, uint32_t key) {
    std::memcpy(keys.data() + i * static_cast<int64_t>(sizeof(key)), &key, sizeof(key));
  };
  for (int64_t i = 0; i < kCount; ++i) set(i, 0x40000000 | static_cast<uint32_t>(random.Next() >> 34));
  for (int64_t part = 0; part < band.samples; ++part) {
    uint32_t unused;
    set(SampledPlace(part, band.samples, kCount, &unused), sampled(part));
  }
  SortAlgorithm taken = SortAlgorithm::kAuto;
  ExpectMiddle(SortInput(KeyType::kUint32, Order::kAscending, keys), args.offset, args.limit, &taken);
  EXPECT_EQ(taken, SortAlgorithm::kRadix);
}

// The samples lie beside the results, so that the band holds none of them.
TEST(CudaSortMiddleKeys, NoticesASampleThatMisleads) {
  CORANK_SKIP_WITHOUT_GPU();
  for (const uint32_t beside : {1U, 0x80000001U}) {
    ExpectNoBand(100, 64, [beside](int64_t) { return beside; });
  }
}

// The samples lie around all other keys, so that the band has more than its memory, and blocks more than they note.
TEST(CudaSortMiddleKeys, NoticesABandThatIsTooFull) {
  CORANK_SKIP_WITHOUT_GPU();
  ExpectNoBand(1, 65, [](int64_t part) { return part % 2 == 0 ? 0U : 0xFFFFFFFFU; });
}

}  // namespace
}  // namespace corank::testing
