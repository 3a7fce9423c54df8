// The CPU engine's vector merge, on every instruction set of this machine, compared with std::merge.
#include "kernels/cpu/vector_merge.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

constexpr int kCases = 2000;

template <typename Item>
std::vector<Item> SortedItems(int64_t count, bool few_distinct, Item flip, Random& random) {
  std::vector<Item> items(static_cast<size_t>(count));
  for (Item& item : items) item = static_cast<Item>(few_distinct ? random.Below(40) : random.Next());
  std::sort(items.begin(), items.end(), [&](Item a, Item b) { return (a ^ flip) < (b ^ flip); });
  return items;
}

template <typename Item>
void MergesLikeTheStandardLibrary() {
  constexpr Item kFlips[] = {0, static_cast<Item>(~Item{0}), static_cast<Item>(Item{1} << (8 * sizeof(Item) - 1))};
  for (uint64_t seed = 0; seed < kCases && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Item flip = kFlips[random.Below(3)];
    const auto before = [&](Item x, Item y) { return (x ^ flip) < (y ^ flip); };
    const bool few_distinct = random.OneIn(2);
    auto a = SortedItems(random.Below(random.OneIn(3) ? 700 : 90), few_distinct, flip, random);
    auto b = SortedItems(random.Below(random.OneIn(5) ? 900 : 90), few_distinct, flip, random);
    if (random.OneIn(7)) {
      auto& spoilt = random.OneIn(2) ? a : b;
      if (spoilt.size() > 1) {
        const auto at = random.Below(static_cast<int64_t>(spoilt.size()) - 1);
        std::iter_swap(spoilt.begin() + at, spoilt.begin() + at + 1);
      }
    }
    const bool sorted = std::is_sorted(a.begin(), a.end(), before) && std::is_sorted(b.begin(), b.end(), before);
    std::vector<Item> expected(a.size() + b.size()), out(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), before);

    EXPECT_EQ(cpu::VectorMerge(a.data(), static_cast<int64_t>(a.size()), b.data(), static_cast<int64_t>(b.size()), flip,
                               out.data()),
              sorted);
    if (sorted) {
      EXPECT_TRUE(out == expected);
    }
  }
}

TEST(VectorMerge, MergesOnEveryInstructionSet) {
  int tried = 0;
  const int64_t supported = hwy::SupportedTargets();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    MergesLikeTheStandardLibrary<uint32_t>();
    MergesLikeTheStandardLibrary<uint64_t>();
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace corank::testing
