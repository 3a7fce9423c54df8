// Radix sort on the GPU: its own tiles, digits, tie-breaks and shared status rows.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/radix_state.h"
#include "kernels/cuda/sort/radix_tuning.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"
#include "tests/support/device_buffer.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr Order kOrders[] = {Order::kAscending, Order::kDescending};

SortRequest Radix(int value_bytes = 0, bool keys = true) {
  SortRequest request;
  request.algorithm = SortAlgorithm::kRadix;
  request.value_bytes = value_bytes;
  request.keys = keys;
  return request;
}

/// Keys alone, with values of both widths, with the permutation, and the permutation alone.
void ExpectSorts(const SortInput& input) {
  for (const int value_bytes : {0, 4, 8}) EXPECT_TRUE(SortsRight(input, Radix(value_bytes)));
  SortRequest request = Radix();
  request.indices = true;
  EXPECT_TRUE(SortsRight(input, request));
  request.keys = false;
  EXPECT_TRUE(SortsRight(input, request));
}

class CudaRadix : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }
};
class CudaRadixOfType : public CudaRadix, public ::testing::WithParamInterface<KeyType> {};

INSTANTIATE_TEST_SUITE_P(EveryType, CudaRadixOfType, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

TEST_P(CudaRadixOfType, SortsCountsAroundItsTiles) {
  for (const int payload_bytes : {0, 4, 8}) {
    const int64_t tile = cuda::RadixTuningFor(KeyBytes(GetParam()), payload_bytes).Tile();
    for (const int64_t count : {tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 1, 9 * tile + 13}) {
      const Order order = kOrders[count % 2];
      const SortInput input(GetParam(), order, Distribution::kUniform, count, 10 + count);
      EXPECT_TRUE(SortsRight(input, Radix(payload_bytes)));
      EXPECT_TRUE(SortsRight(input, Radix(payload_bytes, payload_bytes == 0)));
    }
    if (HasFailure()) return;
  }
}

TEST_P(CudaRadixOfType, SortsSkewedDigits) {
  const int64_t count = 5 * cuda::RadixTuningFor(KeyBytes(GetParam()), 0).Tile() + 321;
  for (const Distribution distribution : {Distribution::kAllEqual, Distribution::kSixteenDistinct, Distribution::kZipf,
                                          Distribution::kSixteenBits, Distribution::kSorted, Distribution::kReversed}) {
    for (const Order order : kOrders) ExpectSorts(SortInput(GetParam(), order, distribution, count, 20));
    if (HasFailure()) return;
  }
}

TEST_P(CudaRadixOfType, SortsOneHotDigitAmongRandomOnes) {
  const int64_t count = 7 * cuda::RadixTuningFor(KeyBytes(GetParam()), 4).Tile() + 5;
  Bytes keys = MakeKeys(GetParam(), Distribution::kUniform, count, 30);
  const int key_bytes = KeyBytes(GetParam());
  Random random(31);
  for (int64_t i = 1; i < count; ++i) {
    if (!random.OneIn(10)) std::memcpy(keys.data() + i * key_bytes, keys.data(), static_cast<size_t>(key_bytes));
  }
  for (const Order order : kOrders) ExpectSorts(SortInput(GetParam(), order, keys));
}

TEST_P(CudaRadixOfType, KeepsTheOrderOfZerosAndNans) {
  const int64_t count = 6 * cuda::RadixTuningFor(KeyBytes(GetParam()), 0).Tile() + 77;
  for (const Order order : kOrders) ExpectSorts(SortInput(GetParam(), order, Distribution::kSpecialFloats, count, 40));
}

TEST_F(CudaRadix, KeepsTheOrderOfNothingButZerosOrNans) {
  constexpr int64_t kCount = 50'000;
  for (const Order order : kOrders) {
    ExpectSorts(SortInput(KeyType::kFloat32, order, TwoPatterns(4, 0, 0x80000000, kCount)));
    ExpectSorts(SortInput(KeyType::kFloat32, order, TwoPatterns(4, 0x7FC00001, 0xFFFFFFFF, kCount)));
    ExpectSorts(SortInput(KeyType::kFloat64, order, TwoPatterns(8, 0, uint64_t{1} << 63, kCount)));
    ExpectSorts(SortInput(KeyType::kFloat64, order, TwoPatterns(8, 0x7FF8000000000000, ~uint64_t{0}, kCount)));
    ExpectSorts(SortInput(KeyType::kBfloat16, order, TwoPatterns(2, 0, 0x8000, kCount)));
    ExpectSorts(SortInput(KeyType::kFloat16, order, TwoPatterns(2, 0x7E00, 0xFFFF, kCount)));
  }
}

TEST_P(CudaRadixOfType, SortsFloatsWithoutTies) {
  const int64_t count = 4 * cuda::RadixTuningFor(KeyBytes(GetParam()), 0).Tile() + 3;
  for (const Order order : kOrders) ExpectSorts(SortInput(GetParam(), order, Distribution::kReversed, count, 60));
}

TEST_P(CudaRadixOfType, LimitTakesTheFirst) {
  const int64_t tile = cuda::RadixTuningFor(KeyBytes(GetParam()), 4).Tile();
  const SortInput input(GetParam(), Order::kDescending, Distribution::kUniform, 3 * tile + 9, 70);
  for (const int64_t limit : {int64_t{1}, tile - 1, tile + 1, 3 * tile + 8}) {
    for (const int value_bytes : {0, 4, 8}) {
      SortRequest request = Radix(value_bytes);
      request.limit = limit;
      EXPECT_TRUE(SortsRight(input, request));
      request.keys = value_bytes == 0;
      EXPECT_TRUE(SortsRight(input, request));
    }
  }
}

/// Between passes, pairs of 4 + 4 bytes lie in both outputs, at any alignment.
TEST_F(CudaRadix, KeepsPairsInOutputsOfAnyAlignmentAndLength) {
  const int64_t tile = cuda::RadixTuningFor(4, 4).Tile();
  for (const KeyType type : {KeyType::kInt32, KeyType::kFloat32}) {
    for (const int64_t count : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{777}, tile + 1, 2 * tile, 40 * tile + 5}) {
      for (const Order order : kOrders) {
        const SortInput input(type, order, Distribution::kSpecialFloats, count, 75 + count);
        for (const int skew : {0, 1, 2, 3}) {
          SortRequest request = Radix(4);
          request.skew = skew;
          EXPECT_TRUE(SortsRight(input, request));
          request.keys = false;
          EXPECT_TRUE(SortsRight(input, request));
        }
        SortRequest request = Radix();
        request.indices = true;
        request.skew = 1;
        EXPECT_TRUE(SortsRight(input, request));
      }
    }
    if (HasFailure()) return;
  }
}

/// More tiles than rows of statuses: rows are reused within a pass.
TEST_F(CudaRadix, SharesStatusRowsBetweenTiles) {
  int device = 0, multiprocessors = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), cudaSuccess);
  const cuda::RadixTuning tuning = cuda::RadixTuningFor(2, 4);
  const int64_t rows = cuda::StatusRows(cuda::MostRunningTiles(multiprocessors, tuning.threads));
  const int64_t count = (rows + rows / 4) * tuning.Tile() + 12345;
  EXPECT_TRUE(SortsRight(SortInput(KeyType::kInt16, Order::kDescending, Distribution::kUniform, count, 80), Radix(4)));
}

/// RadixSort alone: keys whose bits outside live_bits are all equal.
void ExpectSortsByLiveBits(KeyType type, Order order, uint64_t live_bits, uint64_t same_bits) {
  SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " live bits " << live_bits);
  constexpr int64_t kCount = 60'000;
  const int key_bytes = KeyBytes(type);
  Bytes keys(static_cast<size_t>(kCount * key_bytes));
  Random random(90);
  for (int64_t i = 0; i < kCount; ++i) {
    const uint64_t bits = (random.Next() & live_bits) | (same_bits & ~live_bits);
    std::memcpy(keys.data() + i * key_bytes, &bits, static_cast<size_t>(key_bytes));
  }
  const DeviceBuffer d_in(keys);
  const DeviceBuffer d_out(Bytes(keys.size()));
  cuda::CoreSort sort;
  sort.key_type = type;
  sort.order = order;
  sort.count = sort.result_count = kCount;
  sort.d_keys_in = d_in.data();
  sort.d_keys_out = d_out.data();
  cuda::Workspace sizing;
  ASSERT_EQ(cuda::RadixSort(sort, sizing, nullptr), cudaSuccess);
  const DeviceBuffer d_workspace(Bytes(static_cast<size_t>(sizing.bytes())));
  sort.live_bits = live_bits;
  cuda::Workspace workspace(d_workspace.data());
  ASSERT_EQ(cuda::RadixSort(sort, workspace, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_LE(workspace.bytes(), sizing.bytes());
  EXPECT_EQ(d_out.Download(), Gather(keys, key_bytes, StableOrder(type, order, keys)));
}

TEST_F(CudaRadix, LiveBitsAreEnough) {
  constexpr uint64_t kMasks[] = {0, 1, 0x81, 0xFFFF, 0xFFFF000, 0x8000000000000001, 0xF0F0F0F0F0F0F0F0, ~uint64_t{0}};
  for (const KeyType type : {KeyType::kUint8, KeyType::kInt16, KeyType::kInt32, KeyType::kUint64, KeyType::kInt64}) {
    for (const uint64_t mask : kMasks) {
      for (const uint64_t same_bits : {uint64_t{0}, 0xA5A5A5A5A5A5A5A5}) {
        for (const Order order : kOrders) ExpectSortsByLiveBits(type, order, mask, same_bits);
      }
    }
  }
}

TEST_P(CudaRadixOfType, NeedsOneCopyAndAPercent) {
  constexpr int64_t kCount = int64_t{1} << 28;
  int64_t some_memory = 0;
  for (const int value_bytes : {0, 4, 8}) {
    SortArgs args;
    args.key_type = GetParam();
    args.algorithm = SortAlgorithm::kRadix;
    args.count = kCount;
    args.keys_out = &some_memory;
    args.value_bytes = value_bytes;
    const int64_t copy = kCount * (KeyBytes(GetParam()) + value_bytes);
    EXPECT_LE(cuda::SortWorkspaceBytes(args), copy + copy / 100);
  }
}

}  // namespace
}  // namespace corank::testing
