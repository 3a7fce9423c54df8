// BlockSort and BlockMerge, compared with the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/kernels/block_kernels.h"
#include "tests/kernels/device_array.h"
#include "tests/kernels/typed_oracles.h"

namespace corank::testing {
namespace {

constexpr int64_t kCounts[] = {0, 1, kBlockItems, kBlockItems + 1, 32 * kBlockItems, kBlockTile - 1, kBlockTile};

/// The order of BlockSort: for floats the total order of IEEE 754, which tells zeros and NaNs apart.
template <typename Key>
bool TotallyBefore(Key a, Key b) {
  if constexpr (std::is_floating_point_v<Key>) {
    const auto rank = [](Key key) {
      const double size = std::isnan(key) ? std::numeric_limits<double>::infinity() : std::abs(double{key}) + 1;
      return std::signbit(key) ? -size : size;  // no number of these tests is infinite
    };
    return rank(a) < rank(b);
  } else {
    return a < b;
  }
}

template <typename Key>
std::vector<int64_t> TotalPermutation(const std::vector<Key>& keys, Order order) {
  std::vector<int64_t> permutation(keys.size());
  std::iota(permutation.begin(), permutation.end(), int64_t{0});
  std::stable_sort(permutation.begin(), permutation.end(), [&](int64_t i, int64_t j) {
    const Key a = keys[static_cast<size_t>(i)], b = keys[static_cast<size_t>(j)];
    return order == Order::kAscending ? TotallyBefore(a, b) : TotallyBefore(b, a);
  });
  return permutation;
}

template <typename Key>
void CheckSort() {
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const int64_t count : kCounts) {
      std::vector<Key> keys = FewKeys<Key>(count, 1);
      if (count > 2) keys[1] = std::numeric_limits<Key>::max();  // the greatest integer equals Last
      const DeviceArray<Key> d_keys(keys), d_sorted(count);
      ASSERT_EQ(BlockSorted(d_keys.view(), d_sorted.span(), order), cudaSuccess);
      EXPECT_TRUE(SameBits(d_sorted.Read(), Take(keys, TotalPermutation(keys, order)))) << count;
    }
  }
}

template <typename Key, typename Value>
void CheckSortWithValues() {
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const int64_t count : kCounts) {
      const std::vector<Key> keys = FewKeys<Key>(count, 2);
      std::vector<Value> values(keys.size());
      std::iota(values.begin(), values.end(), Value{100});
      const DeviceArray<Key> d_keys(keys), d_sorted(count);
      const DeviceArray<Value> d_values(values), d_sorted_values(count);
      ASSERT_EQ(BlockSortedWithValues(d_keys.view(), d_values.view(), d_sorted.span(), d_sorted_values.span(), order),
                cudaSuccess);
      const std::vector<int64_t> expected = TotalPermutation(keys, order);
      EXPECT_TRUE(SameBits(d_sorted.Read(), Take(keys, expected))) << count;
      EXPECT_EQ(d_sorted_values.Read(), Take(values, expected)) << count;
    }
  }
}

template <typename Key>
void CheckMerge() {
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const int64_t total : kCounts) {
      for (const int64_t a_count : {int64_t{0}, total / 3, total}) {
        std::vector<Key> a = FewKeys<Key>(a_count, 3), b = FewKeys<Key>(total - a_count, 4);
        a = Take(a, Permutation(a, order));
        b = Take(b, Permutation(b, order));
        std::vector<Key> all = a;
        all.insert(all.end(), b.begin(), b.end());
        const DeviceArray<Key> d_a(a), d_b(b), d_merged(total);
        ASSERT_EQ(BlockMerged(d_a.view(), d_b.view(), d_merged.span(), order), cudaSuccess);
        EXPECT_TRUE(SameBits(d_merged.Read(), Take(all, Permutation(all, order)))) << a_count << " of " << total;
      }
    }
  }
}

TEST(BlockSort, KeysAreThoseOfTheStandardLibrary) {
  CORANK_SKIP_WITHOUT_GPU();
  CheckSort<int16_t>();
  CheckSort<float>();
  CheckSort<uint64_t>();
}

TEST(BlockSort, ValuesFollowTheirKeysAndTiesKeepTheirOrder) {
  CORANK_SKIP_WITHOUT_GPU();
  CheckSortWithValues<int16_t, int64_t>();
  CheckSortWithValues<float, uint32_t>();
}

TEST(BlockMerge, TiesComeFromTheFirstRange) {
  CORANK_SKIP_WITHOUT_GPU();
  CheckMerge<float>();
  CheckMerge<int64_t>();
}

}  // namespace
}  // namespace corank::testing
