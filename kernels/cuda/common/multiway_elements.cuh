// What a tile of the multiway merge holds for each key, so that merging moves as little as it can.
//
//   keys alone                    the code, in 4 or 8 bytes; floats are merged as integers in all tiles but those that
//                                 may hold zeros or NaNs
//   keys of up to 2 bytes, and    rank << 16 | position in the tile: one word, no two equal
//     a payload or float keys
//   others with a payload         the rank; where each came from is found afterwards, by the paths of the merges
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
  static constexpr bool kFloat = KeyOrderTraits<Order>::kFloat;
  static constexpr int kBytes = sizeof(Bits);
  static constexpr bool kPacked = (kPayload || kFloat) && kBytes <= 2;
  static constexpr bool kHasPath = kPayload && kBytes >= 4;
  static constexpr bool kHasPositions = kPacked || kHasPath;
  /// Elements whose equals cannot be told apart.
  static constexpr bool kDistinct = kPacked || (!kPayload && !kFloat);
  static constexpr bool kGivesKeys = !kHasPositions || !kFloat;  // an element gives its key back
  using Element = std::conditional_t<kBytes <= 4, uint32_t, uint64_t>;
  /// Codes can be loaded and stored as they are.
  static constexpr bool kIsKeys = !kPacked && kGivesKeys && kBytes == sizeof(Element);

  static __device__ __forceinline__ Element Make(const Order& order, Bits code, int position) {
    if constexpr (kPacked) {
      return static_cast<Element>(order.Rank(code)) << 16 | static_cast<Element>(position);
    } else {
      return kHasPath ? order.Rank(code) : code;
    }
  }
  /// The code of an element that gives it.
  static __device__ __forceinline__ Bits Code(Element element) {
    return static_cast<Bits>(kPacked ? element >> 16 : element);
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

  /// Whether a piece with these first and last elements may hold what merges need care for: kLastElement, and float
  /// keys that equal others with other bits.
  static __device__ __forceinline__ bool IsSpecial(const Order& order, Element first, Element last) {
    if constexpr (kDistinct || kHasPath) {
      return last == kLastElement<Element>;
    } else {
      constexpr Bits kZero = static_cast<Bits>(Bits{1} << (8 * kBytes - 1));  // the zeros' rank
      return order.IsAmbiguous(first) || order.IsAmbiguous(last) ||
             (order.Rank(first) < kZero && kZero < order.Rank(last));
    }
  }

  /// Merges a chunk of elements that have no path. `special`: whether any piece of the tile is.
  template <int kItems>
  static __device__ __forceinline__ void Merge(const Order& order, uint32_t tile, const PairChunk& chunk, bool special,
                                               Element (&elements)[kItems]) {
    static_assert(!kHasPath);
    if constexpr (kDistinct) {
      MergeDistinct<kItems>(tile, chunk, elements, special);
    } else if (special) {
      MergeStable<kItems>(
          tile, chunk, [&](Element element) { return order.Rank(static_cast<Bits>(element)); }, elements);
    } else {
      MergeDistinct<kItems>(tile, chunk, elements, /*has_last=*/false);
    }
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_ELEMENTS_CUH_
