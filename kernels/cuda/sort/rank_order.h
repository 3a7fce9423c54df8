// What the merge passes of a mergesort see of any KeyOrder of their width: codes that are ranks.
#ifndef CORANK_KERNELS_CUDA_SORT_RANK_ORDER_H_
#define CORANK_KERNELS_CUDA_SORT_RANK_ORDER_H_

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/key_order_traits.h"

namespace corank::cuda {

/// Ranks are compared as they are, and equal ones are equal keys: floats need no kernels of their own. Decode gives
/// a key of the rank, which of several equal float keys is that of the rank itself (float_bits.h).
template <typename Bits>
class RankOrder {
 public:
  RankOrder() = default;
  template <bool kFloat>
  explicit RankOrder(const KeyOrder<Bits, kFloat>& order)
      : high_(static_cast<Bits>(order.Decode(kTop) ^ kTop)), low_(order.Decode(Bits{0})) {}

  CORANK_HOST_DEVICE Bits Decode(Bits code) const { return static_cast<Bits>(code ^ (IsHigh(code) ? high_ : low_)); }
  /// The inverse of Decode.
  CORANK_HOST_DEVICE Bits RankOfRaw(Bits raw) const {
    const Bits code = static_cast<Bits>(raw ^ high_);
    return IsHigh(code) ? code : static_cast<Bits>(raw ^ low_);
  }

 private:
  static constexpr Bits kTop = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  static CORANK_HOST_DEVICE bool IsHigh(Bits code) { return (code & kTop) != 0; }

  Bits high_ = 0, low_ = 0;  // what Decode XORs codes with, by their top bit
};

template <typename BitsType>
struct KeyOrderTraits<RankOrder<BitsType>> {
  using Bits = BitsType;
  static constexpr bool kFloat = false;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RANK_ORDER_H_
