// The AVX2 build of VQSort in the CPU engine, and the engine's choice between the two builds, compared with std::sort.
#include "kernels/cpu/vector_sort.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

constexpr int kCases = 2000;
constexpr int64_t kLargest = int64_t{1} << 18;

void SortsLikeTheStandardLibrary(void (*sort)(uint32_t*, int64_t)) {
  for (uint64_t seed = 0; seed < kCases && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int64_t count = seed == 0 ? kLargest : random.Below(random.OneIn(20) ? 70'000 : 700);
    const int64_t distinct = random.OneIn(2) ? int64_t{1} << 32 : 1 + random.Below(40);
    // One word at each end that does not belong to the sort.
    std::vector<uint32_t> items(static_cast<size_t>(count) + 2);
    for (uint32_t& item : items) item = static_cast<uint32_t>(random.Below(distinct));
    std::vector<uint32_t> expected = items;
    std::sort(expected.begin() + 1, expected.end() - 1);

    sort(items.data() + 1, count);
    EXPECT_TRUE(items == expected);
  }
}

TEST(VectorSort, SortsByItsChoice) {
  SortsLikeTheStandardLibrary([](uint32_t* items, int64_t count) { cpu::VectorSort(items, count); });
}

TEST(VectorSort, SortsByAvx2) {
#if HWY_ARCH_X86
  if ((hwy::SupportedTargets() & HWY_AVX2) == 0) GTEST_SKIP() << "a processor without AVX2";
#endif
  SortsLikeTheStandardLibrary(cpu::VectorSortAvx2);
}

}  // namespace
}  // namespace corank::testing
