// MERGESORT of more float keys than it fetches by index. Zeros and NaNs must keep their own bits and their input order,
// wherever the results end.
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/small_sort_tuning.h"
#include "tests/cuda_sort/device_sort.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

class FloatBits : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "no NVIDIA GPU or driver on this machine";
  }
};

constexpr Order kOrders[] = {Order::kAscending, Order::kDescending};
constexpr KeyType kFloats[] = {KeyType::kFloat16, KeyType::kBfloat16, KeyType::kFloat32, KeyType::kFloat64};

void ExpectSorts(const SortInput& input, int64_t limit = -1, int skew = 0) {
  SortRequest request;
  request.limit = limit;
  request.skew = skew;
  EXPECT_TRUE(SortsRight(input, request));
}

cuda::SmallForm Form(KeyType type, int64_t count) {
  return cuda::SmallFormFor(KeyBytes(type), /*is_float=*/true, /*has_payload=*/false, count);
}

/// The least count that is sorted without an index, one within the small sort, the largest of the small sort, and
/// counts that need merge passes.
std::vector<int64_t> CountsWithoutIndex(KeyType type) {
  const int64_t indexed = cuda::SmallSortLimit(Form(type, 1));
  const int64_t small = cuda::SmallSortLimit(Form(type, indexed + 1));
  return {indexed + 1, (indexed + small) / 2 + 7, small, small + 1, 2 * small + 12'345};
}

TEST_F(FloatBits, AreTheirOwnInEveryShape) {
  for (const KeyType type : kFloats) {
    ASSERT_NE(Form(type, 1), Form(type, CountsWithoutIndex(type)[0]));
    for (const int64_t count : CountsWithoutIndex(type)) {
      for (const Order order : kOrders) {
        ExpectSorts(SortInput(type, order, Distribution::kSpecialFloats, count, 70 + count));
        ExpectSorts(SortInput(type, order, Distribution::kUniform, count, 71 + count), -1, 3);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(FloatBits, OfNothingButZerosOrNans) {
  for (const Order order : kOrders) {
    for (const int64_t count : CountsWithoutIndex(KeyType::kFloat32)) {
      ExpectSorts(SortInput(KeyType::kFloat32, order, TwoPatterns(4, 0, 0x80000000, count)));
      ExpectSorts(SortInput(KeyType::kFloat32, order, TwoPatterns(4, 0x7FC00001, 0xFFFFFFFF, count)));
      ExpectSorts(SortInput(KeyType::kFloat32, order, TwoPatterns(4, 0x80000000, 0x7FC00000, count)), count / 3);
    }
    const int64_t count = CountsWithoutIndex(KeyType::kFloat64).back();
    ExpectSorts(SortInput(KeyType::kFloat64, order, TwoPatterns(8, 0, uint64_t{1} << 63, count)));
    ExpectSorts(SortInput(KeyType::kFloat64, order, TwoPatterns(8, 0x7FF8000000000000, ~uint64_t{0}, count)));
    ExpectSorts(SortInput(KeyType::kFloat16, order, TwoPatterns(2, 0x7E00, 0x8000, count)), count - 1);
    if (HasFailure()) return;
  }
}

/// A few zeros and NaNs among numbers, so that limited results end before, inside and after each kind.
TEST_F(FloatBits, WhereverTheResultsEnd) {
  const int64_t count = CountsWithoutIndex(KeyType::kFloat32)[3];
  for (const Order order : kOrders) {
    const SortInput input(KeyType::kFloat32, order, Distribution::kSpecialFloats, count, 72);
    const auto is_zero = [&](int64_t i) {
      uint32_t bits = 0;
      std::memcpy(&bits, input.keys.data() + 4 * input.expected[static_cast<size_t>(i)], 4);
      return (bits & 0x7FFFFFFF) == 0;
    };
    int64_t zeros = 0;
    while (zeros < count && !is_zero(zeros)) ++zeros;
    int64_t behind = zeros;
    while (behind < count && is_zero(behind)) ++behind;
    ASSERT_LT(zeros + 1, behind);
    ASSERT_LT(behind, count);
    for (const int64_t limit : {int64_t{1}, zeros, zeros + 1, (zeros + behind) / 2, behind, behind + 1, count - 1}) {
      if (limit > 0) ExpectSorts(input, limit);
    }
  }
}

}  // namespace
}  // namespace corank::testing
