#include "kernels/cuda/sort/thread_sort.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/tuning.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

using testing::Random;

template <typename Bits, int kItems>
struct Items {
  Bits keys[kItems];
  uint32_t positions[kItems];

  Items(Random& random, int64_t distinct) {
    for (int i = 0; i < kItems; ++i) {
      keys[i] = static_cast<Bits>(random.Below(distinct));
      positions[i] = static_cast<uint32_t>(i);
    }
  }
};

/// The positions after a stable sort.
template <typename Bits, int kItems>
std::vector<uint32_t> ExpectedPositions(const Items<Bits, kItems>& items) {
  std::vector<uint32_t> positions(items.positions, items.positions + kItems);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](uint32_t x, uint32_t y) { return items.keys[x] < items.keys[y]; });
  return positions;
}

template <typename Bits, int kItems>
void TestItems(uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << kItems << " items, seed " << seed);
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    const Items<Bits, kItems> items(random, 1 + random.Below(20));
    const std::vector<uint32_t> stable = ExpectedPositions(items);
    Items<Bits, kItems> sorted = items;
    NetworkSort<true>(sorted.keys, sorted.positions);
    Items<Bits, kItems> keys_only = items;
    NetworkSort<false>(keys_only.keys, keys_only.positions);
    for (int i = 0; i < kItems; ++i) {
      ASSERT_EQ(sorted.positions[i], stable[i]);
      ASSERT_EQ(sorted.keys[i], items.keys[stable[i]]);
      ASSERT_EQ(keys_only.keys[i], items.keys[stable[i]]);
    }
  }
}

TEST(ThreadSort, SortsStably) {
  TestItems<uint8_t, MergesortTuningFor(1, MergeForm::kKeys).sort.items>(1);
  TestItems<uint16_t, MergesortTuningFor(2, MergeForm::kPayload).sort.items>(2);
  TestItems<uint32_t, MergesortTuningFor(4, MergeForm::kKeys).sort.items>(3);
  TestItems<uint32_t, MergesortTuningFor(4, MergeForm::kPayload).sort.items>(4);
  TestItems<uint64_t, MergesortTuningFor(8, MergeForm::kKeys).sort.items>(5);
  TestItems<uint64_t, MergesortTuningFor(8, MergeForm::kPayload).sort.items>(6);
}

TEST(ThreadSort, NetworkSortsEverySequenceOfZerosAndOnes) {
  constexpr int kItems = MergesortTuningFor(4, MergeForm::kPayload).sort.items;
  for (uint32_t bits = 0; bits < uint32_t{1} << kItems; ++bits) {
    uint32_t keys[kItems];
    uint32_t positions[kItems] = {};
    for (int i = 0; i < kItems; ++i) keys[i] = bits >> i & 1;
    NetworkSort<false>(keys, positions);
    ASSERT_TRUE(std::is_sorted(keys, keys + kItems)) << "sequence " << bits;
  }
}

}  // namespace
}  // namespace corank::cuda
