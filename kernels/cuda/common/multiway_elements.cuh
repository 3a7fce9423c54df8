// What a tile of the multiway merge holds for each key, so that merging moves as little as it can.
//
//   keys alone                    the rank, in 4 or 8 bytes
//   keys of up to 2 bytes with    rank << 16 | position in the tile: one word, no two equal
//     a payload
//   keys of 4 bytes with a        rank << 32 | payload: one word, merged stably by rank
//     payload of 4 bytes
//   others with a payload         the rank; where each came from is found afterwards, by the paths of the merges
//
// Of equal float keys only the rank is left: see float_bits.h, run_float_bits.h.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_ELEMENTS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_ELEMENTS_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/merge_form.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/strided_load.cuh"
#include "kernels/cuda/common/tile_elements.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/tile_merge.cuh"

namespace corank::cuda {

template <typename Order, MergeForm kForm>
struct MultiwayElements {
  using Bits = typename KeyOrderTraits<Order>::Bits;
  static constexpr int kBytes = sizeof(Bits);
  static constexpr bool kWords = kForm == MergeForm::kWords;
  static_assert(!kWords || kBytes == 4);
  static constexpr bool kPacked = kForm == MergeForm::kPayload && kBytes <= 2;
  static constexpr bool kHasPath = kForm == MergeForm::kPayload && kBytes >= 4;
  using Element = std::conditional_t<kBytes <= 4 && !kWords, uint32_t, uint64_t>;
  /// Ranks can be loaded and stored as they are.
  static constexpr bool kIsKeys = !kPacked && kBytes == sizeof(Element);

  static __device__ __forceinline__ Element Make(Bits rank, int position) {
    if constexpr (kPacked) return static_cast<Element>(rank) << 16 | static_cast<Element>(position);
    return rank;
  }
  static __device__ __forceinline__ Bits Rank(Element element) {
    if constexpr (kWords) return WordRank()(element);
    return static_cast<Bits>(kPacked ? element >> 16 : element);
  }
  /// Whether it may be taken for the elements that close the ranges of a tile.
  static __device__ __forceinline__ bool IsLast(Element element) {
    return kWords ? Rank(element) == Rank(kLastElement<Element>) : element == kLastElement<Element>;
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

  /// kWords: the same from keys and payload `offset` + i of the run. FinishLoads and a barrier make them visible.
  template <bool kRaw>
  static __device__ __forceinline__ void LoadWords(const Order& order, bool encode, const Run<Bits>& run,
                                                   int64_t offset, Element* slots, int begin, int end) {
    auto* const halves = reinterpret_cast<uint32_t*>(slots);
    const Bits* const keys = run.keys + offset;
    if (kRaw && encode) {
      LoadStrided<16>(keys, begin, end, [&](int i, Bits key) { halves[2 * i + 1] = order.RankOfRaw(key); });
    } else {
#pragma unroll 4
      for (int i = begin; i < end; i += 32) __pipeline_memcpy_async(halves + 2 * i + 1, keys + i, 4);
    }
    if (kRaw && run.payload == nullptr) {
      for (int i = begin; i < end; i += 32) halves[2 * i] = static_cast<uint32_t>(run.first + offset + i);
    } else {
      const uint32_t* const payload = static_cast<const uint32_t*>(run.payload) + offset;
#pragma unroll 4
      for (int i = begin; i < end; i += 32) __pipeline_memcpy_async(halves + 2 * i, payload + i, 4);
    }
  }

  /// kWords: stores keys, where they are wanted, and payload of tile[0, count), after a barrier.
  template <int kThreads>
  static __device__ __forceinline__ void StoreWords(const Order& order, bool decode, const Element* tile,
                                                    Bits* keys_out, uint32_t* payload_out, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
      const Element word = tile[i];
      const Bits rank = Rank(word);
      if (keys_out != nullptr) keys_out[i] = decode ? order.Decode(rank) : rank;
      payload_out[i] = static_cast<uint32_t>(word);
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
