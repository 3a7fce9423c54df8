// Sorts the items that the threads of a block hold: bitonic networks within warps, then merges in shared memory. In a
// merge, a warp finds its share of both runs with a search of 32 places at a time, and the network merges the share. No
// loop depends on the data, and shared memory is read in rows.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_TILE_SORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_TILE_SORT_CUH_

#include <cstdint>

#include "kernels/cuda/sort/run_pairs.h"
#include "kernels/cuda/sort/small_element.cuh"
#include "kernels/cuda/sort/small_sort_tuning.h"

namespace corank::cuda {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFF;

template <typename Element>
__device__ __forceinline__ Element ShuffleXor(const Element& element, int lanes) {
  Element other;
  other.key = __shfl_xor_sync(kWholeWarp, element.key, lanes);
  other.index = Element::kHasIndex ? __shfl_xor_sync(kWholeWarp, element.index, lanes) : 0;
  return other;
}

template <typename Element>
__device__ __forceinline__ void Order2(Element& x, Element& y) {
  const bool swap = y.Before(x);
  const Element old = x;
  x = swap ? y : x;
  y = swap ? old : y;
}

/// Sorts a bitonic sequence.
template <typename Element, int kItems>
__device__ __forceinline__ void BitonicMerge(Element (&items)[kItems]) {
#pragma unroll
  for (int stride = kItems / 2; stride > 0; stride /= 2) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if ((i & stride) == 0) Order2(items[i], items[i + stride]);
    }
  }
}

/// One step of a bitonic network between lanes: item i meets item kMirrored ? kItems - 1 - i : i of lane ^ lanes.
template <bool kMirrored, typename Element, int kItems>
__device__ __forceinline__ void LaneStep(Element (&items)[kItems], int lanes, bool keeps_greater) {
  Element others[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) others[i] = ShuffleXor(items[kMirrored ? kItems - 1 - i : i], lanes);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    // Equal elements are identical, so either choice is right.
    if constexpr (sizeof(items[i].key) == 4) {
      items[i].key = keeps_greater ? Max(items[i].key, others[i].key) : Min(items[i].key, others[i].key);
    } else {
      const bool take = others[i].Before(items[i]) != keeps_greater;
      items[i] = take ? others[i] : items[i];
    }
  }
}

/// Sorts the 32 * kItems items of a warp. Lane l then holds items l * kItems and following.
template <typename Element, int kItems>
__device__ __forceinline__ void WarpSort(Element (&items)[kItems]) {
  static_assert((kItems & (kItems - 1)) == 0, "a bitonic network");
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int size = 2; size <= kItems; size *= 2) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int other = i ^ (size - 1);
      if (i < other) Order2(items[i], items[other]);
    }
#pragma unroll
    for (int stride = size / 4; stride > 0; stride /= 2) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((i & stride) == 0) Order2(items[i], items[i + stride]);
      }
    }
  }
#pragma unroll
  for (int lanes = 2; lanes <= 32; lanes *= 2) {
    LaneStep<true>(items, lanes - 1, (lane & (lanes / 2)) != 0);
#pragma unroll
    for (int stride = lanes / 4; stride > 0; stride /= 2) LaneStep<false>(items, stride, (lane & stride) != 0);
    BitonicMerge(items);
  }
}

/// A tile in shared memory.
template <typename Element>
struct TileView {
  typename Element::Key* keys;  // 16-byte aligned
  uint32_t* indices;            // null unless kHasIndex

  /// Element i, or Last() if it does not exist.
  __device__ __forceinline__ Element GetIf(bool exists, int i) const {
    Element element = Element::Last();
    if (exists) element.key = keys[i];
    if (Element::kHasIndex && exists) element.index = indices[i];
    return element;
  }
  /// Whether element i, of the later run, comes before element j.
  __device__ __forceinline__ bool IsBefore(int i, int j) const {
    const typename Element::Key key = keys[i], other = keys[j];
    if constexpr (!Element::kPlaceDecides) return key < other || (key == other && indices[i] < indices[j]);
    return key < other;
  }
  __device__ __forceinline__ void Put(int i, const Element& element) const {
    keys[i] = element.key;
    if constexpr (Element::kHasIndex) indices[i] = element.index;
  }
  /// Stores this thread's items at thread * kItems and following places.
  template <int kItems>
  __device__ __forceinline__ void PutBlocked(const Element (&items)[kItems]) const {
    using Key = typename Element::Key;
    constexpr int kPer = kItems < 16 / static_cast<int>(sizeof(Key)) ? kItems : 16 / static_cast<int>(sizeof(Key));
    struct alignas(kPer * sizeof(Key)) KeyVector {
      Key keys[kPer];
    };
    const int first = static_cast<int>(threadIdx.x) * kItems;
#pragma unroll
    for (int i = 0; i < kItems; i += kPer) {
      KeyVector vector;
#pragma unroll
      for (int k = 0; k < kPer; ++k) vector.keys[k] = items[i + k].key;
      *reinterpret_cast<KeyVector*>(keys + first + i) = vector;
    }
    if constexpr (Element::kHasIndex) {
      constexpr int kIndicesPer = kItems < 4 ? kItems : 4;
      struct alignas(kIndicesPer * sizeof(uint32_t)) IndexVector {
        uint32_t indices[kIndicesPer];
      };
#pragma unroll
      for (int i = 0; i < kItems; i += kIndicesPer) {
        IndexVector vector;
#pragma unroll
        for (int k = 0; k < kIndicesPer; ++k) vector.indices[k] = items[i + k].index;
        *reinterpret_cast<IndexVector*>(indices + first + i) = vector;
      }
    }
  }
};

/// The place of a thread's first item in the tile. The others follow at distances of 32, so that a warp holds 32 *
/// kItems consecutive items.
template <int kItems>
__device__ __forceinline__ int WarpFirst() {
  const int thread = static_cast<int>(threadIdx.x);
  return thread / 32 * 32 * kItems + thread % 32;
}

/// The warp's share, outputs `first` to first + 32 * kItems - 1, of merging a[0, a_count) with b[0, b_count), which are
/// adjacent in the tile. Outputs past the last are Element::Last(). a_count <= run, which is a power of two and >= 32.
template <typename Element, int kItems>
__device__ __forceinline__ void MergeRuns(const TileView<Element>& tile, int a, int a_count, int b, int b_count,
                                          int run, int first, Element (&items)[kItems]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int end = Min(first, a_count);
  int from_a = Max(0, first - b_count);
  for (int step = run / 32; true; step = Max(1, step / 32)) {
    const int last = from_a + (lane + 1) * step - 1;
    // If the keys are equal, the element of the earlier run comes first, unless its index is the greater one.
    const bool precedes = last < end && !tile.IsBefore(b + first - 1 - last, a + last);
    from_a += step * __popc(__ballot_sync(kWholeWarp, precedes));
    if (step == 1) break;
  }
  const int from_b = first - from_a;
  // The least elements of both runs, with the order of b reversed: a bitonic sequence.
  Element others[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int next_a = from_a + i * 32 + lane, next_b = from_b + (kItems - i) * 32 - 1 - lane;
    items[i] = tile.GetIf(next_a < a_count, a + next_a);
    others[i] = tile.GetIf(next_b < b_count, b + next_b);
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) items[i] = others[i].Before(items[i]) ? others[i] : items[i];
  BitonicMerge(items);
#pragma unroll
  for (int stride = 16; stride > 0; stride /= 2) LaneStep<false>(items, stride, (lane & stride) != 0);
}

/// Sorts the first `count` of the items that the block's threads hold, at WarpFirst and every 32nd place from there.
/// Items past the end are Element::Last(). All threads call it with the same count. The tile may be reused after a
/// barrier.
template <typename Element, int kItems>
__device__ __forceinline__ void SortTile(const TileView<Element>& tile, int count, Element (&items)[kItems]) {
  constexpr int kWarpItems = 32 * kItems;
  const int warp_start = static_cast<int>(threadIdx.x) / 32 * kWarpItems;
  const int own = WarpFirst<kItems>();
  const bool active = warp_start < count;
  if (active) {
    WarpSort(items);
    tile.PutBlocked(items);
    if (count <= kWarpItems) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kItems; ++i) items[i] = tile.GetIf(true, own + i * 32);
    }
  }
  for (int run = kWarpItems; run < count; run *= 2) {
    __syncthreads();
    if (active) {
      const int start = warp_start & ~(2 * run - 1);
      MergeRuns(tile, start, Min(run, count - start), start + run, Max(0, Min(run, count - start - run)), run,
                warp_start - start, items);
    }
    if (2 * run >= count) break;
    __syncthreads();
    if (active) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) tile.Put(own + i * 32, items[i]);
    }
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_TILE_SORT_CUH_
