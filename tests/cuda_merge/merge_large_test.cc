// More keys than 32-bit arithmetic can count, with every merge and both searches.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/search/search.h"
#include "tests/support/large_device.h"
#include "tests/support/large_keys.h"

namespace corank::testing {
namespace {

constexpr int64_t kCount = (int64_t{1} << 32) + 12345;

struct LargeMerge {
  const char* name;
  MergeAlgorithm algorithm;
  int inputs;
  int value_bytes;
  int key_bytes = 1;
};
void PrintTo(const LargeMerge& merge, std::ostream* os) { *os << merge.name; }

constexpr LargeMerge kMerges[] = {
    {"TwoInputs", MergeAlgorithm::kAuto, 2, 0},
    {"TwoInputsWithValues", MergeAlgorithm::kAuto, 2, 8},
    {"TwoInputsWithGatheredValues", MergeAlgorithm::kAuto, 2, 1},
    {"FiveInputs", MergeAlgorithm::kAuto, 5, 0},
    {"FiveInputsWithGatheredValues", MergeAlgorithm::kAuto, 5, 1},
    {"FortyInputs", MergeAlgorithm::kAuto, 40, 0},
    {"TwoInputsOfFourBytes", MergeAlgorithm::kAuto, 2, 0, 4},
    {"Basic", MergeAlgorithm::kBasic, 2, 0},
    {"Tiled", MergeAlgorithm::kTiled, 2, 0},
    {"CircularBuffer", MergeAlgorithm::kCircularBuffer, 3, 0},
};

/// The value of key i. The period is not a power of two.
constexpr int64_t kValues = 251;
int64_t ValueOf(int64_t i) { return i % kValues; }
Bytes ValuePeriod(int value_bytes) {
  Bytes period(static_cast<size_t>(kValues * value_bytes));
  for (int64_t i = 0; i < kValues; ++i) period[static_cast<size_t>(i * value_bytes)] = static_cast<uint8_t>(i);
  return period;
}

class CudaMergeLarge : public ::testing::TestWithParam<LargeMerge> {};

INSTANTIATE_TEST_SUITE_P(EveryWay, CudaMergeLarge, ::testing::ValuesIn(kMerges),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(CudaMergeLarge, AnswersAsTheOrderThatIsKnown) {
  const LargeMerge& want = GetParam();
  const LargeKeys keys = LargeKeys::Runs(kCount, want.key_bytes, want.inputs, Order::kAscending);
  std::vector<MergeInput> inputs(static_cast<size_t>(want.inputs));
  for (int i = 0; i < want.inputs; ++i) inputs[i].count = keys.RunStart(i + 1) - keys.RunStart(i);
  MergeArgs args;
  args.key_type = want.key_bytes == 1 ? KeyType::kUint8 : KeyType::kUint32;
  args.algorithm = want.algorithm;
  args.inputs = inputs.data();
  args.input_count = want.inputs;
  args.value_bytes = want.value_bytes;
  const int64_t keys_bytes = kCount * want.key_bytes, values_bytes = kCount * want.value_bytes;
  const int64_t workspace_bytes = cuda::MergeWorkspaceBytes(args);
  CORANK_SKIP_WITHOUT_GPU_MEMORY(2 * keys_bytes + 2 * values_bytes + workspace_bytes);

  const DeviceMemory d_keys = OnDevice(keys_bytes), d_keys_out = OnDevice(keys_bytes);
  const DeviceMemory d_values = OnDevice(values_bytes), d_values_out = OnDevice(values_bytes);
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  const PinnedMemory h_report = Pinned(int64_t{sizeof(OperatorReport)});
  FillDevice(keys.FirstPeriod(), d_keys.get(), keys_bytes);
  if (want.value_bytes > 0) FillDevice(ValuePeriod(want.value_bytes), d_values.get(), values_bytes);
  for (int i = 0; i < want.inputs; ++i) {
    inputs[i].keys = static_cast<const char*>(d_keys.get()) + keys.RunStart(i) * want.key_bytes;
    inputs[i].values = static_cast<const char*>(d_values.get()) + keys.RunStart(i) * want.value_bytes;
  }
  args.keys_out = d_keys_out.get();
  args.values_out = d_values_out.get();
  auto* const report = static_cast<OperatorReport*>(h_report.get());
  ASSERT_EQ(cuda::Merge(args, d_workspace.get(), workspace_bytes, report, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  EXPECT_EQ(report->fault, OperatorReport::Fault::kNone);
  const bool holds_keys = want.key_bytes == 1
                              ? HoldsKeysInOrder<uint8_t>(d_keys_out.get(), keys, Order::kAscending, kCount)
                              : HoldsKeysInOrder<uint32_t>(d_keys_out.get(), keys, Order::kAscending, kCount);
  EXPECT_TRUE(holds_keys);
  if (want.value_bytes == 1) {
    EXPECT_TRUE(HoldsInOrder<uint8_t>(d_values_out.get(), keys, Order::kAscending, kCount, ValueOf));
  } else if (want.value_bytes == 8) {
    EXPECT_TRUE(HoldsInOrder<uint64_t>(d_values_out.get(), keys, Order::kAscending, kCount, ValueOf));
  }
}

TEST(CudaMergeLarge, ReportsTheOneKeyOutOfOrderBehindFourBillion) {
  const LargeKeys keys = LargeKeys::Runs(kCount, 1, 1, Order::kAscending);
  const int64_t out_of_order = kCount - 100;
  const MergeInput unknown[] = {{nullptr, nullptr, 7}, {nullptr, nullptr, kCount}};
  MergeArgs args;
  args.key_type = KeyType::kUint8;
  args.inputs = unknown;
  args.input_count = 2;
  const int64_t workspace_bytes = cuda::MergeWorkspaceBytes(args);
  CORANK_SKIP_WITHOUT_GPU_MEMORY(2 * kCount + workspace_bytes);
  const DeviceMemory d_keys = OnDevice(kCount), d_keys_out = OnDevice(kCount + 7);
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  const PinnedMemory h_report = Pinned(int64_t{sizeof(OperatorReport)});
  FillDevice(keys.FirstPeriod(), d_keys.get(), kCount);
  ASSERT_EQ(cudaMemset(static_cast<char*>(d_keys.get()) + out_of_order, 3, 1), cudaSuccess);
  const MergeInput inputs[] = {{d_keys.get(), nullptr, 7}, {d_keys.get(), nullptr, kCount}};
  args.inputs = inputs;
  args.keys_out = d_keys_out.get();
  auto* const report = static_cast<OperatorReport*>(h_report.get());
  ASSERT_EQ(cuda::Merge(args, d_workspace.get(), workspace_bytes, report, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(report->fault, OperatorReport::Fault::kUnsorted);
  EXPECT_EQ(report->input, 1);
  EXPECT_EQ(report->index, out_of_order);
}

TEST(CudaSearchLarge, FindsBothBoundsOfEveryKey) {
  constexpr int64_t kNeedles = 256;
  const LargeKeys keys = LargeKeys::Runs(kCount, 1, 1, Order::kAscending);
  Bytes needles(kNeedles);
  for (size_t i = 0; i < needles.size(); ++i) needles[i] = static_cast<uint8_t>(i);
  std::vector<int64_t> bounds;  // the beginning of each key, then the end
  keys.InOrder(Order::kAscending, kCount, [&](uint32_t, int64_t first, int64_t) { bounds.push_back(first); });
  bounds.push_back(kCount);

  SearchArgs args;
  args.key_type = KeyType::kUint8;
  args.haystack_count = kCount;
  args.needle_count = kNeedles;
  const int64_t workspace_bytes = cuda::SearchWorkspaceBytes(args);
  CORANK_SKIP_WITHOUT_GPU_MEMORY(kCount + workspace_bytes);
  const DeviceMemory d_haystack = OnDevice(kCount), d_needles = OnDevice(kNeedles);
  const DeviceMemory d_positions = OnDevice(kNeedles * int64_t{sizeof(int64_t)});
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  const PinnedMemory h_report = Pinned(int64_t{sizeof(OperatorReport)});
  FillDevice(keys.FirstPeriod(), d_haystack.get(), kCount);
  FillDevice(needles, d_needles.get(), kNeedles);
  args.haystack = d_haystack.get();
  args.needles = d_needles.get();
  args.positions_out = d_positions.get();
  for (const SearchBound bound : {SearchBound::kLower, SearchBound::kUpper}) {
    args.bound = bound;
    auto* const report = static_cast<OperatorReport*>(h_report.get());
    ASSERT_EQ(cuda::Search(args, d_workspace.get(), workspace_bytes, report, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(report->fault, OperatorReport::Fault::kNone);
    const int64_t* const expected = bounds.data() + (bound == SearchBound::kUpper ? 1 : 0);
    DeviceReader<int64_t> reader(d_positions.get(), kNeedles);
    EXPECT_TRUE(reader.NextAre(kNeedles, [&](int64_t i) { return expected[i]; }));
  }
}

}  // namespace
}  // namespace corank::testing
