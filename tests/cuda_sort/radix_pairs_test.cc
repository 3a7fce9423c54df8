// The places of pairs in two arrays of words, without a GPU.
#include "kernels/cuda/sort/radix_pairs.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace corank::cuda {
namespace {

/// `count` words. The first one lies `skew` words after an address that is aligned for pairs.
class Words {
 public:
  Words(int64_t count, int64_t skew) : memory_(static_cast<size_t>(count + skew) / 2 + 1), skew_(skew), count_(count) {}

  void* data() { return reinterpret_cast<uint32_t*>(memory_.data()) + skew_; }
  bool Contains(const uint64_t* pair) {
    const auto* const words = static_cast<const uint32_t*>(data());
    const auto* const at = reinterpret_cast<const uint32_t*>(pair);
    return at >= words && at + 2 <= words + count_;
  }

 private:
  std::vector<uint64_t> memory_;
  int64_t skew_, count_;
};

TEST(PairsIn, HasAPlaceForEachPair) {
  for (int64_t count = 1; count <= 20; ++count) {
    for (const int64_t first_skew : {0, 1}) {
      for (const int64_t second_skew : {0, 1}) {
        SCOPED_TRACE(::testing::Message() << count << " pairs, skews " << first_skew << " and " << second_skew);
        Words first(count, first_skew), second(count, second_skew);
        uint64_t spare[kSparePairs];
        const PairArray pairs = PairsIn(first.data(), second.data(), spare, count);
        std::set<const uint64_t*> places;
        for (int64_t i = 0; i < count; ++i) {
          const uint64_t* const place = pairs.Place(i);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(place) % sizeof(uint64_t), 0u);
          EXPECT_TRUE(first.Contains(place) || second.Contains(place) ||
                      (place >= spare && place < spare + kSparePairs));
          EXPECT_TRUE(places.insert(place).second) << "two pairs in one place";
        }
      }
    }
  }
}

TEST(PairsIn, KnowsWhichAreNeighbours) {
  constexpr int64_t kCount = 20;
  Words first(kCount, 0), second(kCount, 1);
  uint64_t spare[kSparePairs];
  const PairArray pairs = PairsIn(first.data(), second.data(), spare, kCount);
  ASSERT_EQ(pairs.ends[0], kCount / 2);
  ASSERT_EQ(pairs.ends[1], kCount - 1);
  const auto part_of = [&](int64_t i) { return (i >= pairs.ends[0] ? 1 : 0) + (i >= pairs.ends[1] ? 1 : 0); };
  for (int64_t start = 0; start < kCount; ++start) {
    for (int64_t count = 1; start + count <= kCount; ++count) {
      EXPECT_EQ(pairs.IsWhole(start, count), part_of(start) == part_of(start + count - 1)) << start << " " << count;
    }
  }
}

}  // namespace
}  // namespace corank::cuda
