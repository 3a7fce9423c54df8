// Row sort: the tile sort of keys of up to 4 bytes without a payload.
//
// Algorithm: each thread sorts 32 ranks in registers with Batcher's network; it may take any ranks, because equal ranks
//            are identical. Five rounds of bitonic merges double the runs within a warp, through shuffles. The other
//            rounds merge in shared memory without bank conflicts (tile_rows.cuh).
// Work: O(n log tile).
// Memory: one read, one write of the keys.
// Workspace: none.
// Source: as tile_rows.cuh.
#ifndef CORANK_KERNELS_CUDA_SORT_ROW_SORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_ROW_SORT_CUH_

#include <cstdint>

#include "kernels/cuda/common/tile_rows.cuh"
#include "kernels/cuda/sort/thread_sort.h"
#include "kernels/cuda/sort/tile_sort.cuh"

namespace corank::cuda {

template <int kThreads, int kBlocks, typename Order>
struct RowSort {
  using Bits = typename KeyOrderTraits<Order>::Bits;
  using Pass = TileSortPass<Order, Bits>;
  static constexpr int kLaunchThreads = kThreads, kLaunchBlocks = kBlocks;
  static constexpr int kTile = kRow * kThreads;
  static constexpr int kSplitsOffset = kThreads * kRowBytes;
  static constexpr int kSharedBytes = kSplitsOffset + (kThreads + 1) * 4;

  static __device__ __forceinline__ void Run(const Pass& pass, char* memory) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t tile_start = int64_t{blockIdx.x} * kTile;
    const int count = static_cast<int>(min(int64_t{kTile}, pass.count - tile_start));
    const Bits* const tile_in = pass.keys_in + tile_start;
    uint32_t keys[kRow];
#pragma unroll
    for (int j = 0; j < kRow; ++j) {
      const int i = j * kThreads + thread;
      keys[j] = i < count ? pass.order.RankOfRaw(tile_in[i]) : kLastElement<uint32_t>;
    }
    uint32_t unused[kRow];
    NetworkSort<false>(keys, unused);

    const uint32_t tile = SharedAddress(memory);
    int* const splits = reinterpret_cast<int*>(memory + kSplitsOffset);
    MergeLaneRows<1>(keys);
    MergeLaneRows<2>(keys);
    MergeLaneRows<4>(keys);
    MergeLaneRows<8>(keys);
    MergeLaneRows<16>(keys);
#pragma unroll 1
    for (int width = 32; width < kThreads; width *= 2) {
      const int group = 2 * width, in_group = thread % group;
      const uint32_t base = tile + static_cast<uint32_t>(thread - in_group) * kRowBytes;
      __syncthreads();
      WriteRow(base, in_group >= width, group, in_group % width, keys);
      __syncthreads();
      const RowPair pair{base, width * kRow, group, in_group};
      const int split = RowSplit(pair);
      splits[thread] = split;
      __syncthreads();
      MergeRow(pair, split, in_group + 1 < group ? splits[thread + 1] : width * kRow, keys);
    }
    __syncthreads();
    WriteRow(tile, false, kThreads, thread, keys);
    __syncthreads();

    const int stored = static_cast<int>(max(int64_t{0}, min(int64_t{count}, pass.result_count - tile_start)));
    if (pass.keys_out == nullptr) return;
    const auto* const slots = reinterpret_cast<const uint32_t*>(memory);
    Bits* const tile_out = pass.keys_out + tile_start;
#pragma unroll 8
    for (int i = thread; i < stored; i += kThreads) {
      const Bits rank = static_cast<Bits>(slots[RowSlot(i)]);
      tile_out[i] = pass.last ? pass.order.Decode(rank) : rank;
    }
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_ROW_SORT_CUH_
