// Key normalisation: maps every key type to an unsigned integer of the same width and order. Kernels then exist for 4
// key widths instead of 12 types in 2 directions.
//
//   raw      the bits as they came
//   code     a bijection of raw: Encode / Decode. Unsigned order of codes is the wanted order, except that for floats
//            -0.0 and +0.0 differ and NaNs differ from each other.
//   rank     Rank(code): for floats the canonical code of a class of equal keys; for integers the code itself.
//            a comes before b  <=>  Rank(Encode(a)) < Rank(Encode(b)).
#ifndef CORANK_KERNELS_COMMON_KEY_ORDER_H_
#define CORANK_KERNELS_COMMON_KEY_ORDER_H_

#include <cstdint>
#include <type_traits>

#include "kernels/common/types.h"

namespace corank {

/// The unsigned integer with the width of a key.
template <int kBytes>
using KeyBits =
    std::conditional_t<kBytes == 1, uint8_t,
                       std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

/// The order of one key type in one direction. A value type: pass it to kernels by value.
template <typename Bits, bool kFloat>
class KeyOrder {
 public:
  KeyOrder() = default;

  /// `type` must have the width of Bits and be a float type if and only if kFloat.
  KeyOrder(KeyType type, Order order) {
    constexpr Bits kAll = static_cast<Bits>(~Bits{0});
    constexpr Bits kTop = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    const Bits flip = order == Order::kDescending ? kAll : Bits{0};
    positive_ = static_cast<Bits>((kFloat || IsSigned(type) ? kTop : Bits{0}) ^ flip);
    negative_ = static_cast<Bits>((kFloat ? kAll : IsSigned(type) ? kTop : Bits{0}) ^ flip);
    // The top bit of a code tells the sign of its key: non-negative keys have that of positive_, negative keys the
    // other.
    const bool positive_is_high = (positive_ & kTop) != 0;
    decode_high_ = positive_is_high ? positive_ : negative_;
    decode_low_ = positive_is_high ? negative_ : positive_;
    if constexpr (kFloat) {
      const Bits infinity = static_cast<Bits>(InfinityBits(type) | kTop);  // the code of +inf, ascending
      number_low_ = static_cast<Bits>(~infinity);
      number_span_ = static_cast<Bits>(infinity - number_low_);
      nan_rank_ = order == Order::kDescending ? Bits{0} : kAll;
    }
  }

  CORANK_HOST_DEVICE Bits Encode(Bits raw) const { return static_cast<Bits>(raw ^ SignMask(raw)); }
  CORANK_HOST_DEVICE Bits Decode(Bits code) const {
    if constexpr (!kFloat) return static_cast<Bits>(code ^ positive_);
    return static_cast<Bits>(code ^ (IsHigh(code) ? decode_high_ : decode_low_));
  }
  CORANK_HOST_DEVICE Bits Rank(Bits code) const {
    if constexpr (kFloat) {
      constexpr Bits kMiddle = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
      if (static_cast<Bits>(code - number_low_) > number_span_) return nan_rank_;
      return code == static_cast<Bits>(kMiddle - 1) ? kMiddle : code;  // the codes of the two zeros are neighbours
    } else {
      return code;
    }
  }
  CORANK_HOST_DEVICE Bits RankOfRaw(Bits raw) const { return Rank(Encode(raw)); }
  /// Whether raw key a comes strictly before raw key b.
  CORANK_HOST_DEVICE bool Before(Bits a, Bits b) const { return RankOfRaw(a) < RankOfRaw(b); }
  /// Whether keys with other bits are equal to a key with this code (-0.0 and +0.0, NaNs).
  CORANK_HOST_DEVICE bool IsAmbiguous(Bits code) const {
    if constexpr (kFloat) {
      constexpr Bits kMiddle = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
      return static_cast<Bits>(code - number_low_) > number_span_ || code == kMiddle ||
             code == static_cast<Bits>(kMiddle - 1);
    } else {
      return false;
    }
  }

  /// The mask that Encode XORs into a raw key of this key's sign; for integers, the mask of all keys. Among numbers of
  /// one sign, raw ^ SignMask has the order of the keys, and equal keys have equal bits.
  CORANK_HOST_DEVICE Bits SignMask(Bits raw) const {
    if constexpr (!kFloat) return positive_;
    return IsHigh(raw) ? negative_ : positive_;
  }
  /// Whether a raw key is a floating-point zero.
  static CORANK_HOST_DEVICE bool IsFloatZero(Bits raw) { return kFloat && static_cast<Bits>(raw << 1) == 0; }
  /// Whether a raw key is not a NaN.
  CORANK_HOST_DEVICE bool IsNumber(Bits raw) const {
    if constexpr (!kFloat) return true;
    return static_cast<Bits>(Encode(raw) - number_low_) <= number_span_;
  }

 private:
  static CORANK_HOST_DEVICE bool IsHigh(Bits bits) { return (bits >> (8 * sizeof(Bits) - 1)) != 0; }
  static constexpr Bits InfinityBits(KeyType type) {
    switch (type) {
      case KeyType::kFloat16:
        return static_cast<Bits>(0x7C00);
      case KeyType::kBfloat16:
        return static_cast<Bits>(0x7F80);
      case KeyType::kFloat32:
        return static_cast<Bits>(0x7F800000);
      default:
        return static_cast<Bits>(0x7FF0000000000000);
    }
  }

  Bits positive_ = 0, negative_ = 0, decode_high_ = 0, decode_low_ = 0;
  Bits number_low_ = 0, number_span_ = 0, nan_rank_ = 0;  // floats only
};

/// Calls fn(KeyOrder<Bits, kFloat>) with the order of `type`. 7 instantiations serve 12 types and 2 directions.
template <typename Fn>
auto WithKeyOrder(KeyType type, Order order, Fn&& fn) {
  switch (KeyBytes(type)) {
    case 1:
      return fn(KeyOrder<uint8_t, false>(type, order));
    case 2:
      return IsFloat(type) ? fn(KeyOrder<uint16_t, true>(type, order)) : fn(KeyOrder<uint16_t, false>(type, order));
    case 4:
      return IsFloat(type) ? fn(KeyOrder<uint32_t, true>(type, order)) : fn(KeyOrder<uint32_t, false>(type, order));
    default:
      return IsFloat(type) ? fn(KeyOrder<uint64_t, true>(type, order)) : fn(KeyOrder<uint64_t, false>(type, order));
  }
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_KEY_ORDER_H_
