// Zeros and NaNs keep their bits among more float keys than 32-bit arithmetic can count, in MERGESORT and in a merge of
// three inputs.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/support/large_device.h"

namespace corank::testing {
namespace {

constexpr int64_t kCount = (int64_t{1} << 31) + 12345;
constexpr int kInputs = 3;

/// FLOAT16 keys that the input repeats: -1, 1, zeros and NaNs of both signs.
constexpr uint16_t kPattern[] = {0x8000, 0x3C00, 0x7E01, 0x0000, 0xBC00, 0xFFFF,
                                 0x0000, 0x8000, 0x7C01, 0x3C00, 0x8000};

constexpr int64_t kPatternKeys = std::size(kPattern);

/// In ascending order.
enum class Class { kMinusOne, kZero, kOne, kNan };
Class ClassOf(uint16_t key) {
  if ((key & 0x7FFF) > 0x7C00) return Class::kNan;
  return (key & 0x7FFF) == 0 ? Class::kZero : key == 0xBC00 ? Class::kMinusOne : Class::kOne;
}

/// Whether the next keys are those of one class of the input, in input order.
bool NextAreOf(Class wanted, DeviceReader<uint16_t>& reader) {
  std::vector<uint16_t> members;
  int64_t count = 0;
  for (int64_t i = 0; i < kPatternKeys; ++i) {
    if (ClassOf(kPattern[i]) != wanted) continue;
    members.push_back(kPattern[i]);
    count += kCount / kPatternKeys + (i < kCount % kPatternKeys ? 1 : 0);
  }
  const auto distinct = static_cast<int64_t>(members.size());
  return reader.NextAre(count, [&](int64_t i) { return members[static_cast<size_t>(i % distinct)]; });
}

TEST(FloatBitsLarge, OfMoreThanTwoBillionKeys) {
  constexpr int64_t kBytes = kCount * 2;
  SortArgs sort;
  sort.key_type = KeyType::kFloat16;
  sort.algorithm = SortAlgorithm::kMergesort;
  sort.count = kCount;
  sort.keys_out = &sort;  // only whether it is null matters
  const int64_t sort_bytes = cuda::SortWorkspaceBytes(sort);
  const MergeInput unknown[kInputs] = {
      {nullptr, nullptr, kCount}, {nullptr, nullptr, kCount}, {nullptr, nullptr, kCount}};
  MergeArgs merge;
  merge.key_type = KeyType::kFloat16;
  merge.inputs = unknown;
  merge.input_count = kInputs;
  const int64_t merge_bytes = cuda::MergeWorkspaceBytes(merge);
  const int64_t workspace_bytes = std::max(sort_bytes, merge_bytes);
  CORANK_SKIP_WITHOUT_GPU_MEMORY((2 + kInputs) * kBytes + workspace_bytes);

  const DeviceMemory d_keys = OnDevice(kBytes), d_sorted = OnDevice(kBytes), d_merged = OnDevice(kInputs * kBytes);
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  Bytes period(sizeof(kPattern));
  std::memcpy(period.data(), kPattern, sizeof(kPattern));
  FillDevice(period, d_keys.get(), kBytes);
  sort.keys_in = d_keys.get();
  sort.keys_out = d_sorted.get();
  OperatorReport sort_report;
  ASSERT_EQ(cuda::Sort(sort, d_workspace.get(), workspace_bytes, &sort_report, nullptr, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  DeviceReader<uint16_t> sorted(d_sorted.get(), kCount);
  for (const Class key_class : {Class::kMinusOne, Class::kZero, Class::kOne, Class::kNan}) {
    ASSERT_TRUE(NextAreOf(key_class, sorted)) << static_cast<int>(key_class);
  }

  const MergeInput input = {d_sorted.get(), nullptr, kCount};
  const MergeInput inputs[kInputs] = {input, input, input};
  merge.inputs = inputs;
  merge.keys_out = d_merged.get();
  const PinnedMemory h_report = Pinned(int64_t{sizeof(OperatorReport)});
  auto* const merge_report = static_cast<OperatorReport*>(h_report.get());
  ASSERT_EQ(cuda::Merge(merge, d_workspace.get(), workspace_bytes, merge_report, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(merge_report->fault, OperatorReport::Fault::kNone);
  DeviceReader<uint16_t> merged(d_merged.get(), kInputs * kCount);
  for (const Class key_class : {Class::kMinusOne, Class::kZero, Class::kOne, Class::kNan}) {
    for (int i = 0; i < kInputs; ++i) {
      ASSERT_TRUE(NextAreOf(key_class, merged)) << static_cast<int>(key_class) << " of input " << i;
    }
  }
}

}  // namespace
}  // namespace corank::testing
