// The order of keys for the merge passes of a mergesort: codes that are ranks, for any KeyOrder of their width.
#ifndef CORANK_KERNELS_CUDA_SORT_RANK_ORDER_H_
#define CORANK_KERNELS_CUDA_SORT_RANK_ORDER_H_

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/key_order_traits.h"

namespace corank::cuda {

/// Compares ranks as they are. Equal ranks are equal keys, so that floats need no kernels of their own. Decode returns
/// a key of the rank; among equal float keys, it is the one whose code is the rank (float_bits.h).
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

  Bits high_ = 0, low_ = 0;  // XORed by Decode, by the top bit of the code
};

template <typename BitsType>
struct KeyOrderTraits<RankOrder<BitsType>> {
  using Bits = BitsType;
  static constexpr bool kFloat = false;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RANK_ORDER_H_
