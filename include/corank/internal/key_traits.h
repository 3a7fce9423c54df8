// The key types of C++, for the client and the kernels.
#ifndef CORANK_INTERNAL_KEY_TRAITS_H_
#define CORANK_INTERNAL_KEY_TRAITS_H_

#include <cstdint>
#include <type_traits>

#include "corank/types.h"

namespace corank::internal {

/// Whether T is one of the 12 key types, and which one.
template <typename T>
struct KeyTraits {
  static constexpr bool kIsKey = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= sizeof(int64_t);
  static constexpr KeyType Type() {
    constexpr int kSigned = std::is_signed_v<T> ? 1 : 5;  // kInt8, kUint8
    return static_cast<KeyType>(kSigned + (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3));
  }
};
template <KeyType kType>
struct FixedKeyTraits {
  static constexpr bool kIsKey = true;
  static constexpr KeyType Type() { return kType; }
};
template <>
struct KeyTraits<float> : FixedKeyTraits<KeyType::kFloat32> {};
template <>
struct KeyTraits<double> : FixedKeyTraits<KeyType::kFloat64> {};

}  // namespace corank::internal

#endif  // CORANK_INTERNAL_KEY_TRAITS_H_
