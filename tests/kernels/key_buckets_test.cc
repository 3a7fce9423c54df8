// The index over sorted keys, compared with std::equal_range.
#include "kernels/common/key_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace corank {
namespace {

template <typename Bits>
class KeyBucketsOf : public ::testing::Test {
 protected:
  using Limits = std::numeric_limits<Bits>;

  // Keys in the lowest `bits` bits.
  static std::vector<Bits> Random(size_t count, int bits, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Bits> keys(count);
    for (Bits& key : keys) key = static_cast<Bits>(random() & (~uint64_t{0} >> (64 - bits)));
    return keys;
  }
  static std::vector<int64_t> TableOf(const std::vector<Bits>& keys, const KeyBuckets<Bits>& buckets) {
    const auto count = static_cast<int64_t>(keys.size());
    std::vector<int64_t> table(static_cast<size_t>(KeyBucketEntries(count)));
    for (size_t i = 0; i < table.size(); ++i) {
      table[i] = buckets.FirstOf(static_cast<int64_t>(i), keys.data(), count);
    }
    return table;
  }
  static KeyBuckets<Bits> BucketsOf(const std::vector<Bits>& keys) {
    return KeyBuckets<Bits>(keys.front(), keys.back(), KeyBucketBits(static_cast<int64_t>(keys.size())));
  }
};

using AllBits = ::testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(KeyBucketsOf, AllBits);

TYPED_TEST(KeyBucketsOf, FindRunAgreesWithEqualRange) {
  using Bits = TypeParam;
  for (const size_t count : {1, 2, 15, 16, 17, 1000, 5000}) {
    for (int bits = 1; bits <= static_cast<int>(8 * sizeof(Bits)); bits += 3) {
      std::vector<Bits> keys = this->Random(count, bits, count);
      if (bits % 2 == 0) keys.back() = std::numeric_limits<Bits>::max();  // most keys crowd in the first bucket
      std::sort(keys.begin(), keys.end());
      const KeyBuckets<Bits> buckets = this->BucketsOf(keys);
      const std::vector<int64_t> table = this->TableOf(keys, buckets);
      std::vector<Bits> needles = this->Random(1000, static_cast<int>(8 * sizeof(Bits)), 7);
      needles.insert(needles.end(), keys.begin(), keys.end());
      needles.insert(needles.end(), {Bits{0}, std::numeric_limits<Bits>::max()});
      for (const Bits needle : needles) {
        const auto [first, last] = std::equal_range(keys.begin(), keys.end(), needle);
        const KeyRun<int64_t> run = FindRun(keys.data(), buckets, table.data(), needle);
        ASSERT_EQ(run.count, last - first) << "count=" << count << " bits=" << bits;
        if (run.count == 0) continue;
        ASSERT_EQ(run.begin, first - keys.begin()) << "count=" << count << " bits=" << bits;
      }
    }
  }
}

TYPED_TEST(KeyBucketsOf, RunsBeginAndEndWhereKeysChange) {
  using Bits = TypeParam;
  std::vector<Bits> keys = this->Random(3000, 3, 1);
  std::sort(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto [first, last] = std::equal_range(keys.begin(), keys.end(), keys[i]);
    const auto at = static_cast<int64_t>(i), count = static_cast<int64_t>(keys.size());
    ASSERT_EQ(RunBegin(keys.data(), at), first - keys.begin());
    ASSERT_EQ(RunEnd(keys.data(), at, count), last - keys.begin());
    ASSERT_EQ(RunEnd(keys.data(), at, at + 1), at + 1);
  }
}

TYPED_TEST(KeyBucketsOf, KeysInNoOrderLeadToRunsInBounds) {
  using Bits = TypeParam;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Bits> keys = this->Random(300, static_cast<int>(8 * sizeof(Bits)), seed);
    const KeyBuckets<Bits> buckets = this->BucketsOf(keys);
    const std::vector<int64_t> table = this->TableOf(keys, buckets);
    for (const Bits needle : this->Random(1000, static_cast<int>(8 * sizeof(Bits)), seed + 100)) {
      const KeyRun<int64_t> run = FindRun(keys.data(), buckets, table.data(), needle);
      ASSERT_GE(run.begin, 0);
      ASSERT_GE(run.count, 0);
      ASSERT_LE(run.begin + run.count, static_cast<int64_t>(keys.size()));
    }
  }
}

TEST(KeyBuckets, BucketsHoldAFewKeysEach) {
  EXPECT_EQ(KeyBucketBits(1), 1);
  EXPECT_EQ(KeyBucketBits(1000), 7);
  EXPECT_EQ(KeyBucketBits(1000, 2), 9);
  EXPECT_EQ(KeyBucketEntries(1000, 2), 513);
  EXPECT_EQ(KeyBucketBits(10'000'000), 21);
  EXPECT_EQ(KeyBucketBits(int64_t{1} << 40), 22);
}

}  // namespace
}  // namespace corank
