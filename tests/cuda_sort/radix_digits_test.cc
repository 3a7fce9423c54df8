// The digits that a radix sort derives from the bits that vary.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/radix_state.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

std::vector<int> Shifts(uint64_t live_bits, int key_bits) {
  const RadixDigits digits = DigitsOf(live_bits, key_bits);
  return std::vector<int>(digits.shift, digits.shift + digits.count);
}

TEST(RadixDigits, AllBitsAreTheBytesOfTheKey) {
  EXPECT_EQ(Shifts(~uint64_t{0}, 8), (std::vector<int>{0}));
  EXPECT_EQ(Shifts(~uint64_t{0}, 16), (std::vector<int>{0, 8}));
  EXPECT_EQ(Shifts(~uint64_t{0}, 32), (std::vector<int>{0, 8, 16, 24}));
  EXPECT_EQ(Shifts(~uint64_t{0}, 64), (std::vector<int>{0, 8, 16, 24, 32, 40, 48, 56}));
}

TEST(RadixDigits, BeginAtLiveBits) {
  EXPECT_EQ(Shifts(uint64_t{0xFFFF} << 12, 64), (std::vector<int>{12, 20}));
  EXPECT_EQ(Shifts(uint64_t{0x8001} << 3, 32), (std::vector<int>{3, 18}));
  EXPECT_EQ(Shifts(uint64_t{3} << 7, 32), (std::vector<int>{7}));
}

TEST(RadixDigits, EndInTheKey) {
  EXPECT_EQ(Shifts(uint64_t{1} << 63, 64), (std::vector<int>{56}));
  EXPECT_EQ(Shifts(uint64_t{1} << 15 | 1, 16), (std::vector<int>{0, 8}));
  EXPECT_EQ(Shifts(uint64_t{1} << 40, 32), (std::vector<int>{0}));
}

TEST(RadixDigits, NoLiveBitsStillMakeOnePass) { EXPECT_EQ(Shifts(0, 32), (std::vector<int>{0})); }

TEST(RadixDigits, CoverEveryLiveBitLeastSignificantFirst) {
  testing::Random random(7);
  for (int round = 0; round < 10000; ++round) {
    const uint64_t live_bits = random.Next() & random.Next() & random.Next();
    for (const int key_bits : {8, 16, 32, 64}) {
      uint64_t covered = 0;
      int last = -1;
      for (const int shift : Shifts(live_bits, key_bits)) {
        ASSERT_GT(shift, last);
        ASSERT_LE(shift + kDigitBits, key_bits);
        covered |= uint64_t{kDigitBins - 1} << shift;
        last = shift;
      }
      const uint64_t key_mask = key_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << key_bits) - 1;
      ASSERT_EQ(live_bits & key_mask & ~covered, 0u) << live_bits;
    }
  }
}

TEST(RadixRows, LeaveRoomForEveryTileThatLooksBack) {
  for (const int multiprocessors : {1, 78, 108, 132, 148, 192}) {
    const int reach = MostRunningTiles(multiprocessors, 512);
    EXPECT_GE(StatusRows(reach), reach + 2 * kTilesPerGroup);
  }
}

}  // namespace
}  // namespace corank::cuda
