// The order that LargeKeys promises, compared with the oracle, for arrays that are small enough to sort here.
#include "tests/support/large_keys.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

void ExpectOrderKnown(const LargeKeys& keys) {
  const Bytes period = keys.FirstPeriod();
  Bytes bytes(static_cast<size_t>(keys.count() * keys.key_bytes()));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = period[i % period.size()];
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    const KeyType type = keys.key_bytes() == 1   ? KeyType::kUint8
                         : keys.key_bytes() == 2 ? KeyType::kUint16
                                                 : KeyType::kUint32;
    std::vector<int64_t> expected = StableOrder(type, order, bytes);
    for (const int64_t results : {keys.count(), keys.count() / 3, int64_t{1}}) {
      expected.resize(static_cast<size_t>(results));
      std::vector<int64_t> actual;
      bool keys_are_right = true;
      keys.InOrder(order, results, [&](uint32_t key, int64_t first, int64_t length) {
        for (int64_t i = first; i < first + length; ++i) {
          actual.push_back(i);
          keys_are_right &=
              std::memcmp(&key, bytes.data() + i * keys.key_bytes(), static_cast<size_t>(keys.key_bytes())) == 0;
        }
      });
      EXPECT_EQ(actual, expected);
      EXPECT_TRUE(keys_are_right);
    }
  }
}

TEST(LargeKeys, KnowsItsStableOrder) {
  ExpectOrderKnown(LargeKeys::Random(2'500'000, 1, 256, 1));
  ExpectOrderKnown(LargeKeys::Random(1'500'001, 2, 65536, 2));
  ExpectOrderKnown(LargeKeys::Random(1'100'000, 2, 16, 3));
  ExpectOrderKnown(LargeKeys::Runs(300'001, 1, 3, Order::kAscending));
  ExpectOrderKnown(LargeKeys::Runs(300'001, 1, 1, Order::kDescending));
  ExpectOrderKnown(LargeKeys::Runs(300'001, 4, 2, Order::kAscending));
  ExpectOrderKnown(LargeKeys::Random(1'200'000, 4, 1000, 4));
}

}  // namespace
}  // namespace corank::testing
