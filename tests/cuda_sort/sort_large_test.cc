// More keys than 32-bit arithmetic can count: every algorithm, and every other path of AUTO.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/selection_rules.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/support/large_device.h"
#include "tests/support/large_keys.h"

namespace corank::testing {
namespace {

constexpr int64_t kBeyond31 = (int64_t{1} << 31) + 12345;
constexpr int64_t kBeyond32 = (int64_t{1} << 32) + 12345;

struct LargeCase {
  const char* name;
  SortAlgorithm algorithm;
  Order order;
  LargeKeys (*make_keys)();
  bool keys;
  bool indices;
  bool values;  // of one byte: the keys themselves if these have one byte
  int64_t limit;
  SortAlgorithm taken;
};
void PrintTo(const LargeCase& large_case, std::ostream* os) { *os << large_case.name; }

LargeKeys Bytes32() { return LargeKeys::Random(kBeyond32, 1, 256, 42); }
LargeKeys Words31() { return LargeKeys::Random(kBeyond31, 2, 65536, 43); }
LargeKeys Words32() { return LargeKeys::Random(kBeyond32, 2, 65536, 44); }
LargeKeys FewWords32() { return LargeKeys::Random(kBeyond32, 2, 16, 45); }
LargeKeys Sorted32() { return LargeKeys::Runs(kBeyond32, 1, 1, Order::kAscending); }
LargeKeys Reversed32() { return LargeKeys::Runs(kBeyond32, 1, 1, Order::kDescending); }
LargeKeys ThreeRuns32() { return LargeKeys::Runs(kBeyond32, 1, 3, Order::kAscending); }

constexpr Order kUp = Order::kAscending, kDown = Order::kDescending;
constexpr SortAlgorithm kAuto = SortAlgorithm::kAuto, kMergesort = SortAlgorithm::kMergesort,
                        kRadix = SortAlgorithm::kRadix, kOddEven = SortAlgorithm::kOddEvenMergesort;

constexpr LargeCase kCases[] = {
    {"MergesortKeys", kMergesort, kDown, Bytes32, true, false, false, -1, kMergesort},
    {"MergesortLimit", kMergesort, kUp, Bytes32, true, false, false, kBeyond32 - 5, kMergesort},
    {"MergesortIndices", kMergesort, kUp, Words32, true, true, false, -1, kMergesort},
    {"RadixKeysOfTwoBytes", kRadix, kDown, Words31, true, false, false, -1, kRadix},
    {"RadixKeys", kRadix, kUp, Bytes32, true, false, false, -1, kRadix},
    {"RadixIndicesAlone", kRadix, kUp, Words32, false, true, false, -1, kRadix},
    {"RadixValues", kRadix, kDown, Bytes32, true, false, true, -1, kRadix},
    {"RadixLimitWithIndices", kRadix, kUp, Bytes32, true, true, false, kBeyond32 - 5, kRadix},
    {"OddEvenKeys", kOddEven, kUp, Bytes32, true, false, false, -1, kOddEven},
    {"OddEvenIndices", kOddEven, kUp, Bytes32, true, true, false, -1, kOddEven},
    {"AutoCopiesSortedKeys", kAuto, kUp, Sorted32, true, true, false, -1, SortAlgorithm::kCopy},
    {"AutoReverses", kAuto, kUp, Reversed32, true, false, false, -1, SortAlgorithm::kReverse},
    {"AutoMergesRuns", kAuto, kUp, ThreeRuns32, true, false, true, -1, SortAlgorithm::kMergeRuns},
    {"AutoMergesRunsToIndices", kAuto, kUp, ThreeRuns32, false, true, false, -1, SortAlgorithm::kMergeRuns},
    {"AutoCounts", kAuto, kDown, FewWords32, true, false, false, -1, SortAlgorithm::kCount},
    {"AutoSelects", kAuto, kDown, Words32, true, true, false, kBeyond32 / 64, kRadix},
};

class CudaSortLarge : public ::testing::TestWithParam<LargeCase> {};

INSTANTIATE_TEST_SUITE_P(EveryWay, CudaSortLarge, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(CudaSortLarge, AnswersAsTheOrderThatIsKnown) {
  const LargeCase& want = GetParam();
  const LargeKeys keys = want.make_keys();

  SortArgs args;
  args.key_type = keys.key_bytes() == 1 ? KeyType::kUint8 : KeyType::kUint16;
  args.order = want.order;
  args.algorithm = want.algorithm;
  args.count = keys.count();
  args.limit = want.limit;
  args.value_bytes = want.values ? 1 : 0;
  const int64_t results = args.ResultCount();
  const int64_t keys_in_bytes = keys.count() * keys.key_bytes();
  const int64_t keys_bytes = want.keys ? results * keys.key_bytes() : 0;
  const int64_t indices_bytes = want.indices ? results * int64_t{sizeof(int64_t)} : 0;
  const int64_t values_bytes = want.values ? results : 0;
  if (want.keys) args.keys_out = &args;  // only whether they are null matters
  if (want.indices) args.indices_out = &args;
  const int64_t workspace_bytes = cuda::SortWorkspaceBytes(args);

  CORANK_SKIP_WITHOUT_GPU_MEMORY(keys_in_bytes + keys_bytes + indices_bytes + values_bytes + workspace_bytes);
  const DeviceMemory d_keys_in = OnDevice(keys_in_bytes), d_keys_out = OnDevice(keys_bytes);
  const DeviceMemory d_indices_out = OnDevice(indices_bytes), d_values_out = OnDevice(values_bytes);
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  const PinnedMemory h_letter = Pinned(cuda::kSortLetterBytes);
  FillDevice(keys.FirstPeriod(), d_keys_in.get(), keys_in_bytes);
  args.keys_in = d_keys_in.get();
  args.keys_out = d_keys_out.get();
  args.indices_out = d_indices_out.get();
  if (want.values) args.values_in = d_keys_in.get();
  args.values_out = d_values_out.get();
  OperatorReport report;
  ASSERT_EQ(cuda::Sort(args, d_workspace.get(), workspace_bytes, &report, nullptr, h_letter.get()), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  EXPECT_STREQ(SortAlgorithmName(report.sort_algorithm), SortAlgorithmName(want.taken));
  if (want.keys && keys.key_bytes() == 1) {
    EXPECT_TRUE(HoldsKeysInOrder<uint8_t>(d_keys_out.get(), keys, want.order, results));
  } else if (want.keys) {
    EXPECT_TRUE(HoldsKeysInOrder<uint16_t>(d_keys_out.get(), keys, want.order, results));
  }
  if (want.indices) {
    EXPECT_TRUE(HoldsInOrder<int64_t>(d_indices_out.get(), keys, want.order, results, [](int64_t i) { return i; }));
  }
  if (want.values) {
    EXPECT_TRUE(HoldsKeysInOrder<uint8_t>(d_values_out.get(), keys, want.order, results));
  }
}

TEST(CudaSortLargeOffset, ReturnsIndicesFromTheMiddle) {
  constexpr int64_t kOffset = kBeyond32 / 2, kLimit = 10;
  const LargeKeys keys = LargeKeys::Random(kBeyond32, 4, 1 << 20, 46);
  SortArgs args;
  args.count = kBeyond32;
  args.offset = kOffset;
  args.limit = kLimit;
  args.indices_out = &args;  // only whether it is null matters
  ASSERT_GT(cuda::PlanMiddle(args).capacity, 0);
  ASSERT_EQ(cuda::PlanMiddle(args).form, cuda::SelectedForm::kIndices);
  const int64_t keys_bytes = kBeyond32 * int64_t{sizeof(uint32_t)}, indices_bytes = kLimit * int64_t{sizeof(int64_t)};
  const int64_t workspace_bytes = cuda::SortWorkspaceBytes(args);

  CORANK_SKIP_WITHOUT_GPU_MEMORY(keys_bytes + indices_bytes + workspace_bytes);
  const DeviceMemory d_keys_in = OnDevice(keys_bytes), d_indices_out = OnDevice(indices_bytes);
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  const PinnedMemory h_letter = Pinned(cuda::kSortLetterBytes);
  FillDevice(keys.FirstPeriod(), d_keys_in.get(), keys_bytes);
  args.keys_in = d_keys_in.get();
  args.indices_out = d_indices_out.get();
  OperatorReport report;
  ASSERT_EQ(cuda::Sort(args, d_workspace.get(), workspace_bytes, &report, nullptr, h_letter.get()), cudaSuccess);
  EXPECT_EQ(report.results, kLimit);

  DeviceReader<int64_t> reader(d_indices_out.get(), kLimit);
  int64_t end = 0;  // of the range, in the order of all keys
  bool same = true;
  keys.InOrder(args.order, kOffset + kLimit, [&](uint32_t, int64_t first, int64_t length) {
    end += length;
    if (end <= kOffset) return;
    const int64_t wanted = std::min(length, end - kOffset);
    same &= reader.NextAre(wanted, [&](int64_t i) { return first + length - wanted + i; });
  });
  EXPECT_TRUE(same);
  EXPECT_EQ(end, kOffset + kLimit);
}

}  // namespace
}  // namespace corank::testing
