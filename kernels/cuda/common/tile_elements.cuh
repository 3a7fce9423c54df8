// What a tile in shared memory holds for each key, so that merging moves as little as it can.
//
//   integer keys alone               the code, in 4 or 8 bytes
//   keys of up to 4 bytes, and       rank << 16 or 32 | position in the tile: one word, no two equal
//     a payload or float keys
//   keys of 8 bytes, and             the code; with a payload, positions in an array of their own
//     a payload or float keys
#ifndef CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/strided_load.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/tile_merge.cuh"

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
  static constexpr bool kPositionsApart = kPayload && kBytes == 8;
  static constexpr bool kHasPositions = kPacked || kPositionsApart;
  static constexpr bool kDistinct = kPacked || (!kPayload && !kFloat);
  static constexpr bool kGivesKeys = !kPacked || !kFloat;  // an element gives its key back
  using Element = std::conditional_t<kPacked, std::conditional_t<kBytes <= 2, uint32_t, uint64_t>,
                                     std::conditional_t<kBytes <= 4, uint32_t, uint64_t>>;
  static constexpr int kShift = kBytes <= 2 ? 16 : 32;
  static constexpr bool kIsKeys = !kPacked && kBytes == sizeof(Element);  // a tile can be stored as it is

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
  static __device__ __forceinline__ uint16_t PositionAt(const Element* tile, const uint16_t* positions, int slot) {
    return kPacked ? static_cast<uint16_t>(tile[slot]) : positions[slot];
  }

  /// Makes slots[i] from keys[i], raw (`encode`) or codes, for i = begin, begin + 32 and so on below end. The position
  /// of the key in the tile is i.
  static __device__ __forceinline__ void Load(const Order& order, bool encode, const Bits* keys, Element* slots,
                                              int begin, int end) {
    constexpr int kBatch = kBytes == 8 ? 8 : 16;
    if (encode) {
      LoadStrided<kBatch>(keys, begin, end, [&](int i, Bits key) { slots[i] = Make(order, order.Encode(key), i); });
    } else {
      LoadStrided<kBatch>(keys, begin, end, [&](int i, Bits key) { slots[i] = Make(order, key, i); });
    }
  }

  /// Stores the keys of tile[0, count), which give them. All threads of the block call it, after a barrier.
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
      const Bits code = Code(tile[i]);
      out[i] = decode ? order.Decode(code) : code;
    }
  }

  /// A thread's outputs on one level.
  template <int kItems>
  struct Registers {
    Element elements[kItems];
    uint16_t positions[kPositionsApart ? kItems : 1];

    __device__ __forceinline__ void Merge(const Order& order, uint32_t tile, const uint16_t* all_positions,
                                          const PairChunk& chunk) {
      if constexpr (kDistinct) {
        MergeDistinct<kItems>(tile, chunk, elements);
      } else {
        uint32_t from[kItems];
        MergeStable<kItems>(
            tile, chunk, [&](Element element) { return order.Rank(static_cast<Bits>(element)); }, elements, from);
        if constexpr (kPositionsApart) {
#pragma unroll
          for (int i = 0; i < kItems; ++i) positions[i] = all_positions[from[i]];
        }
      }
    }

    __device__ __forceinline__ void Write(uint32_t tile, uint16_t* all_positions, const PairChunk& chunk) const {
      WriteChunk<kItems>(tile, chunk, elements);
      if constexpr (kPositionsApart) {
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          if (i < chunk.count) all_positions[chunk.out + i] = positions[i];
        }
      }
    }
  };
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_TILE_ELEMENTS_CUH_
