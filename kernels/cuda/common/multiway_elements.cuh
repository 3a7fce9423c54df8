// The elements of a tile of the multiway merge: one for each key, small, so that merging moves little data.
//
//   keys alone                    the rank, in 4 or 8 bytes
//   keys of up to 2 bytes with    rank << 16 | position in the tile: one word, all different
//     a payload
//   keys of 4 bytes with a        rank << 32 | payload: one word, merged stably by rank
//     payload of 4 bytes
//   others with a payload         the rank; the paths of the merges then tell where each one came from
//
// An element keeps only the rank of equal float keys. float_bits.h and run_float_bits.h restore their bits.
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
  /// Whether ranks can be loaded and stored unchanged.
  static constexpr bool kIsKeys = !kPacked && kBytes == sizeof(Element);

  static __device__ __forceinline__ Element Make(Bits rank, int position) {
    if constexpr (kPacked) return static_cast<Element>(rank) << 16 | static_cast<Element>(position);
    return rank;
  }
  static __device__ __forceinline__ Bits Rank(Element element) {
    if constexpr (kWords) return WordRank()(element);
    return static_cast<Bits>(kPacked ? element >> 16 : element);
  }
  /// Whether the element equals one that closes a range of the tile.
  static __device__ __forceinline__ bool IsLast(Element element) {
    return kWords ? Rank(element) == Rank(kLastElement<Element>) : element == kLastElement<Element>;
  }

  /// Makes slots[i] from keys[i], which are raw (`encode`) or ranks, for i = begin, begin + 32 and so on below end. i
  /// is also the position of the key in the tile.
  static __device__ __forceinline__ void Load(const Order& order, bool encode, const Bits* keys, Element* slots,
                                              int begin, int end) {
    constexpr int kBatch = kBytes == 8 ? 8 : 16;
    if (encode) {
      LoadStrided<kBatch>(keys, begin, end, [&](int i, Bits key) { slots[i] = Make(order.RankOfRaw(key), i); });
    } else {
      LoadStrided<kBatch>(keys, begin, end, [&](int i, Bits key) { slots[i] = Make(key, i); });
    }
  }

  /// kWords: makes slots[i] from keys and payload number `offset` + i of the run. Visible after FinishLoads and a
  /// barrier.
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

  /// kWords: stores the payload and, if wanted, the keys of tile[0, count), after a barrier.
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

  /// Stores the keys of tile[0, count), after a barrier. All threads of the block call it.
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
