// Segments of more keys than 32-bit arithmetic can count.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"

namespace corank::testing {
namespace {

using Histogram = std::array<int64_t, 256>;

TEST(CudaSegmentSortLarge, SortsAGiantBetweenTinySegments) {
  if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  size_t free_bytes = 0, total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  if (free_bytes < (size_t{20} << 30)) GTEST_SKIP() << "needs 20 GiB of GPU memory";

  const int64_t giant = (int64_t{1} << 32) + 12345;
  const std::vector<int64_t> offsets = {0, 5, 5, 5 + giant, 5 + giant + 3000, 5 + giant + 3001};
  const int64_t count = offsets.back();
  constexpr int64_t kPatternBytes = int64_t{1} << 26;
  const Bytes pattern = MakeBytes(kPatternBytes, 43);

  SortArgs args;
  args.key_type = KeyType::kUint8;
  args.count = count;
  args.segment_count = static_cast<int64_t>(offsets.size()) - 1;
  void *d_in = nullptr, *d_out = nullptr, *d_offsets = nullptr, *d_workspace = nullptr;
  ASSERT_EQ(cudaMalloc(&d_in, count), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&d_out, count), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&d_offsets, offsets.size() * sizeof(int64_t)), cudaSuccess);
  args.keys_in = d_in;
  args.keys_out = d_out;
  args.segment_offsets = static_cast<const int64_t*>(d_offsets);
  const int64_t workspace_bytes = cuda::SortWorkspaceBytes(args);
  ASSERT_EQ(cudaMalloc(&d_workspace, workspace_bytes), cudaSuccess);
  ASSERT_TRUE(CopyToDevice(d_offsets, offsets.data(), offsets.size() * sizeof(int64_t)));
  for (int64_t start = 0; start < count; start += kPatternBytes) {
    const int64_t bytes = std::min(kPatternBytes, count - start);
    ASSERT_TRUE(CopyToDevice(static_cast<char*>(d_in) + start, pattern.data(), bytes));
  }
  OperatorReport report;
  ASSERT_EQ(cuda::Sort(args, d_workspace, workspace_bytes, &report, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  Bytes chunk(kPatternBytes);
  for (size_t segment = 0; segment + 1 < offsets.size(); ++segment) {
    SCOPED_TRACE(segment);
    Histogram expected{}, actual{};
    uint8_t last = 0;
    bool rises = true;
    for (int64_t start = offsets[segment]; start < offsets[segment + 1];) {
      const int64_t place = start % kPatternBytes;
      const int64_t bytes = std::min(kPatternBytes - place, offsets[segment + 1] - start);
      ASSERT_EQ(cudaMemcpy(chunk.data(), static_cast<char*>(d_out) + start, bytes, cudaMemcpyDeviceToHost),
                cudaSuccess);
      for (int64_t i = 0; i < bytes; ++i) {
        rises &= last <= chunk[i];
        last = chunk[i];
        ++actual[last];
        ++expected[pattern[place + i]];
      }
      start += bytes;
    }
    EXPECT_TRUE(rises);
    EXPECT_EQ(actual, expected);
  }
  for (void* d_array : {d_in, d_out, d_offsets, d_workspace}) cudaFree(d_array);
}

}  // namespace
}  // namespace corank::testing
