// ForEachWorkItem, compared with a loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "corank/cuda/for_each_work_item.cuh"
#include "tests/kernels/device_array.h"
#include "tests/kernels/typed_oracles.h"

namespace corank::testing {
namespace {

struct Seen {
  int64_t segment, rank;
  int32_t times, unused;
};

/// Notes what it is called with.
struct Note {
  Span<Seen> seen;
  __device__ void operator()(int64_t index, int64_t segment, int64_t rank) const {
    seen[index].segment = segment;
    seen[index].rank = rank;
    atomicAdd(&seen[index].times, 1);
  }
};

void Check(const std::vector<int64_t>& counts) {
  const TestStream stream;
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const DeviceArray<int64_t> d_counts(counts);
  const DeviceArray<Seen> d_seen(std::vector<Seen>(static_cast<size_t>(total)));
  const DeviceArray<std::byte> workspace(cuda::ForEachWorkItemWorkspaceBytes(d_counts.span().size(), total));
  ASSERT_EQ(cuda::ForEachWorkItem(d_counts.view(), total, Note{d_seen.span()}, workspace.span(), stream), cudaSuccess);
  const std::vector<Seen> seen = d_seen.Read();
  workspace.Read();
  size_t index = 0;
  for (size_t segment = 0; segment < counts.size(); ++segment) {
    for (int64_t rank = 0; rank < counts[segment]; ++rank, ++index) {
      ASSERT_EQ(seen[index].segment, static_cast<int64_t>(segment)) << index;
      ASSERT_EQ(seen[index].rank, rank) << index;
      ASSERT_EQ(seen[index].times, 1) << index;
    }
  }
}

TEST(ForEachWorkItem, VisitsEachItemOnceWithItsSegmentAndRank) {
  CORANK_SKIP_WITHOUT_GPU();
  for (const int64_t segments : {1, 31, 128, 129, 5000, 200'000})
    Check(Lengths(segments, static_cast<uint64_t>(segments)));
}

TEST(ForEachWorkItem, GiantAndEmptySegmentsAreCutIntoEqualWork) {
  CORANK_SKIP_WITHOUT_GPU();
  Check({3'000'000});
  std::vector<int64_t> counts(300'000, 0);
  counts[150'000] = 100'000;
  counts.back() = 1;
  Check(counts);
  Check(std::vector<int64_t>(100'000, 1));
  Check(std::vector<int64_t>(1000, 300));  // more than a byte
}

TEST(ForEachWorkItem, NoItemsAreNoCalls) {
  CORANK_SKIP_WITHOUT_GPU();
  Check({});
  Check(std::vector<int64_t>(1000, 0));
}

// Refused before anything reaches a device, so that this runs without one.
TEST(ForEachWorkItem, ImpossibleNumbersAndShortWorkspacesAreRefused) {
  alignas(256) std::byte memory[512] = {};
  const int64_t count = 5;
  const auto run = [&](Span<const int64_t> counts, int64_t total, Span<std::byte> workspace) {
    return cuda::ForEachWorkItem(counts, total, Note{}, workspace, nullptr);
  };
  EXPECT_EQ(run({}, 5, {memory, 512}), cudaErrorInvalidValue);
  EXPECT_EQ(run({&count, 1}, -1, {memory, 512}), cudaErrorInvalidValue);
  EXPECT_EQ(run({&count, 1}, 5, {}), cudaErrorInvalidValue);
  EXPECT_EQ(run({&count, 1}, 5, {memory + 8, cuda::ForEachWorkItemWorkspaceBytes(1, 5)}), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace corank::testing
