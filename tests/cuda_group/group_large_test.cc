// More keys than 32-bit arithmetic can count.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "gtest/gtest.h"
#include "kernels/cuda/group/group.h"
#include "tests/support/large_device.h"

namespace corank::testing {
namespace {

// Runs of 3 and 5 equal keys take turns.
constexpr int64_t kPeriods = (int64_t{1} << 29) + 1000, kPeriod = 8, kCount = kPeriods * kPeriod;

TEST(CudaGroupLarge, CountsAndReducesRunsOfMoreThan32BitsOfKeys) {
  constexpr int64_t kGroups = 2 * kPeriods;
  // The workspace holds the position of each key, in case that all differ.
  constexpr int64_t kBytes = 2 * kCount + 17 * kGroups + 8 * kCount + (int64_t{2} << 30);
  CORANK_SKIP_WITHOUT_GPU_MEMORY(kBytes);
  const DeviceMemory keys = OnDevice(kCount), values = OnDevice(kCount);
  FillDevice({1, 1, 1, 2, 2, 2, 2, 2}, keys.get(), kCount);
  FillDevice({9, 7, 8, 1, 2, 3, 4, 5}, values.get(), kCount);
  // Outputs are as long as the number of groups that is known here.
  const DeviceMemory counts = OnDevice(kGroups * 8), sums = OnDevice(kGroups * 8), least = OnDevice(kGroups);
  GroupArgs args;
  args.key_type = args.value_type = KeyType::kUint8;
  args.check_sorted = false;
  args.count = kCount;
  args.keys = keys.get();
  args.values = values.get();
  args.counts_out = static_cast<int64_t*>(counts.get());
  const PinnedMemory report = Pinned(sizeof(GroupReport));
  auto* const h_report = static_cast<GroupReport*>(report.get());
  {
    const int64_t workspace_bytes = cuda::GroupWorkspaceBytes(args);
    const DeviceMemory workspace = OnDevice(workspace_bytes);
    ASSERT_EQ(cuda::Group(args, workspace.get(), workspace_bytes, h_report, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(h_report->groups, kGroups);
  }
  args.counts_out = nullptr;
  args.sums_out = sums.get();
  args.minima_out = least.get();
  const int64_t workspace_bytes = cuda::GroupWorkspaceBytes(args);
  const DeviceMemory workspace = OnDevice(workspace_bytes);
  ASSERT_EQ(cuda::Group(args, workspace.get(), workspace_bytes, h_report, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(h_report->groups, kGroups);
  EXPECT_EQ(h_report->overflow, -1);
  DeviceReader<int64_t> count_reader(counts.get(), kGroups);
  EXPECT_TRUE(count_reader.NextAre(kGroups, [](int64_t i) { return i % 2 == 0 ? 3 : 5; }));
  DeviceReader<uint64_t> sum_reader(sums.get(), kGroups);
  EXPECT_TRUE(sum_reader.NextAre(kGroups, [](int64_t i) { return i % 2 == 0 ? 24U : 15U; }));
  DeviceReader<uint8_t> least_reader(least.get(), kGroups);
  EXPECT_TRUE(least_reader.NextAre(kGroups, [](int64_t i) { return i % 2 == 0 ? 7 : 1; }));
}

}  // namespace
}  // namespace corank::testing
