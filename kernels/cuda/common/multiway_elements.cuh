// What a tile of the multiway merge holds for each key, so that merging moves as little as it can.
//
//   keys alone                    the rank, in 4 or 8 bytes
//   keys of up to 2 bytes with    rank << 16 | position in the tile: one word, no two equal
//     a payload
//   others with a payload         the rank; where each came from is found afterwards, by the paths of the merges
//
// Of equal float keys only the rank is left: see float_bits.h, run_float_bits.h.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_ELEMENTS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_ELEMENTS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/strided_load.cuh"
#include "kernels/cuda/common/tile_elements.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/tile_merge.cuh"

namespace corank::cuda {

template <typename Order, bool kPayload>
struct MultiwayElements {
  using Bits = typename KeyOrderTraits<Order>::Bits;
  static constexpr int kBytes = sizeof(Bits);
  static constexpr bool kPacked = kPayload && kBytes <= 2;
  static constexpr bool kHasPath = kPayload && kBytes >= 4;
  using Element = std::conditional_t<kBytes <= 4, uint32_t, uint64_t>;
  /// Ranks can be loaded and stored as they are.
  static constexpr bool kIsKeys = !kPacked && kBytes == sizeof(Element);

  static __device__ __forceinline__ Element Make(Bits rank, int position) {
    if constexpr (kPacked) return static_cast<Element>(rank) << 16 | static_cast<Element>(position);
    return rank;
  }
  static __device__ __forceinline__ Bits Rank(Element element) {
    return static_cast<Bits>(kPacked ? element >> 16 : element);
  }

  /// Makes slots[i] from keys[i], raw (`encode`) or ranks, for i = begin, begin + 32 and so on below end. The position
  /// of the key in the tile is i.
  static __device__ __forceinline__ void Load(const Order& order, bool encode, const Bits* keys, Element* slots,
                                              int begin, int end) {
    constexpr int kBatch = kBytes == 8 ? 8 : 16;
    if (encode) {
      LoadStrided<kBatch>(keys, begin, end, [&](int i, Bits key) { slots[i] = Make(order.RankOfRaw(key), i); });
    } else {
      LoadStrided<kBatch>(keys, begin, end, [&](int i, Bits key) { slots[i] = Make(key, i); });
    }
  }

  /// Stores the keys of tile[0, count). All threads of the block call it, after a barrier.
  template <int kThreads>
  static __device__ __forceinline__ void StoreKeys(const Order& order, bool decode, const Element* tile, Bits* out,
                                                   int count) {
    if constexpr (kIsKeys) {
      if (!decode) {
        StoreTile<kThreads>(tile, out, count);
        return;
      }
    }
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
      const Bits rank = Rank(tile[i]);
      out[i] = decode ? order.Decode(rank) : rank;
    }
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_ELEMENTS_CUH_
