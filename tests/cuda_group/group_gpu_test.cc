// Group on a GPU at the sizes of its kernels, compared with loops. The conformance tests of the engines add the types.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda/group/group.h"
#include "kernels/cuda/group/group_tuning.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

using cuda::GroupTuning;

constexpr int64_t kTile = GroupTuning::kRunTile;
constexpr int64_t kCompactTile = cuda::CompactTuning<4>::kTile;
constexpr int64_t kFan = GroupTuning::kThreads;  // nodes that a block joins

struct Answer {
  GroupReport report;
  Bytes keys, counts, firsts, sums, minima, maxima, value_counts;
};

/// Every array begins `shift` elements after a 256-byte boundary.
/// Without `validity`, no value is null.
Answer RunGroup(const GroupArgs& wanted, const Bytes& keys, const Bytes& values, int64_t shift,
                const Bytes& validity = {}) {
  const int64_t key_bytes = KeyBytes(wanted.key_type), value_bytes = KeyBytes(wanted.value_type);
  const int64_t count = static_cast<int64_t>(keys.size()) / key_bytes;
  const DeviceBuffer d_keys(keys, shift * key_bytes), d_values(values, shift * value_bytes);
  const DeviceBuffer d_validity(validity, shift), value_counts(count * 8, shift * 8);
  const DeviceBuffer keys_out(count * key_bytes, shift * key_bytes), counts(count * 8, shift * 8);
  const DeviceBuffer firsts(count * 4, shift * 4), sums(count * 8, shift * 8);
  const DeviceBuffer minima(count * value_bytes, shift * value_bytes), maxima(count * value_bytes, shift * value_bytes);
  GroupArgs args = wanted;
  args.count = count;
  args.keys = d_keys.data();
  args.values = d_values.data();
  if (!validity.empty()) args.values_validity = static_cast<const uint8_t*>(d_validity.data());
  args.value_counts_out = static_cast<int64_t*>(value_counts.data());
  args.keys_out = keys_out.data();
  args.counts_out = static_cast<int64_t*>(counts.data());
  args.firsts_out = firsts.data();
  args.sums_out = sums.data();
  args.minima_out = minima.data();
  args.maxima_out = maxima.data();
  const DeviceBuffer workspace(cuda::GroupWorkspaceBytes(args)), report(sizeof(GroupReport));
  EXPECT_EQ(cuda::Group(args, workspace.data(), workspace.bytes(), static_cast<GroupReport*>(report.data()), nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  workspace.Download();
  Answer answer;
  std::memcpy(&answer.report, report.Download().data(), sizeof(GroupReport));
  const auto first_of = [&](const DeviceBuffer& buffer, int64_t element_bytes) {
    Bytes bytes = buffer.Download();
    bytes.resize(
        std::min(bytes.size(), static_cast<size_t>(std::max<int64_t>(0, answer.report.groups) * element_bytes)));
    return bytes;
  };
  answer.keys = first_of(keys_out, key_bytes);
  answer.counts = first_of(counts, 8);
  answer.firsts = first_of(firsts, 4);
  answer.sums = first_of(sums, 8);
  answer.value_counts = first_of(value_counts, 8);
  answer.minima = first_of(minima, value_bytes);
  answer.maxima = first_of(maxima, value_bytes);
  return answer;
}

/// Groups of equal lengths, except for the last one.
Bytes KeysOfLength(int64_t count, int64_t length) {
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) keys[static_cast<size_t>(i)] = static_cast<uint32_t>(i / length);
  return ToBytes(keys);
}

void Check(KeyType value_type, int64_t count, int64_t length, int64_t shift, uint64_t seed) {
  SCOPED_TRACE(std::string(KeyTypeName(value_type)) + ", count " + std::to_string(count) + ", length " +
               std::to_string(length) + ", shift " + std::to_string(shift) + ", seed " + std::to_string(seed));
  GroupArgs args;
  args.value_type = value_type;
  const Bytes keys = KeysOfLength(count, length);
  // 16 bits: no sum overflows.
  const Bytes values =
      MakeKeys(value_type, IsFloat(value_type) ? Distribution::kUniform : Distribution::kSixteenBits, count, seed);
  std::vector<bool> valid;
  const bool has_nulls = seed / 4 % 2 == 0;  // the types take turns, four of them
  for (int64_t i = 0; has_nulls && i < count; ++i) valid.push_back((seed + static_cast<uint64_t>(i) * 7) % 5 > 1);
  const Answer answer = RunGroup(args, keys, values, shift, Bitmap(valid, true));
  const std::vector<int64_t> starts = GroupStarts(KeyType::kUint32, keys);
  ASSERT_EQ(answer.report.groups, static_cast<int64_t>(starts.size()));
  EXPECT_EQ(answer.report.unsorted, -1);
  EXPECT_EQ(answer.report.overflow, -1);
  EXPECT_TRUE(answer.keys == Gather(keys, 4, starts));
  EXPECT_TRUE(answer.firsts == IndexArray(starts, 4));
  std::vector<int64_t> counts(starts.size());
  for (size_t i = 0; i < starts.size(); ++i) counts[i] = (i + 1 < starts.size() ? starts[i + 1] : count) - starts[i];
  EXPECT_TRUE(answer.counts == ToBytes(counts));
  const GroupReductions expected = ReduceGroups(value_type, values, starts, valid);
  EXPECT_TRUE(answer.value_counts == expected.value_counts);
  EXPECT_TRUE(answer.sums == expected.sums);
  EXPECT_TRUE(answer.minima == expected.minima);
  EXPECT_TRUE(answer.maxima == expected.maxima);
}

TEST(CudaGroup, ReducesGroupsAroundTheSizesOfATile) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 0;
  for (const int64_t count : {int64_t{0}, int64_t{1}, kTile - 1, kTile, kTile + 1, 2 * kTile, kCompactTile - 1,
                              kCompactTile, kCompactTile + 1, 3 * kCompactTile + 77}) {
    for (const int64_t length : {int64_t{1}, int64_t{2}, int64_t{GroupTuning::kRunItems}, int64_t{33}, kTile - 1, kTile,
                                 kTile + 1, kCompactTile + 1, 2 * kCompactTile + 5}) {
      for (const KeyType type : {KeyType::kInt32, KeyType::kUint64, KeyType::kFloat32, KeyType::kFloat64}) {
        ++seed;
        Check(type, count, length, static_cast<int64_t>(seed % 3), seed);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(CudaGroup, JoinsTheNodesOfManyTilesInTwoLaunches) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 100;
  for (const int64_t count : {kFan * kTile - 1, kFan * kTile, kFan * kTile + 1, 3 * kFan * kTile + 5}) {
    for (const int64_t length : {int64_t{1000}, 2 * kTile, 7 * kTile + 1, kFan * kTile - 3, 4 * kFan * kTile}) {
      ++seed;
      Check(seed % 2 == 0 ? KeyType::kFloat32 : KeyType::kInt64, count, length, 0, seed);
      if (HasFailure()) return;
    }
  }
}

TEST(CudaGroup, CountsWhereABlockTakesSeveralTiles) {
  CORANK_SKIP_WITHOUT_GPU();
  int multiprocessors = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  const int64_t blocks = int64_t{multiprocessors} * GroupTuning::kCompactBlocks;
  Check(KeyType::kInt32, 5 * blocks * kCompactTile / 2 + 77, 1000, 1, 200);
}

TEST(CudaGroup, NamesTheFirstKeyOutOfOrder) {
  CORANK_SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<uint32_t> keys = FromBytes<uint32_t>(KeysOfLength(20000, 3));
    std::swap(keys[static_cast<size_t>(random.Below(20000))], keys[static_cast<size_t>(random.Below(20000))]);
    GroupArgs args;
    const auto expected = FirstUnsorted(KeyType::kUint32, Order::kAscending, ToBytes(keys));
    EXPECT_EQ(RunGroup(args, ToBytes(keys), ToBytes(keys), 0).report.unsorted, expected.value_or(-1)) << seed;
    args.check_sorted = false;
    EXPECT_EQ(RunGroup(args, ToBytes(keys), ToBytes(keys), 0).report.unsorted, -1) << seed;
  }
}

TEST(CudaGroup, NamesTheFirstSumThat64BitsDoNotHold) {
  CORANK_SKIP_WITHOUT_GPU();
  GroupArgs args;
  args.value_type = KeyType::kInt64;
  std::vector<int64_t> values(static_cast<size_t>(3 * kTile), 1);
  const Bytes keys = KeysOfLength(3 * kTile, kTile / 2);
  EXPECT_EQ(RunGroup(args, keys, ToBytes(values), 0).report.overflow, -1);
  values.back() = values[kTile] = INT64_MAX;  // group 5, whose end only the last launch sees, and group 2
  EXPECT_EQ(RunGroup(args, keys, ToBytes(values), 0).report.overflow, 2);
  values[kTile] = 1;
  EXPECT_EQ(RunGroup(args, keys, ToBytes(values), 0).report.overflow, 5);
}

TEST(CudaGroup, RefusesAWorkspaceThatIsTooSmall) {
  CORANK_SKIP_WITHOUT_GPU();
  GroupArgs args;
  args.count = 10;
  EXPECT_EQ(cuda::Group(args, nullptr, cuda::GroupWorkspaceBytes(args) - 1, nullptr, nullptr), cudaErrorInvalidValue);
  args.count = -1;
  EXPECT_EQ(cuda::Group(args, nullptr, 0, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace corank::testing
