// The workspace that Sort requests. Needs the CUDA runtime, but no GPU.
#include <algorithm>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/sort.h"
#include "tests/cuda_sort/workspace_forms.h"

namespace corank::testing {
namespace {

class SortWorkspace : public ::testing::TestWithParam<KeyType> {};

INSTANTIATE_TEST_SUITE_P(EveryType, SortWorkspace, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

TEST_P(SortWorkspace, IsOneMoreCopyAndOnePercent) {
  constexpr int64_t kConstant = int64_t{4} << 20;
  for (const int64_t count : {int64_t{1} << 28, (int64_t{1} << 32) + 1}) {
    const int index_bytes = IndexBytes(count - 1);
    ForEachForm(GetParam(), [&](SortAlgorithm algorithm, const Payload& payload, Order order) {
      const int key_bytes = KeyBytes(GetParam());
      const bool moves_values = payload.value_bytes == 4 || payload.value_bytes == 8;
      const bool gathers_values = payload.value_bytes > 0 && !moves_values;
      // Keys and payload once more, and once again for each missing output that passes could alternate with.
      int copies = key_bytes + std::max(payload.value_bytes, payload.indices ? index_bytes : 0);
      if (!payload.keys) copies += key_bytes;
      if (gathers_values) copies = std::max(copies, key_bytes + 2 * index_bytes);
      if (algorithm == SortAlgorithm::kOddEvenMergesort) {
        // Its payload is always the index. Ranks that do not determine the keys are not a result.
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

TEST_P(SortWorkspace, WithAnOffsetHasACopyOfTheWantedResultsUpToTheLast) {
  constexpr int64_t kConstant = int64_t{1} << 20;
  for (const int64_t count : {int64_t{1} << 28, (int64_t{1} << 32) + 1}) {
    const int index_bytes = IndexBytes(count - 1);
    ForEachForm(GetParam(), [&](SortAlgorithm algorithm, const Payload& payload, Order order) {
      SortArgs args = ArgsFor(GetParam(), order, algorithm, payload, count);
      args.offset = count / 2;
      args.limit = 10;
      SortArgs whole = args.FromTheFirst();
      int row_bytes = payload.keys ? KeyBytes(GetParam()) : 0;
      if (payload.value_bytes == 4 || payload.value_bytes == 8) {
        row_bytes += payload.value_bytes;
      } else if (payload.value_bytes > 0 || payload.indices) {
        row_bytes += index_bytes;
        whole.value_bytes = 0;
        whole.values_in = whole.values_out = nullptr;
        whole.indices_out = &whole;
      }
      EXPECT_LE(cuda::SortWorkspaceBytes(args),
                whole.ResultCount() * row_bytes + cuda::SortWorkspaceBytes(whole) + kConstant);
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace corank::testing
