// More elements than 32-bit arithmetic can count.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/intervals/intervals.h"
#include "tests/support/large_device.h"

namespace corank::testing {
namespace {

constexpr int64_t kBeyond32 = int64_t{1} << 32;

/// Short intervals, empty ones, one giant, and short ones after it.
std::vector<int64_t> Counts() {
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < 3000; ++i) counts.push_back(i % 7);
  counts.push_back(kBeyond32 + 12345);
  for (int64_t i = 0; i < 3000; ++i) counts.push_back(i % 5);
  return counts;
}

int64_t Total(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

template <typename T>
DeviceMemory ToDevice(const std::vector<T>& numbers) {
  const auto bytes = static_cast<int64_t>(numbers.size() * sizeof(T));
  DeviceMemory memory = OnDevice(bytes);
  EXPECT_TRUE(CopyToDevice(memory.get(), numbers.data(), static_cast<size_t>(bytes)));
  return memory;
}

/// Runs fn(d_workspace, workspace_bytes, d_report) and returns the report.
template <typename Fn>
OperatorReport RunOnDevice(int64_t workspace_bytes, Fn fn) {
  const DeviceMemory d_workspace = OnDevice(workspace_bytes);
  const PinnedMemory h_report = Pinned(int64_t{sizeof(OperatorReport)});
  auto* const report = static_cast<OperatorReport*>(h_report.get());
  EXPECT_EQ(fn(d_workspace.get(), workspace_bytes, report), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return *report;
}

/// Interval i has the value i % 251.
uint8_t ValueOf(size_t i) { return static_cast<uint8_t>(i % 251); }
std::vector<uint8_t> Values(size_t count) {
  std::vector<uint8_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ValueOf(i);
  return values;
}

void Expand(const std::vector<int64_t>& counts, void* d_out) {
  const DeviceMemory d_values = ToDevice(Values(counts.size())), d_counts = ToDevice(counts);
  ExpandArgs args;
  args.values = d_values.get();
  args.element_bytes = 1;
  args.counts = static_cast<const int64_t*>(d_counts.get());
  args.interval_count = static_cast<int64_t>(counts.size());
  args.total = Total(counts);
  args.out = d_out;
  RunOnDevice(cuda::ExpandWorkspaceBytes(args), [&](void* d_workspace, int64_t bytes, OperatorReport* report) {
    return cuda::Expand(args, d_workspace, bytes, report, nullptr);
  });
}

TEST(IntervalsLarge, ExpandRepeatsAValueFourBillionTimes) {
  const std::vector<int64_t> counts = Counts();
  const int64_t total = Total(counts);
  CORANK_SKIP_WITHOUT_GPU_MEMORY(total);
  const DeviceMemory d_out = OnDevice(total);
  Expand(counts, d_out.get());
  DeviceReader<uint8_t> reader(d_out.get(), total);
  bool same = true;
  for (size_t i = 0; i < counts.size(); ++i) {
    same &= reader.NextAre(counts[i], [&](int64_t) { return ValueOf(i); });
  }
  EXPECT_TRUE(same);
}

TEST(IntervalsLarge, MoveTurnsTheOrderOfIntervalsRound) {
  const std::vector<int64_t> counts = Counts();
  const int64_t total = Total(counts);
  CORANK_SKIP_WITHOUT_GPU_MEMORY(2 * total);
  const DeviceMemory d_source = OnDevice(total), d_out = OnDevice(total);
  Expand(counts, d_source.get());
  std::vector<int64_t> from(counts.size()), to(counts.size());
  for (size_t i = 1; i < counts.size(); ++i) from[i] = from[i - 1] + counts[i - 1];
  for (size_t i = 0; i < counts.size(); ++i) to[i] = total - from[i] - counts[i];
  const DeviceMemory d_counts = ToDevice(counts), d_from = ToDevice(from), d_to = ToDevice(to);
  MoveArgs args;
  args.source = d_source.get();
  args.destination = d_out.get();
  args.element_bytes = 1;
  args.source_offsets = static_cast<const int64_t*>(d_from.get());
  args.destination_offsets = static_cast<const int64_t*>(d_to.get());
  args.counts = static_cast<const int64_t*>(d_counts.get());
  args.interval_count = static_cast<int64_t>(counts.size());
  args.total = args.destination_count = total;
  const OperatorReport report =
      RunOnDevice(cuda::MoveWorkspaceBytes(args), [&](void* d_workspace, int64_t bytes, OperatorReport* d_report) {
        return cuda::Move(args, d_workspace, bytes, d_report, nullptr);
      });
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  DeviceReader<uint8_t> reader(d_out.get(), total);
  bool same = true;
  for (size_t i = counts.size(); i-- > 0;) {
    same &= reader.NextAre(counts[i], [&](int64_t) { return ValueOf(i); });
  }
  EXPECT_TRUE(same);
}

TEST(IntervalsLarge, LoadBalanceCountsFourBillionItems) {
  const std::vector<int64_t> counts = Counts();
  const int64_t total = Total(counts), index_bytes = int64_t{sizeof(int64_t)};
  CORANK_SKIP_WITHOUT_GPU_MEMORY(2 * total * index_bytes);
  const DeviceMemory d_counts = ToDevice(counts);
  const DeviceMemory d_objects = OnDevice(total * index_bytes), d_ranks = OnDevice(total * index_bytes);
  LoadBalanceArgs args;
  args.counts = static_cast<const int64_t*>(d_counts.get());
  args.object_count = static_cast<int64_t>(counts.size());
  args.total = total;
  args.objects_out = d_objects.get();
  args.ranks_out = d_ranks.get();
  ASSERT_EQ(args.IndexWidth(), index_bytes);
  RunOnDevice(cuda::LoadBalanceWorkspaceBytes(args), [&](void* d_workspace, int64_t bytes, OperatorReport* report) {
    return cuda::LoadBalance(args, d_workspace, bytes, report, nullptr);
  });
  DeviceReader<int64_t> objects(d_objects.get(), total), ranks(d_ranks.get(), total);
  bool objects_are_right = true, ranks_are_right = true;
  for (size_t i = 0; i < counts.size(); ++i) {
    objects_are_right &= objects.NextAre(counts[i], [&](int64_t) { return static_cast<int64_t>(i); });
    ranks_are_right &= ranks.NextAre(counts[i], [](int64_t rank) { return rank; });
  }
  EXPECT_TRUE(objects_are_right);
  EXPECT_TRUE(ranks_are_right);
}

}  // namespace
}  // namespace corank::testing
