// The elements of the tile of a block sort: one for each key, small, so that merging moves little data.
//
//   keys alone                       the rank, in 4 or 8 bytes
//   keys of up to 4 bytes with a     rank << 16 or 32 | position in the tile: one word, all different
//   payload
//   keys of 8 bytes with a payload   the rank, with positions in an array of their own
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/key_order_traits.h"

namespace corank::cuda {

template <typename Order, bool kPayload>
struct TileElements {
  using Bits = typename KeyOrderTraits<Order>::Bits;
  static constexpr int kBytes = sizeof(Bits);
  static constexpr bool kPacked = kPayload && kBytes <= 4;
  using Element = std::conditional_t<kPacked, std::conditional_t<kBytes <= 2, uint32_t, uint64_t>,
                                     std::conditional_t<kBytes <= 4, uint32_t, uint64_t>>;
  static constexpr int kShift = kBytes <= 2 ? 16 : 32;

  static __device__ __forceinline__ Element Make(const Order& order, Bits raw, int position) {
    const Element rank = order.RankOfRaw(raw);
    return kPacked ? rank << (kPacked ? kShift : 0) | static_cast<Element>(position) : rank;
  }
  static __device__ __forceinline__ Bits Rank(Element element) {
    return static_cast<Bits>(kPacked ? element >> (kPacked ? kShift : 0) : element);
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_
