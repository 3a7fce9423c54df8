// The small sort by one cluster: runs are exchanged through distributed shared memory, so that one launch is enough.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_CLUSTER_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_CLUSTER_CUH_

#include <cooperative_groups.h>

#include <cstdint>
#include <utility>

#include "kernels/cuda/sort/small_sort.cuh"

namespace corank::cuda {

/// Adds to each item's place how many elements of the other runs come before it: equal keys of earlier runs do. Runs
/// are run_length keys each, a power of two, padded with the greatest key; only the last may be.
template <typename Element, int kItems>
__device__ __forceinline__ void AddRanks(const typename Element::Key* all, int run_length, int own, int runs,
                                         const Element (&items)[kItems], int (&places)[kItems]) {
  using Key = typename Element::Key;
  constexpr int kBatch = 4;  // runs that are searched at a time: each step's loads do not wait for each other
  for (int first = 1; first < runs; first += kBatch) {
    const Key* keys[kBatch];
    Key bounds[kBatch][kItems];  // keys less than this come before
    int ranks[kBatch][kItems];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int run = (own + Min(first + j, runs)) % runs;
      keys[j] = all + run * run_length;
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        bounds[j][k] = static_cast<Key>(items[k].key + (run < own ? 1 : 0));
        ranks[j][k] = 0;
      }
    }
    for (int step = run_length / 2; step > 0; step /= 2) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
#pragma unroll
        for (int k = 0; k < kItems; ++k) ranks[j][k] += keys[j][ranks[j][k] + step - 1] < bounds[j][k] ? step : 0;
      }
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        const int rank = ranks[j][k] + (keys[j][ranks[j][k]] < bounds[j][k] ? 1 : 0);
        const bool all_before = bounds[j][k] < items[k].key;  // the bound of the greatest key wrapped around
        if (first + j < runs) places[k] += all_before ? run_length : rank;
      }
    }
  }
}

/// One cluster sorts all: each block one run of blockDim.x * kItems, then, with every run copied to its own shared
/// memory, it finds the place of each of its elements by its rank in all other runs.
template <SmallForm kForm, int kItems>
__global__ void __launch_bounds__(kSmallClusterThreads) SmallClusterKernel(const SmallPass<kForm> pass) {
#if __CUDA_ARCH__ >= 900
  using Sorter = SmallSorter<kForm, kItems>;
  using Element = SmallElement<kForm>;
  using Key = typename Element::Key;
  extern __shared__ uint4 dynamic_shared[];
  __shared__ typename Sorter::Shared shared;
  const int run_length = Sorter::Capacity();
  auto* const keys = reinterpret_cast<Key*>(dynamic_shared);
  TileView<Element> tile{keys, reinterpret_cast<uint32_t*>(keys + run_length)};
  Sorter sorter{pass, tile, shared};
  const int own = static_cast<int>(blockIdx.x), runs = static_cast<int>(gridDim.x);
  const int start = own * run_length;
  const int count = Max(0, Min(run_length, pass.runs.count - start));
  Element items[kItems];
  sorter.LoadInput(start, count, items);
  SortTile(tile, count, items);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) tile.Put(sorter.warp_first + k * 32, items[k]);

  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  Key* const all = keys + run_length / 2 * static_cast<int>(Element::kHasIndex) + run_length;
  const int vectors = run_length * static_cast<int>(sizeof(Key)) / 16;
  // Each thread has loads from several runs on their way.
#pragma unroll 4
  for (int run = 0; run < runs; ++run) {
    const auto* remote = reinterpret_cast<const uint4*>(cluster.map_shared_rank(keys, static_cast<unsigned>(run)));
    auto* const copy = reinterpret_cast<uint4*>(all) + run * vectors;
    for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kSmallClusterThreads) copy[i] = remote[i];
  }
  __syncthreads();
  auto copied = cluster.barrier_arrive();  // from here on the others' shared memory is not read
  int places[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) places[k] = sorter.warp_first + k * 32;
  AddRanks(all, run_length, own, runs, items, places);
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (sorter.warp_first + k * 32 >= count) places[k] = Sorter::kNowhere;
  }
  sorter.StoreAt(places, items);
  cluster.barrier_wait(std::move(copied));
#endif
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_CLUSTER_CUH_
