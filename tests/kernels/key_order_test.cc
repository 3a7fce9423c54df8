// KeyOrder against the order of real numbers: every 16-bit pattern, and samples of the wider types.
#include "kernels/common/key_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

constexpr Order kOrders[] = {Order::kAscending, Order::kDescending};

class KeyOrderOf : public ::testing::TestWithParam<KeyType> {
 protected:
  // All patterns of 8 and 16 bits. For wider types: uniform patterns, special ones, and neighbours of special ones.
  static Bytes Patterns(KeyType type) {
    const int width = KeyBytes(type);
    Bytes keys;
    if (width <= 2) {
      for (uint32_t bits = 0; bits < (1U << (8 * width)); ++bits) {
        for (int byte = 0; byte < width; ++byte) keys.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
      }
      return keys;
    }
    for (Distribution distribution : {Distribution::kUniform, Distribution::kSpecialFloats}) {
      const Bytes part = MakeKeys(type, distribution, 20000, 1);
      keys.insert(keys.end(), part.begin(), part.end());
    }
    return keys;
  }
};

template <typename Bits>
std::vector<Bits> Typed(const Bytes& bytes) {
  std::vector<Bits> keys(bytes.size() / sizeof(Bits));
  std::memcpy(keys.data(), bytes.data(), bytes.size());
  return keys;
}

TEST_P(KeyOrderOf, DecodeUndoesEncode) {
  for (Order order : kOrders) {
    WithKeyOrder(GetParam(), order, [&](auto key_order) {
      for (auto raw : Typed<decltype(key_order.Encode(0))>(Patterns(GetParam()))) {
        ASSERT_EQ(key_order.Decode(key_order.Encode(raw)), raw) << +raw;
      }
    });
  }
}

TEST_P(KeyOrderOf, RanksAreOrderedAsTheNumbersAre) {
  const Bytes bytes = Patterns(GetParam());
  for (Order order : kOrders) {
    const std::vector<int64_t> positions = StableOrder(GetParam(), order, bytes);
    const auto before = KeyBefore(GetParam(), order, bytes);
    WithKeyOrder(GetParam(), order, [&](auto key_order) {
      const auto keys = Typed<decltype(key_order.Encode(0))>(bytes);
      for (size_t i = 1; i < positions.size(); ++i) {
        const auto a = keys[static_cast<size_t>(positions[i - 1])];
        const auto b = keys[static_cast<size_t>(positions[i])];
        // Neighbours in the real order come strictly before or are equal. Checking both directions decides all pairs.
        ASSERT_EQ(key_order.Before(a, b), before(positions[i - 1], positions[i])) << +a << " " << +b;
        ASSERT_FALSE(key_order.Before(b, a)) << +a << " " << +b;
      }
    });
  }
}

TEST_P(KeyOrderOf, AmbiguousAreExactlyTheZerosAndNaNsOfFloats) {
  const Bytes bytes = Patterns(GetParam());
  for (Order order : kOrders) {
    WithKeyOrder(GetParam(), order, [&](auto key_order) {
      using Bits = decltype(key_order.Encode(0));
      const KeyType type = GetParam();
      for (Bits raw : Typed<Bits>(bytes)) {
        bool expected = false;
        if (type == KeyType::kFloat16 || type == KeyType::kBfloat16) {
          const auto half = static_cast<uint16_t>(raw);
          const float value = type == KeyType::kFloat16 ? HalfToFloat(half) : Bfloat16ToFloat(half);
          expected = std::isnan(value) || value == 0;
        } else if (type == KeyType::kFloat32 || type == KeyType::kFloat64) {
          float single = 1;
          double value = 1;
          std::memcpy(&value, &raw, std::min(sizeof(value), sizeof(raw)));
          std::memcpy(&single, &raw, std::min(sizeof(single), sizeof(raw)));
          if (type == KeyType::kFloat32) value = single;
          expected = std::isnan(value) || value == 0;
        }
        ASSERT_EQ(key_order.IsAmbiguous(key_order.Encode(raw)), expected) << +raw;
        ASSERT_EQ(key_order.IsAmbiguous(key_order.RankOfRaw(raw)), expected) << +raw;
      }
    });
  }
}

TEST_P(KeyOrderOf, NumbersOfOneSignComeInTheOrderOfTheirMaskedBits) {
  const Bytes bytes = Patterns(GetParam());
  for (Order order : kOrders) {
    WithKeyOrder(GetParam(), order, [&](auto key_order) {
      using Bits = decltype(key_order.Encode(0));
      const std::vector<Bits> keys = Typed<Bits>(bytes);
      for (Bits a : keys) {
        const Bits mask = key_order.SignMask(a);
        if (!IsFloat(GetParam())) {
          ASSERT_TRUE(key_order.IsNumber(a)) << +a;
        }
        if (!key_order.IsNumber(a)) {
          ASSERT_TRUE(key_order.IsAmbiguous(key_order.Encode(a))) << +a;
          continue;
        }
        for (size_t i = 0; i < 200; ++i) {
          const Bits b = keys[i * keys.size() / 200];
          if (!key_order.IsNumber(b) || key_order.SignMask(b) != mask) continue;
          ASSERT_EQ((a ^ mask) < (b ^ mask), key_order.Before(a, b)) << +a << " " << +b;
        }
      }
    });
  }
}

TEST_P(KeyOrderOf, RankOfAnUnambiguousKeyIsItsCode) {
  WithKeyOrder(GetParam(), Order::kDescending, [&](auto key_order) {
    for (auto raw : Typed<decltype(key_order.Encode(0))>(Patterns(GetParam()))) {
      const auto code = key_order.Encode(raw);
      if (!key_order.IsAmbiguous(code)) {
        ASSERT_EQ(key_order.Rank(code), code);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllTypes, KeyOrderOf, ::testing::ValuesIn(kAllKeyTypes),
                         [](const auto& info) { return std::string(KeyTypeName(info.param)); });

}  // namespace
}  // namespace corank::testing
