// The first keys of long segments on the GPU, compared with the oracle.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/segment_first.h"
#include "kernels/cuda/sort/selection_rules.h"
#include "tests/cuda_sort/device_sort.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

using Offsets = std::vector<int64_t>;
using Tuning = cuda::SegmentSelectionTuning;

constexpr int64_t kAverage = Tuning::kLeastLength;

class CudaSegmentFirst : public ::testing::TestWithParam<KeyType> {
 protected:
  void SetUp() override { CORANK_SKIP_WITHOUT_GPU(); }

  static void Expect(const SortInput& input, int64_t limit) {
    SortRequest request;
    request.algorithm = SortAlgorithm::kAuto;
    request.look_count = 1;
    request.limit = limit;
    EXPECT_TRUE(SortsRight(input, request));
    request.value_bytes = 12;
    request.skew = 1;
    EXPECT_TRUE(SortsRight(input, request));
    request.value_bytes = 0;
    request.indices = true;
    EXPECT_TRUE(SortsRight(input, request));
    request.keys = false;
    EXPECT_TRUE(SortsRight(input, request));
  }
};

INSTANTIATE_TEST_SUITE_P(EveryType, CudaSegmentFirst, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

/// Long segments between empty ones and short ones, which are long enough together.
Offsets MixedSegments() {
  Offsets offsets = {0};
  const auto add = [&](int64_t length) { offsets.push_back(offsets.back() + length); };
  for (const int64_t length :
       {int64_t{0}, int64_t{3}, int64_t{Tuning::kCapacity}, int64_t{Tuning::kCapacity} + 1, 3 * kAverage + 5,
        int64_t{1}, int64_t{0}, 5 * kAverage + 3, int64_t{Tuning::kCapacity} - 1, kAverage}) {
    add(length);
  }
  add(std::max<int64_t>(1, static_cast<int64_t>(offsets.size()) * kAverage - offsets.back()));
  return offsets;
}

TEST_P(CudaSegmentFirst, AnswersAsStableSortOfEach) {
  const Offsets offsets = MixedSegments();
  int seed = 60;
  for (const Distribution distribution : kAllDistributions) {
    const Order order = ++seed % 2 == 0 ? Order::kAscending : Order::kDescending;
    const SortInput input(GetParam(), order, distribution, offsets.back(), static_cast<uint64_t>(seed), offsets);
    for (const int64_t limit : {int64_t{1}, int64_t{256}, Tuning::kMostResults, Tuning::kMostResults + 1}) {
      Expect(input, limit);
    }
    if (HasFailure()) return;
  }
}

// The least keys lie together at the begin of a segment, or neighbours are alike.
TEST_P(CudaSegmentFirst, TakesKeysThatASampleMisjudges) {
  const Offsets offsets = {0, 2 * kAverage + 1, 5 * kAverage, 6 * kAverage};
  const int key_bytes = KeyBytes(GetParam());
  Random random(61);
  for (const bool alike : {false, true}) {
    Bytes keys(static_cast<size_t>(offsets.back() * key_bytes));
    uint64_t bits = 0;
    for (int64_t i = 0; i < offsets.back(); ++i) {
      const uint64_t other = random.Next() >> 2;  // no NaN
      if (!alike || i % 16 == 0) bits = other >> (64 - 8 * key_bytes);
      const bool is_in_corner = !alike && i % (2 * kAverage) < 500;
      const uint64_t key = is_in_corner ? bits >> 8 : bits;
      std::memcpy(keys.data() + i * key_bytes, &key, static_cast<size_t>(key_bytes));
    }
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      const SortInput input(GetParam(), order, keys, offsets);
      for (const int64_t limit : {1, 300, 600}) Expect(input, limit);
    }
  }
}

// Only the samples are small, so that too few keys are selected.
TEST_P(CudaSegmentFirst, NoticesASampleThatMisleads) {
  const Offsets offsets = {0, 4 * kAverage, 8 * kAverage};
  const int key_bytes = KeyBytes(GetParam());
  const int per = cuda::SelectionTuning::kVectorBytes / key_bytes;
  Bytes keys(static_cast<size_t>(offsets.back() * key_bytes));
  Random random(63);
  const auto set = [&](int64_t i, uint64_t bits) {
    const uint64_t key = bits >> (64 - 8 * key_bytes);
    std::memcpy(keys.data() + i * key_bytes, &key, static_cast<size_t>(key_bytes));
  };
  for (int64_t i = 0; i < offsets.back(); ++i) set(i, random.Next() >> 2 | uint64_t{1} << 61);
  for (int64_t part = 0; part < cuda::SelectionTuning::kGroups; ++part) {
    uint32_t jitter;
    const int64_t vector = SampledPlace(part, cuda::SelectionTuning::kGroups, offsets[1] / per, &jitter);
    set(vector * per, random.Next() >> 3);
  }
  const SortInput input(GetParam(), Order::kAscending, keys, offsets);
  for (const int64_t limit : {1, 256}) Expect(input, limit);
}

TEST_P(CudaSegmentFirst, FindsThoseOfUniformKeysWithoutASort) {
  if (KeyBytes(GetParam()) < 4) return;  // these have many equal keys
  SortArgs args;
  args.key_type = GetParam();
  args.count = 16 * kAverage;
  args.segment_count = 4;
  const int64_t offsets[] = {0, kAverage, 4 * kAverage, 9 * kAverage, args.count};
  Bytes offset_bytes(sizeof(offsets));
  std::memcpy(offset_bytes.data(), offsets, sizeof(offsets));
  const DeviceBuffer d_offsets(offset_bytes);
  const DeviceBuffer d_keys(MakeKeys(args.key_type, Distribution::kUniform, args.count, 62));
  args.keys_in = d_keys.data();
  args.segment_offsets = static_cast<const int64_t*>(d_offsets.data());
  for (const int64_t limit : {int64_t{1}, int64_t{256}, Tuning::kMostResults}) {
    args.limit = limit;
    ASSERT_TRUE(cuda::SelectsInSegments(args, 1));
    const DeviceBuffer d_out(args.ResultCount() * KeyBytes(args.key_type));
    args.keys_out = d_out.data();
    cuda::Workspace sizing;
    bool found = false;
    ASSERT_EQ(cuda::WriteFirstOfSegments(args, nullptr, nullptr, sizing, nullptr, &found), cudaSuccess);
    const DeviceBuffer d_workspace(sizing.bytes());
    cuda::Workspace workspace(d_workspace.data());
    void* h_letter = nullptr;
    ASSERT_EQ(cudaMallocHost(&h_letter, sizeof(cuda::StatisticsLetter)), cudaSuccess);
    EXPECT_EQ(cuda::WriteFirstOfSegments(args, nullptr, static_cast<cuda::StatisticsLetter*>(h_letter), workspace,
                                         nullptr, &found),
              cudaSuccess);
    EXPECT_TRUE(found) << "limit " << limit;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cudaFreeHost(h_letter);
  }
}

}  // namespace
}  // namespace corank::testing
