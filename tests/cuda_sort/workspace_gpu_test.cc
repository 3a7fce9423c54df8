// The workspace of Sort: how much it is, that it is enough, and that less is refused.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"

namespace corank::testing {
namespace {

constexpr SortAlgorithm kAlgorithms[] = {SortAlgorithm::kAuto, SortAlgorithm::kMergesort, SortAlgorithm::kRadix,
                                         SortAlgorithm::kOddEvenMergesort};

/// What is asked for beside the keys.
struct Payload {
  bool keys;
  bool indices;
  int value_bytes;
};

constexpr Payload kPayloads[] = {{true, false, 0},  {true, true, 0},   {false, true, 0},  {true, false, 1},
                                 {true, false, 3},  {true, false, 4},  {false, false, 4}, {true, false, 8},
                                 {true, false, 12}, {true, false, 256}};

/// SortArgs of which only the sizes are right.
SortArgs ArgsFor(KeyType type, Order order, SortAlgorithm algorithm, const Payload& payload, int64_t count) {
  static char some_memory;
  SortArgs args;
  args.key_type = type;
  args.order = order;
  args.algorithm = algorithm;
  args.count = count;
  args.keys_in = &some_memory;
  if (payload.keys) args.keys_out = &some_memory;
  if (payload.indices) args.indices_out = &some_memory;
  args.value_bytes = payload.value_bytes;
  if (payload.value_bytes > 0) args.values_in = args.values_out = &some_memory;
  return args;
}

class CudaSortWorkspace : public ::testing::TestWithParam<KeyType> {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }

  template <typename Fn>
  static void ForEachForm(Fn fn) {
    for (const SortAlgorithm algorithm : kAlgorithms) {
      for (const Payload& payload : kPayloads) {
        for (const Order order : {Order::kAscending, Order::kDescending}) {
          SCOPED_TRACE(::testing::Message()
                       << SortAlgorithmName(algorithm) << ", " << KeyTypeName(GetParam())
                       << (order == Order::kAscending ? " ascending" : " descending") << ", keys " << payload.keys
                       << ", indices " << payload.indices << ", value bytes " << payload.value_bytes);
          fn(algorithm, payload, order);
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(EveryType, CudaSortWorkspace, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

TEST_P(CudaSortWorkspace, IsOneMoreCopyAndOnePercent) {
  constexpr int64_t kConstant = int64_t{4} << 20;
  for (const int64_t count : {int64_t{1} << 28, (int64_t{1} << 32) + 1}) {
    const int index_bytes = IndexBytes(count - 1);
    ForEachForm([&](SortAlgorithm algorithm, const Payload& payload, Order order) {
      const int key_bytes = KeyBytes(GetParam());
      const bool moves_values = payload.value_bytes == 4 || payload.value_bytes == 8;
      const bool gathers_values = payload.value_bytes > 0 && !moves_values;
      // Keys and payload once more. Where an output is missing that passes could write to in turn, once again.
      int copies = key_bytes + std::max(payload.value_bytes, payload.indices ? index_bytes : 0);
      if (!payload.keys) copies += key_bytes;
      if (gathers_values) copies = std::max(copies, key_bytes + 2 * index_bytes);
      if (algorithm == SortAlgorithm::kOddEvenMergesort) {
        // Its payload is always the index, and where ranks do not give the keys back they are no result.
        const bool gathers = payload.value_bytes > 0 || (IsFloat(GetParam()) && !payload.indices);
        const int index_copies = gathers ? 2 : payload.indices ? 1 : 0;
        const int key_copies = !payload.keys ? 3 : IsFloat(GetParam()) ? 2 : 1;
        copies = key_copies * key_bytes + index_copies * index_bytes;
      }
      const SortArgs args = ArgsFor(GetParam(), order, algorithm, payload, count);
      const double ratio =
          static_cast<double>(cuda::SortWorkspaceBytes(args) - kConstant) / static_cast<double>(count * copies);
      EXPECT_LE(ratio, 1.01);
    });
    if (HasFailure()) return;
  }
}

TEST_P(CudaSortWorkspace, OneByteLessIsRefused) {
  for (const int64_t count : {int64_t{20'000}, int64_t{1} << 28}) {
    ForEachForm([&](SortAlgorithm algorithm, const Payload& payload, Order order) {
      const SortArgs args = ArgsFor(GetParam(), order, algorithm, payload, count);
      OperatorReport report;
      EXPECT_EQ(cuda::Sort(args, nullptr, cuda::SortWorkspaceBytes(args) - 1, &report, nullptr), cudaErrorInvalidValue);
    });
  }
}

// SortsRight gives exactly the bytes asked for, between guards.
TEST_P(CudaSortWorkspace, IsEnough) {
  constexpr int64_t kCount = 70'001;
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    const SortInput input(GetParam(), order, Distribution::kZipf, kCount, 17);
    ForEachForm([&](SortAlgorithm algorithm, const Payload& payload, Order form_order) {
      if (form_order != order) return;
      SortRequest request;
      request.algorithm = algorithm;
      request.keys = payload.keys;
      request.indices = payload.indices;
      request.value_bytes = payload.value_bytes;
      request.look_count = 1;
      EXPECT_TRUE(SortsRight(input, request));
      request.limit = kCount / 2;
      EXPECT_TRUE(SortsRight(input, request));
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace corank::testing
