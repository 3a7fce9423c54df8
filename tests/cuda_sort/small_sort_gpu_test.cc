// The small sort on the GPU: short arrays of every length, the counts at which its shape changes, and inputs that
// mislead its samples.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/small_runs.h"
#include "kernels/cuda/sort/small_sort_tuning.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

class SmallSortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }
};

class SmallSortOfType : public SmallSortTest, public ::testing::WithParamInterface<KeyType> {};

INSTANTIATE_TEST_SUITE_P(EveryType, SmallSortOfType, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

/// Keys alone, the permutation alone, and with values.
void ExpectSorts(const SortInput& input, int64_t limit = -1, int skew = 0) {
  SortRequest request;
  request.algorithm = SortAlgorithm::kMergesort;
  request.limit = limit;
  request.skew = skew;
  SortAlgorithm taken = SortAlgorithm::kAuto;
  EXPECT_TRUE(SortsRight(input, request, &taken));
  EXPECT_EQ(taken, SortAlgorithm::kMergesort);
  request.keys = false;
  request.indices = true;
  EXPECT_TRUE(SortsRight(input, request));
  request.keys = true;
  request.indices = false;
  request.value_bytes = 8;
  EXPECT_TRUE(SortsRight(input, request));
}

std::vector<int64_t> BoundaryCounts() {
  std::vector<int64_t> counts;
  const auto around = [&](int64_t count) { counts.insert(counts.end(), {count - 1, count, count + 1}); };
  for (const int items : cuda::kSmallClusterItems) {
    const int run = cuda::kSmallClusterThreads * items;
    for (int64_t count = run; count <= cuda::SmallClusterCount(items); count += run) around(count);
  }
  for (int64_t count = 1 << 14; count <= cuda::SmallSortLimit(cuda::SmallForm::kRank32); count *= 2) around(count);
  for (const auto form : {cuda::SmallForm::kRank32, cuda::SmallForm::kRankIndex32}) around(cuda::SmallSortLimit(form));
  for (const int64_t run : {256, 512, 1024, 2048}) around(run * 30 + run / cuda::kSmallSamples);
  return counts;
}

TEST_P(SmallSortOfType, SortsEveryLengthTo300) {
  for (int64_t count = 0; count <= 300; ++count) {
    const Order order = count % 2 == 0 ? Order::kAscending : Order::kDescending;
    const Distribution distribution = count % 3 == 0 ? Distribution::kSixteenDistinct : Distribution::kSpecialFloats;
    ExpectSorts(SortInput(GetParam(), order, distribution, count, 1000 + count));
    if (HasFailure()) return;
  }
}

TEST_P(SmallSortOfType, SortsCountsAtWhichTheShapeChanges) {
  for (const int64_t count : BoundaryCounts()) {
    const Order order = count % 2 == 0 ? Order::kAscending : Order::kDescending;
    ExpectSorts(SortInput(GetParam(), order, Distribution::kUniform, count, 2000 + count));
    if (HasFailure()) return;
  }
}

TEST_P(SmallSortOfType, SortsEveryDistributionInEveryShape) {
  for (const int64_t count : {3333, 30'000, 100'000, 300'000}) {
    for (const Distribution distribution : kAllDistributions) {
      const Order order = count % 3 == 0 ? Order::kAscending : Order::kDescending;
      ExpectSorts(SortInput(GetParam(), order, distribution, count, 3000));
    }
    if (HasFailure()) return;
  }
}

TEST_P(SmallSortOfType, LimitsAndAlignments) {
  for (const int64_t count : {700, 4000, 20'001, 150'000}) {
    const SortInput input(GetParam(), Order::kDescending, Distribution::kZipf, count, 4000);
    for (const int64_t limit : {int64_t{1}, int64_t{513}, count / 2, count - 1}) ExpectSorts(input, limit);
    ExpectSorts(input, -1, 1);
    ExpectSorts(input, count / 3, 3);
    if (HasFailure()) return;
  }
}

/// Keys whose runs all look the same to their samples: the keys between two samples of one run are indistinguishable,
/// by any samples, from those between the same samples of the other runs.
template <typename Key>
Bytes MisleadingKeys(int64_t count, int run_length) {
  cuda::SmallRuns<Key> runs{};
  runs.tile = run_length;
  runs.count = static_cast<int>(count);
  runs.run_count = static_cast<int>((count + run_length - 1) / run_length);
  std::vector<Key> keys(count);
  Random random(77);
  for (int run = 0; run < runs.run_count; ++run) {
    const int length = runs.RunLength(run);
    Key* const begin = keys.data() + int64_t{run} * run_length;
    int sample = 0;
    for (int i = 0; i < length; ++i) {
      if (sample < cuda::kSmallSamples && i >= runs.SamplePosition(run, sample)) ++sample;
      const bool is_sample = sample > 0 && i == runs.SamplePosition(run, sample - 1);
      begin[i] = Key{1000} * static_cast<Key>(sample) + static_cast<Key>(is_sample ? 0 : 1 + i % 7);
    }
    for (int i = length - 1; i > 0; --i) std::swap(begin[i], begin[random.Below(i + 1)]);
  }
  Bytes bytes(keys.size() * sizeof(Key));
  std::memcpy(bytes.data(), keys.data(), bytes.size());
  return bytes;
}

TEST_F(SmallSortTest, SortsWhatItsSamplesMisjudge) {
  for (const int64_t count : {8192, 32'768, 131'072, 131'000, 262'144, 500'000}) {
    const int run = cuda::SmallPlanFor(count, cuda::SmallForm::kRank32, true, 227 * 1024).run;
    ExpectSorts(SortInput(KeyType::kUint32, Order::kAscending, MisleadingKeys<uint32_t>(count, run)), count - 10);
    ExpectSorts(SortInput(KeyType::kUint64, Order::kAscending, MisleadingKeys<uint64_t>(count, run)));
    ExpectSorts(SortInput(KeyType::kFloat32, Order::kAscending, MisleadingKeys<uint32_t>(count, run)));
  }
}

TEST_F(SmallSortTest, FourStreamsSortAtATime) {
  constexpr int kStreams = 4, kRounds = 40;
  const int64_t counts[] = {1000, 4096, 8000, 131'072, 250'000};
  struct Lane {
    cudaStream_t stream = nullptr;
    uint32_t *d_in = nullptr, *d_out = nullptr;
    void* d_workspace = nullptr;
    int64_t workspace_bytes = 0;
    std::vector<uint32_t> keys;
  };
  std::vector<Lane> lanes(kStreams);
  for (Lane& lane : lanes) {
    const int64_t most = *std::max_element(std::begin(counts), std::end(counts));
    SortArgs args;
    for (const int64_t count : counts) {
      args.count = count;
      lane.workspace_bytes = std::max(lane.workspace_bytes, cuda::SortWorkspaceBytes(args));
    }
    const Bytes bytes = MakeKeys(KeyType::kUint32, Distribution::kUniform, most, 5000 + (&lane - lanes.data()));
    lane.keys.resize(most);
    std::memcpy(lane.keys.data(), bytes.data(), bytes.size());
    ASSERT_EQ(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&lane.d_in), bytes.size()), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&lane.d_out), bytes.size()), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&lane.d_workspace, lane.workspace_bytes), cudaSuccess);
    ASSERT_TRUE(CopyToDevice(lane.d_in, bytes.data(), bytes.size()));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kStreams; ++i) {
      SortArgs args;
      args.count = counts[(round + i) % std::size(counts)];
      args.keys_in = lanes[i].d_in;
      args.keys_out = lanes[i].d_out;
      OperatorReport report;
      ASSERT_EQ(cuda::Sort(args, lanes[i].d_workspace, lanes[i].workspace_bytes, &report, lanes[i].stream),
                cudaSuccess);
    }
  }
  for (int i = 0; i < kStreams; ++i) {
    ASSERT_EQ(cudaStreamSynchronize(lanes[i].stream), cudaSuccess);
    std::vector<uint32_t> expected(lanes[i].keys.begin(),
                                   lanes[i].keys.begin() + counts[(kRounds - 1 + i) % std::size(counts)]);
    std::vector<uint32_t> actual(expected.size());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(cudaMemcpy(actual.data(), lanes[i].d_out, 4 * actual.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(actual, expected) << i;
    cudaFree(lanes[i].d_in);
    cudaFree(lanes[i].d_out);
    cudaFree(lanes[i].d_workspace);
    cudaStreamDestroy(lanes[i].stream);
  }
}

}  // namespace
}  // namespace corank::testing
