// The CPU engine's selection of items in the middle of a sorted order: with samples that bound them well and badly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/rank_band.h"
#include "kernels/cpu/item_sort.h"
#include "tests/support/distributions.h"

namespace corank::cpu {
namespace {

using testing::Random;

constexpr int64_t kCount = 300'001;

template <typename Item>
class SelectBandTest : public ::testing::Test {
 protected:
  static Item Make(uint64_t number) {
    if constexpr (sizeof(Item) == 16) {
      Item item;
      item.hi = number >> 32;
      item.lo = number;
      return item;
    } else {
      return static_cast<Item>(number >> 32);
    }
  }

  // Selects results [first, end) and compares them with those of a sort. Returns how many items were selected.
  static int64_t Check(const std::vector<Item>& items, int64_t first, int64_t end) {
    std::vector<Item> sorted = items, selected = items;
    std::sort(sorted.begin(), sorted.end(), ItemLess());
    for (const int threads : {1, 4}) {
      Parallel parallel(threads);
      selected = items;
      const ItemBand band = SelectBand(selected.data(), static_cast<int64_t>(items.size()), first, end, parallel);
      EXPECT_LE(band.below, first);
      EXPECT_GE(band.below + band.count, end);
      selected.resize(static_cast<size_t>(band.count));
      std::sort(selected.begin(), selected.end(), ItemLess());
      for (int64_t i = first; i < end; ++i) {
        const Item& found = selected[static_cast<size_t>(i - band.below)];
        const Item& wanted = sorted[static_cast<size_t>(i)];
        EXPECT_FALSE(ItemLess()(found, wanted) || ItemLess()(wanted, found)) << i << " of " << first << " to " << end;
      }
    }
    return static_cast<int64_t>(selected.size());
  }
};

using Items = ::testing::Types<uint32_t, uint64_t, Item128>;
TYPED_TEST_SUITE(SelectBandTest, Items);

TYPED_TEST(SelectBandTest, MovesFewItemsWithTheResults) {
  Random random(1);
  std::vector<TypeParam> items;
  for (int64_t i = 0; i < kCount; ++i) items.push_back(this->Make(random.Next()));
  for (const int64_t first : {int64_t{0}, int64_t{1}, kCount / 3, kCount / 2, kCount - 1}) {
    for (const int64_t results : {int64_t{1}, int64_t{1000}}) {
      EXPECT_LT(this->Check(items, first, std::min(kCount, first + results)), kCount / 8);
    }
  }
  EXPECT_EQ(this->Check(items, 1000, kCount / 2), kCount) << "a band with so many results saves nothing";
}

TYPED_TEST(SelectBandTest, KeepsAllItemsIfTheyAreEqual) {
  const std::vector<TypeParam> items(static_cast<size_t>(kCount), this->Make(uint64_t{7} << 32));
  EXPECT_EQ(this->Check(items, kCount / 2, kCount / 2 + 1), kCount);
}

TYPED_TEST(SelectBandTest, KeepsAllItemsIfTheSampleMisleads) {
  const RankBand band = BandAround(kCount, kCount / 2, kCount / 2 + 1);
  ASSERT_GT(band.samples, 0);
  for (const bool is_below : {true, false}) {
    Random random(2);
    std::vector<TypeParam> items;
    for (int64_t i = 0; i < kCount; ++i) items.push_back(this->Make(uint64_t{1} << 62 | random.Next() >> 3));
    for (int64_t part = 0; part < band.samples; ++part) {
      uint32_t unused;
      const uint64_t outside = is_below ? random.Next() >> 8 : uint64_t{3} << 62 | random.Next() >> 8;
      items[static_cast<size_t>(SampledPlace(part, band.samples, kCount, &unused))] = this->Make(outside);
    }
    EXPECT_EQ(this->Check(items, kCount / 2, kCount / 2 + 1), kCount);
  }
}

}  // namespace
}  // namespace corank::cpu
