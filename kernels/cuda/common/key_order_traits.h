// The types behind a kernel's order of keys.
#ifndef CORANK_KERNELS_CUDA_COMMON_KEY_ORDER_TRAITS_H_
#define CORANK_KERNELS_CUDA_COMMON_KEY_ORDER_TRAITS_H_

#include "kernels/common/key_order.h"

namespace corank::cuda {

/// Bits: the unsigned integers that the order compares. kFloat: whether equal keys may differ in their bits.
template <typename OrderType>
struct KeyOrderTraits;
template <typename BitsType, bool kFloatKeys>
struct KeyOrderTraits<KeyOrder<BitsType, kFloatKeys>> {
  using Bits = BitsType;
  static constexpr bool kFloat = kFloatKeys;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_KEY_ORDER_TRAITS_H_
