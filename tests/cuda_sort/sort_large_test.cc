// More keys than 32-bit arithmetic can count.
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"

namespace corank::testing {
namespace {

using Histogram = std::array<int64_t, 256>;

/// Sorts `count` one-byte keys, of which byte i % kPatternBytes is pattern[i % kPatternBytes], and checks the result by
/// counting.
void ExpectSorted(SortAlgorithm algorithm, int64_t count) {
  constexpr int64_t kPatternBytes = int64_t{1} << 26;
  const Bytes pattern = MakeBytes(kPatternBytes, 42);
  Histogram expected{};
  for (const uint8_t key : pattern) expected[key] += count / kPatternBytes;
  for (int64_t i = 0; i < count % kPatternBytes; ++i) ++expected[pattern[i]];

  SortArgs args;
  args.key_type = KeyType::kUint8;
  args.algorithm = algorithm;
  args.count = count;
  void *d_in = nullptr, *d_out = nullptr, *d_workspace = nullptr;
  args.keys_out = &d_out;  // only whether it is null counts
  const int64_t workspace_bytes = cuda::SortWorkspaceBytes(args);
  ASSERT_EQ(cudaMalloc(&d_in, count), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&d_out, count), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&d_workspace, workspace_bytes), cudaSuccess);
  for (int64_t start = 0; start < count; start += kPatternBytes) {
    const int64_t bytes = std::min(kPatternBytes, count - start);
    ASSERT_EQ(cudaMemcpy(static_cast<char*>(d_in) + start, pattern.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  }
  args.keys_in = d_in;
  args.keys_out = d_out;
  OperatorReport report;
  ASSERT_EQ(cuda::Sort(args, d_workspace, workspace_bytes, &report, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  Histogram actual{};
  Bytes chunk(kPatternBytes);
  uint8_t last = 0;
  bool rises = true;
  for (int64_t start = 0; start < count; start += kPatternBytes) {
    const int64_t bytes = std::min(kPatternBytes, count - start);
    ASSERT_EQ(cudaMemcpy(chunk.data(), static_cast<char*>(d_out) + start, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int64_t i = 0; i < bytes; ++i) {
      rises &= last <= chunk[i];
      last = chunk[i];
      ++actual[last];
    }
  }
  EXPECT_TRUE(rises);
  EXPECT_EQ(actual, expected);
  for (void* d_array : {d_in, d_out, d_workspace}) cudaFree(d_array);
}

class CudaSortLarge : public ::testing::TestWithParam<SortAlgorithm> {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
    size_t free_bytes = 0, total_bytes = 0;
    ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
    if (free_bytes < (size_t{20} << 30)) GTEST_SKIP() << "needs 20 GiB of GPU memory";
  }
};

INSTANTIATE_TEST_SUITE_P(EveryAlgorithm, CudaSortLarge,
                         ::testing::Values(SortAlgorithm::kMergesort, SortAlgorithm::kRadix,
                                           SortAlgorithm::kOddEvenMergesort));

TEST_P(CudaSortLarge, SortsMoreThanFourBillionKeys) { ExpectSorted(GetParam(), (int64_t{1} << 32) + 12345); }

}  // namespace
}  // namespace corank::testing
