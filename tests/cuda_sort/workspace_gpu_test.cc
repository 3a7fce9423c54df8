// The workspace of Sort suffices, and Sort refuses less.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/device_sort.h"
#include "tests/cuda_sort/workspace_forms.h"

namespace corank::testing {
namespace {

class CudaSortWorkspace : public ::testing::TestWithParam<KeyType> {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }
};

INSTANTIATE_TEST_SUITE_P(EveryType, CudaSortWorkspace, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

TEST_P(CudaSortWorkspace, OneByteLessIsRefused) {
  for (const int64_t count : {int64_t{20'000}, int64_t{1} << 28}) {
    ForEachForm(GetParam(), [&](SortAlgorithm algorithm, const Payload& payload, Order order) {
      const SortArgs args = ArgsFor(GetParam(), order, algorithm, payload, count);
      OperatorReport report;
      EXPECT_EQ(cuda::Sort(args, nullptr, cuda::SortWorkspaceBytes(args) - 1, &report, nullptr), cudaErrorInvalidValue);
    });
  }
}

// SortsRight gives exactly the requested bytes, between guards.
TEST_P(CudaSortWorkspace, IsEnough) {
  constexpr int64_t kCount = 70'001;
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    const SortInput input(GetParam(), order, Distribution::kZipf, kCount, 17);
    ForEachForm(GetParam(), [&](SortAlgorithm algorithm, const Payload& payload, Order form_order) {
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
