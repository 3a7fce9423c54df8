// What the tile of a block's sort holds for each key, so that merging moves as little as it can.
//
//   integer keys alone               the code, in 4 or 8 bytes
//   keys of up to 4 bytes, and       rank << 16 or 32 | position in the tile: one word, no two equal
//     a payload or float keys
//   keys of 8 bytes, and             the code; with a payload, positions in an array of their own
//     a payload or float keys
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"

namespace corank::cuda {

template <typename OrderType>
struct KeyOrderTraits;
template <typename BitsType, bool kFloatKeys>
struct KeyOrderTraits<KeyOrder<BitsType, kFloatKeys>> {
  using Bits = BitsType;
  static constexpr bool kFloat = kFloatKeys;
};

template <typename Order, bool kPayload>
struct TileElements {
  using Bits = typename KeyOrderTraits<Order>::Bits;
  static constexpr bool kFloat = KeyOrderTraits<Order>::kFloat;
  static constexpr int kBytes = sizeof(Bits);
  static constexpr bool kPacked = (kPayload || kFloat) && kBytes <= 4;
  using Element = std::conditional_t<kPacked, std::conditional_t<kBytes <= 2, uint32_t, uint64_t>,
                                     std::conditional_t<kBytes <= 4, uint32_t, uint64_t>>;
  static constexpr int kShift = kBytes <= 2 ? 16 : 32;

  static __device__ __forceinline__ Element Make(const Order& order, Bits code, int position) {
    if constexpr (kPacked) {
      return static_cast<Element>(order.Rank(code)) << kShift | static_cast<Element>(position);
    } else {
      return code;
    }
  }
  /// The code of an element that gives it.
  static __device__ __forceinline__ Bits Code(Element element) {
    return static_cast<Bits>(kPacked ? element >> kShift : element);
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_
