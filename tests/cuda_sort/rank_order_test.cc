// RankOrder, compared with the KeyOrder that it replaces, for every type and direction.
#include "kernels/cuda/sort/rank_order.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

template <typename Bits, bool kFloat>
void Compare(KeyType type, const KeyOrder<Bits, kFloat>& order) {
  const RankOrder<Bits> ranks(order);
  for (const auto distribution : {testing::Distribution::kUniform, testing::Distribution::kSpecialFloats}) {
    const testing::Bytes keys = testing::MakeKeys(type, distribution, 5000, 3);
    for (size_t at = 0; at < keys.size(); at += sizeof(Bits)) {
      Bits raw = 0;
      std::memcpy(&raw, keys.data() + at, sizeof(Bits));
      const Bits code = order.Encode(raw);
      ASSERT_EQ(ranks.Decode(code), raw) << KeyTypeName(type);
      ASSERT_EQ(ranks.RankOfRaw(raw), code) << KeyTypeName(type);
      // Decoding a rank gives a key of this rank.
      ASSERT_EQ(order.RankOfRaw(ranks.Decode(order.Rank(code))), order.Rank(code)) << KeyTypeName(type);
    }
  }
}

TEST(RankOrder, IsTheOrderThatItWasMadeOf) {
  for (const KeyType type : kAllKeyTypes) {
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      WithKeyOrder(type, order, [type](const auto& key_order) { Compare(type, key_order); });
    }
  }
}

}  // namespace
}  // namespace corank::cuda
