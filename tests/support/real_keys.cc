#include "tests/support/real_keys.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>

namespace corank::testing {
namespace {

template <typename Real>
bool Before(Real a, Real b, Order order) {
  if constexpr (std::is_floating_point_v<Real>) {
    if (std::isnan(a) || std::isnan(b)) {
      if (std::isnan(a) && std::isnan(b)) return false;
      return std::isnan(order == Order::kAscending ? b : a);
    }
  }
  return order == Order::kAscending ? a < b : b < a;
}

template <typename Real>
std::function<bool(int64_t, int64_t)> BeforeOf(std::vector<Real> keys, Order order) {
  const auto shared = std::make_shared<const std::vector<Real>>(std::move(keys));
  return [shared, order](int64_t a, int64_t b) {
    return Before((*shared)[static_cast<size_t>(a)], (*shared)[static_cast<size_t>(b)], order);
  };
}

template <typename Stored>
std::vector<Stored> Read(const Bytes& bytes) {
  std::vector<Stored> keys(bytes.size() / sizeof(Stored));
  if (!keys.empty()) std::memcpy(keys.data(), bytes.data(), keys.size() * sizeof(Stored));
  return keys;
}

std::vector<float> ReadShort(const Bytes& bytes, float (*convert)(uint16_t)) {
  std::vector<float> keys;
  for (uint16_t bits : Read<uint16_t>(bytes)) keys.push_back(convert(bits));
  return keys;
}

}  // namespace

float HalfToFloat(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction != 0 ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

float Bfloat16ToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

std::function<bool(int64_t, int64_t)> KeyBefore(KeyType type, Order order, const Bytes& keys) {
  switch (type) {
    case KeyType::kInt8:
      return BeforeOf(Read<int8_t>(keys), order);
    case KeyType::kInt16:
      return BeforeOf(Read<int16_t>(keys), order);
    case KeyType::kInt32:
      return BeforeOf(Read<int32_t>(keys), order);
    case KeyType::kInt64:
      return BeforeOf(Read<int64_t>(keys), order);
    case KeyType::kUint8:
      return BeforeOf(Read<uint8_t>(keys), order);
    case KeyType::kUint16:
      return BeforeOf(Read<uint16_t>(keys), order);
    case KeyType::kUint32:
      return BeforeOf(Read<uint32_t>(keys), order);
    case KeyType::kUint64:
      return BeforeOf(Read<uint64_t>(keys), order);
    case KeyType::kFloat16:
      return BeforeOf(ReadShort(keys, HalfToFloat), order);
    case KeyType::kBfloat16:
      return BeforeOf(ReadShort(keys, Bfloat16ToFloat), order);
    case KeyType::kFloat32:
      return BeforeOf(Read<float>(keys), order);
    case KeyType::kFloat64:
      return BeforeOf(Read<double>(keys), order);
  }
  return nullptr;
}

}  // namespace corank::testing
