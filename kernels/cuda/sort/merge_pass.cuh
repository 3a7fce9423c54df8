// One merge pass of the mergesort: every pair of neighbouring runs of `width` keys becomes one run.
//
// Algorithm: merge path. PartitionKernel finds, for the first output of every tile, how many of its pair's outputs
//            before it come from the pair's first run (one binary search in global memory); MergeKernel loads the two
//            pieces that make one tile into shared memory, each thread finds its own split there and merges kItems
//            keys into registers; keys leave through shared memory, payloads by the source of each output.
// Work: O(n + tiles log width). Memory: one read, one write of keys and payload, 16-byte accesses for keys.
// Workspace: 8 bytes a tile; with segments, 16 more.
// Stability: the first run is taken first among equal ranks.
// Source: S. Odeh, O. Green et al., "Merge Path", 2012; S. Baxter, moderngpu, 2013.
#ifndef CORANK_KERNELS_CUDA_SORT_MERGE_PASS_CUH_
#define CORANK_KERNELS_CUDA_SORT_MERGE_PASS_CUH_

#include <cstdint>

#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/sort/block_sort.cuh"
#include "kernels/cuda/sort/run_pairs.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

template <typename KeyOrderType>
struct MergePass {
  using Bits = typename KeyOrderTraits<KeyOrderType>::Bits;
  KeyOrderType order;
  const Bits* keys_in;  // codes
  Bits* keys_out;       // codes, or raw keys where `last`; null: not wanted
  const void* payload_in;
  void* payload_out;
  int payload_bytes;  // 0, 4 or 8
  int64_t count;
  int64_t result_count;  // this many are stored
  int64_t width;         // of the runs to be merged
  int64_t* splits;       // for each tile, and the end of the last: see SplitAt
  ActiveRange* active;   // with segments: for each tile, the active range of its pair
  const int64_t* segment_offsets;
  int64_t segment_count;
  bool last;
};

inline constexpr int kPartitionThreads = 128;

template <typename KeyOrderType, int kTile, bool kSegmented>
__global__ void __launch_bounds__(kPartitionThreads)
    PartitionKernel(const MergePass<KeyOrderType> pass, int64_t split_count) {
  using Bits = typename MergePass<KeyOrderType>::Bits;
  const int64_t tile = int64_t{blockIdx.x} * kPartitionThreads + threadIdx.x;
  const int64_t x = tile * kTile;
  if (tile >= split_count || x >= pass.count) return;
  const RunPair pair = PairAt(x, pass.width, pass.count);
  ActiveRange active{pair.start, pair.end};
  if constexpr (kSegmented) {
    active = SegmentAcross(pair, pass.segment_offsets, pass.segment_count);
    pass.active[tile] = active;
  }
  pass.splits[tile] = SplitAt(x, pair, active, pass.keys_in, [&](Bits code) { return pass.order.Rank(code); });
}

template <typename KeyOrderType, bool kPayload, int kItems, int kThreads, bool kSegmented>
struct Merge {
  using Bits = typename MergePass<KeyOrderType>::Bits;
  static constexpr int kTile = kItems * kThreads;
  static_assert(kTile < 65536, "sources in a tile have 16 bits");

  struct Empty {};
  struct Shared {
    alignas(16) Bits keys[kTile + 3 * kPerVector<Bits>];  // two pieces, each at any 16-byte phase
    std::conditional_t<kPayload, uint16_t[kTile], Empty> sources;
  };
  static_assert(sizeof(Shared) <= kMaxSharedBytes, "a tile does not fit");

  static __device__ __forceinline__ void Run(const MergePass<KeyOrderType>& pass, Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t tile_start = int64_t{blockIdx.x} * kTile;
    const int64_t tile_end = Min(tile_start + kTile, pass.count);
    const RunPair pair = PairAt(tile_start, pass.width, pass.count);
    const int64_t a_start = pass.splits[blockIdx.x];
    const int64_t a_end = tile_end == pair.end ? pair.middle : pass.splits[blockIdx.x + 1];
    const int64_t b_start = pair.middle + tile_start - a_start;

    TilePair tile;
    tile.a_count = static_cast<int>(a_end - a_start);
    tile.b_count = static_cast<int>(tile_end - tile_start) - tile.a_count;
    tile.a_begin = PhaseOf(pass.keys_in + a_start);
    tile.b_begin = PlaceAfter(tile.a_begin + tile.a_count, pass.keys_in + b_start);
    tile.active_begin = 0;
    tile.active_end = tile.a_count + tile.b_count;
    if constexpr (kSegmented) {
      const ActiveRange active = pass.active[blockIdx.x];
      tile.active_begin = static_cast<int>(Min(Max(active.begin, tile_start), tile_end) - tile_start);
      tile.active_end = static_cast<int>(Min(Max(active.end, tile_start), tile_end) - tile_start);
    }
    StartLoad<kThreads>(pass.keys_in + a_start, shared.keys + tile.a_begin, tile.a_count);
    StartLoad<kThreads>(pass.keys_in + b_start, shared.keys + tile.b_begin, tile.b_count);
    FinishLoads();
    __syncthreads();

    Bits keys[kItems];
    uint32_t sources[kItems];
    MergeItems<kSegmented>(
        shared.keys, tile, thread * kItems, [&](Bits code) { return pass.order.Rank(code); }, keys, sources);
    __syncthreads();

    const int stored = static_cast<int>(Min(tile_end, pass.result_count) - tile_start);
    Bits* const tile_out = pass.keys_out + tile_start;
    const int out_phase = PhaseOf(tile_out);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      shared.keys[out_phase + thread * kItems + i] = pass.last ? pass.order.Decode(keys[i]) : keys[i];
      if constexpr (kPayload) shared.sources[thread * kItems + i] = static_cast<uint16_t>(sources[i]);
    }
    __syncthreads();
    if (pass.keys_out != nullptr) StoreTile<kThreads>(shared.keys + out_phase, tile_out, stored);
    if constexpr (kPayload) {
      MovePayload<kThreads, kItems>(pass.payload_bytes, pass.payload_in, pass.payload_out, tile_start, stored,
                                    [&](int i) {
                                      const int source = shared.sources[i];
                                      return source < tile.a_count ? a_start + source : b_start + source - tile.a_count;
                                    });
    }
  }
};

template <typename KeyOrderType, bool kPayload, int kItems, int kThreads, bool kSegmented>
__global__ void __launch_bounds__(kThreads) MergeKernel(const MergePass<KeyOrderType> pass) {
  using Tile = Merge<KeyOrderType, kPayload, kItems, kThreads, kSegmented>;
  __shared__ typename Tile::Shared shared;
  Tile::Run(pass, shared);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MERGE_PASS_CUH_
