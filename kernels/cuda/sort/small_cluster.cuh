// The small sort by one cluster. Its blocks run at the same time and can wait for each other, so that one launch
// suffices.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_CLUSTER_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_CLUSTER_CUH_

#include <cooperative_groups.h>
#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/cuda/common/tile_merge.cuh"
#include "kernels/cuda/sort/small_sort.cuh"

namespace corank::cuda {

/// Adds to the place of each item the number of elements of the other runs (at most kMostRuns) that come before it;
/// equal keys of earlier runs do. The runs lie from address `all` on and have kRun keys each, a power of two. Only the
/// last one may be padded, with the greatest key. All searches have the same steps, so that their loads do not wait for
/// each other.
template <int kRun, int kMostRuns, typename Element, int kItems>
__device__ __forceinline__ void AddRanks(uint32_t all, int own, int runs, const Element (&items)[kItems],
                                         int (&places)[kItems]) {
  using Key = typename Element::Key;
  constexpr int kSize = sizeof(Key), kOthers = kMostRuns - 1;
  uint32_t begins[kOthers], ats[kOthers][kItems];  // addresses
  Key bounds[kOthers][kItems];                     // smaller keys come before
#pragma unroll
  for (int j = 0; j < kOthers; ++j) {
    const int run = j < own ? j : Min(j + 1, runs - 1);
    begins[j] = all + static_cast<uint32_t>(run * kRun * kSize);
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      ats[j][k] = begins[j];
      bounds[j][k] = static_cast<Key>(items[k].key + (j < own ? 1 : 0));
    }
  }
  const auto advance = [&](int keys) {
    Key seen[kOthers][kItems];
#pragma unroll
    for (int j = 0; j < kOthers; ++j) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) seen[j][k] = LoadShared<Key>(ats[j][k] + (keys - 1) * kSize);
    }
#pragma unroll
    for (int j = 0; j < kOthers; ++j) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) ats[j][k] += seen[j][k] < bounds[j][k] ? keys * kSize : 0;
    }
  };
#pragma unroll 2  // long code takes time to reach the multiprocessor
  for (int step = kRun / 2; step > 0; step /= 2) advance(step);
  advance(1);
#pragma unroll
  for (int j = 0; j < kOthers; ++j) {
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const bool all_before = bounds[j][k] < items[k].key;  // the bound of the greatest key wrapped around
      const int rank = all_before ? kRun : static_cast<int>((ats[j][k] - begins[j]) / kSize);
      places[k] += j + 1 < runs ? rank : 0;
    }
  }
}

/// One cluster sorts everything. Each block sorts one run. After all runs are copied to its shared memory, it finds the
/// place of each of its elements by the element's rank in all other runs.
template <SmallForm kForm, int kItems>
__global__ void __launch_bounds__(kSmallClusterThreads) SmallClusterKernel(const SmallPass<kForm> pass) {
#if __CUDA_ARCH__ >= 900
  using Sorter = SmallSorter<kForm, kItems>;
  using Element = SmallElement<kForm>;
  using Key = typename Element::Key;
  constexpr int kRun = kSmallClusterThreads * kItems;
  constexpr int kMostRuns = kSmallClusterBlocks;
  extern __shared__ uint4 dynamic_shared[];
  __shared__ typename Sorter::Shared shared;
  auto* const keys = reinterpret_cast<Key*>(dynamic_shared);
  TileView<Element> tile{keys, reinterpret_cast<uint32_t*>(keys + kRun)};
  Sorter sorter{pass, tile, shared};
  const int own = static_cast<int>(blockIdx.x), runs = static_cast<int>(gridDim.x);
  const int start = own * kRun;
  const int count = Max(0, Min(kRun, pass.runs.count - start));
  Element items[kItems];
  sorter.LoadInput(start, count, items);
  SortTile(tile, count, items);
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    pass.runs.keys[start + sorter.warp_first + k * 32] = items[k].key;
  }
  // Through the L2 cache, which takes less than half the time of reading the shared memory of other blocks.
  cooperative_groups::this_cluster().sync();
  constexpr int kPer = 16 / static_cast<int>(sizeof(Key));
#pragma unroll
  for (int k = 0; k < kMostRuns * kItems / kPer; ++k) {
    const int i = (k * kSmallClusterThreads + static_cast<int>(threadIdx.x)) * kPer;
    if (i < runs * kRun) __pipeline_memcpy_async(keys + i, pass.runs.keys + i, 16);
  }
  __pipeline_commit();
  int places[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) places[k] = sorter.warp_first + k * 32;
  __pipeline_wait_prior(0);
  __syncthreads();
  // With fewer runs, the longer cluster would be a shorter one.
  constexpr bool kIsShorter = kItems == kSmallClusterItems[0];
  if (kIsShorter && runs <= kMostRuns / 2) {
    AddRanks<kRun, kMostRuns / 2>(SharedAddress(keys), own, runs, items, places);
  } else {
    AddRanks<kRun, kMostRuns>(SharedAddress(keys), own, runs, items, places);
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (sorter.warp_first + k * 32 >= count) places[k] = Sorter::kNowhere;
  }
  sorter.StoreAt(places, items);
#endif
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_CLUSTER_CUH_
