// Block sort: sorts every tile of the input, the first pass of the mergesort.
//
// Algorithm: a block loads one tile, every thread sorts its items in registers (Batcher's network; odd-even
//            transposition with segments), then log2(threads) rounds of merge path in shared memory double the runs.
//            What is sorted are ranks. With a payload, or float keys (whose ranks do not give the keys back), each
//            key's 16-bit position in the tile goes with it, and keys and payload are fetched by position at the end.
// Work: O(n log tile). Memory: one read, one write of keys and payload.
// Workspace: none. With segments: one bit for each key, from MarkSegmentHeads.
// Stability: thread sorts break ties by position or compare neighbours only; merges take the earlier run first; keys
//            without positions are integers, where equal keys cannot be told apart.
// Source: S. Baxter, moderngpu (mergesort, segmented sort), 2013.
#ifndef CORANK_KERNELS_CUDA_SORT_BLOCK_SORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_BLOCK_SORT_CUH_

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/sort/run_pairs.h"
#include "kernels/cuda/sort/thread_sort.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

template <typename KeyOrderType>
struct KeyOrderTraits;
template <typename BitsType, bool kFloatKeys>
struct KeyOrderTraits<KeyOrder<BitsType, kFloatKeys>> {
  using Bits = BitsType;
  static constexpr bool kFloat = kFloatKeys;
};

template <typename KeyOrderType>
struct BlockSortPass {
  using Bits = typename KeyOrderTraits<KeyOrderType>::Bits;
  KeyOrderType order;
  const Bits* keys_in;     // raw
  Bits* keys_out;          // codes, or raw keys where `last`; null: not wanted
  const void* payload_in;  // null: the key's index
  void* payload_out;
  int payload_bytes;  // 0, 4 or 8
  int64_t count;
  int64_t result_count;           // this many are stored
  const uint32_t* segment_heads;  // with segments: a bit for each position of each tile
  bool last;                      // no merge passes follow
};

/// out[i] = load(i) for i in [0, count), count <= kThreads * kItems: all of a thread's loads are on their way before
/// its first store.
template <int kThreads, int kItems, typename T, typename Load>
__device__ __forceinline__ void StoreLoaded(T* out, int count, Load load) {
  T loaded[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i < count) loaded[k] = load(i);
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i < count) out[i] = loaded[k];
  }
}

/// Stores the payload of a tile: output i of `count` from out_start on gets the payload at position source_at(i) of the
/// input, or that position itself where payload_in is null.
template <int kThreads, int kItems, typename Payload, typename SourceAt>
__device__ __forceinline__ void MovePayloadAs(const void* payload_in, void* payload_out, int64_t out_start, int count,
                                              SourceAt source_at) {
  const auto* in = static_cast<const Payload*>(payload_in);
  auto* out = static_cast<Payload*>(payload_out) + out_start;
  if (in != nullptr) {
    StoreLoaded<kThreads, kItems>(out, count, [&](int i) { return in[source_at(i)]; });
  } else {
    StoreLoaded<kThreads, kItems>(out, count, [&](int i) { return static_cast<Payload>(source_at(i)); });
  }
}
template <int kThreads, int kItems, typename SourceAt>
__device__ __forceinline__ void MovePayload(int payload_bytes, const void* payload_in, void* payload_out,
                                            int64_t out_start, int count, SourceAt source_at) {
  if (payload_bytes == 4) {
    MovePayloadAs<kThreads, kItems, uint32_t>(payload_in, payload_out, out_start, count, source_at);
  } else {
    MovePayloadAs<kThreads, kItems, uint64_t>(payload_in, payload_out, out_start, count, source_at);
  }
}

/// Waits for the `threads` threads, a power of two, that work together from a multiple of `threads` on.
__device__ __forceinline__ void GroupBarrier(int threads) {
  if (threads <= 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// For each border between threads' items: where the segment across it begins and ends in the tile.
template <int kThreads>
struct SegmentBorders {
  uint16_t begin[kThreads];  // begin[t]: the last head in the items of threads before t, or 0
  uint16_t end[kThreads];    // end[t]: the first head in the items of threads t and after, or the tile's size

  /// `heads`: the thread's items that start a segment, as bits. Called by all threads.
  template <int kItems>
  __device__ void Fill(uint32_t heads) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) begin[0] = 0;
    if (thread + 1 < kThreads) {
      begin[thread + 1] = static_cast<uint16_t>(heads != 0 ? thread * kItems + 31 - __clz(heads) : 0);
    }
    end[thread] = static_cast<uint16_t>(heads != 0 ? thread * kItems + __ffs(heads) - 1 : kThreads * kItems);
    for (int step = 1; step < kThreads; step *= 2) {
      __syncthreads();
      const uint16_t before = thread >= step ? begin[thread - step] : uint16_t{0};
      const uint16_t after = thread + step < kThreads ? end[thread + step] : end[thread];
      __syncthreads();
      begin[thread] = Max(begin[thread], before);
      end[thread] = Min(end[thread], after);
    }
    __syncthreads();
  }
};

template <typename KeyOrderType, MergesortForm kForm, bool kSegmented>
struct BlockSort {
  using Bits = typename KeyOrderTraits<KeyOrderType>::Bits;
  static constexpr bool kFloat = KeyOrderTraits<KeyOrderType>::kFloat;
  static constexpr bool kPayload = kForm == MergesortForm::kPayload;
  static constexpr bool kPositions = kForm != MergesortForm::kKeys;
  static_assert(kPositions || !kFloat, "ranks of floats do not give the keys back");
  static constexpr MergesortTuning kTuning = MergesortTuningFor(sizeof(Bits), kForm);
  static constexpr int kItems = kTuning.items, kThreads = kTuning.sort_threads, kTile = kTuning.SortTile();
  static_assert(kTile < 65536, "positions in a tile have 16 bits");
  static_assert(kTile % 32 == 0, "tiles start at whole words of segment heads");

  struct Empty {};
  struct Shared {
    alignas(16) Bits keys[kTile + kPerVector<Bits>];  // a tile at any 16-byte phase
    std::conditional_t<kPositions, uint16_t[kTile], Empty> positions;
    std::conditional_t<kSegmented, SegmentBorders<kThreads>, Empty> borders;
  };
  static_assert(sizeof(Shared) <= kMaxSharedBytes, "a tile does not fit");

  static __device__ __forceinline__ uint32_t LoadHeads(const uint32_t* segment_heads, int64_t position) {
    const uint32_t* word = segment_heads + position / 32;
    return __funnelshift_r(word[0], word[1], static_cast<unsigned>(position % 32)) & ((uint32_t{1} << kItems) - 1);
  }

  /// Merges runs of `width` threads' items, sorted in registers, into runs of twice the width.
  static __device__ __forceinline__ void MergeRound(Shared& shared, int width, Bits (&keys)[kItems],
                                                    uint32_t (&positions)[kItems]) {
    const int thread = static_cast<int>(threadIdx.x);
    GroupBarrier(2 * width);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      shared.keys[thread * kItems + i] = keys[i];
      if constexpr (kPositions) shared.positions[thread * kItems + i] = static_cast<uint16_t>(positions[i]);
    }
    GroupBarrier(2 * width);

    const int start = (thread & ~(2 * width - 1)) * kItems;
    const int run = width * kItems;
    TilePair pair{start, run, start + run, run, 0, 2 * run};
    if constexpr (kSegmented) {
      const int middle = (thread & ~(2 * width - 1)) + width;
      pair.active_begin = Max<int>(shared.borders.begin[middle], start) - start;
      pair.active_end = Min<int>(shared.borders.end[middle], start + 2 * run) - start;
    }
    uint32_t sources[kItems];
    MergeItems<kSegmented>(
        shared.keys, pair, thread * kItems - start, [](Bits key) { return key; }, keys, sources);
    if constexpr (kPositions) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) positions[i] = shared.positions[start + static_cast<int>(sources[i])];
    }
  }

  static __device__ __forceinline__ void Run(const BlockSortPass<KeyOrderType>& pass, Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t tile_start = int64_t{blockIdx.x} * kTile;
    const int count = static_cast<int>(Min<int64_t>(kTile, pass.count - tile_start));
    const Bits* tile_in = pass.keys_in + tile_start;

    const int phase = PhaseOf(tile_in);
    StartLoad<kThreads>(tile_in, shared.keys + phase, count);
    FinishLoads();
    __syncthreads();

    // Items past the end come after every key: they have the greatest rank and the greatest positions.
    Bits keys[kItems];
    uint32_t positions[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int position = thread * kItems + i;
      positions[i] = static_cast<uint32_t>(position);
      keys[i] = position < count ? pass.order.RankOfRaw(shared.keys[phase + position]) : static_cast<Bits>(~Bits{0});
    }
    if constexpr (kSegmented) {
      const uint32_t heads = LoadHeads(pass.segment_heads, tile_start + thread * kItems);
      shared.borders.template Fill<kItems>(heads);
      SegmentedTranspositionSort<kPositions>(heads, keys, positions);
    } else {
      NetworkSort<kPositions>(keys, positions);
    }

    __syncthreads();  // the tile has been read from shared memory: merge rounds may write it
    for (int width = 1; width < kThreads; width *= 2) MergeRound(shared, width, keys, positions);
    __syncthreads();

    const int stored = static_cast<int>(Max<int64_t>(0, Min<int64_t>(count, pass.result_count - tile_start)));
    if constexpr (kPositions) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) shared.positions[thread * kItems + i] = static_cast<uint16_t>(positions[i]);
    }
    if constexpr (!kFloat) {
      if (pass.keys_out != nullptr) {
        Bits* const tile_out = pass.keys_out + tile_start;
        const int out_phase = PhaseOf(tile_out);
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          shared.keys[out_phase + thread * kItems + i] = pass.last ? pass.order.Decode(keys[i]) : keys[i];
        }
        __syncthreads();
        StoreTile<kThreads>(shared.keys + out_phase, tile_out, stored);
      }
    }
    if constexpr (kPositions) {
      __syncthreads();
      if constexpr (kFloat) {
        if (pass.keys_out != nullptr) {
          StoreLoaded<kThreads, kItems>(pass.keys_out + tile_start, stored, [&](int i) {
            const Bits raw = tile_in[shared.positions[i]];
            return pass.last ? raw : pass.order.Encode(raw);
          });
        }
      }
      if constexpr (kPayload) {
        MovePayload<kThreads, kItems>(pass.payload_bytes, pass.payload_in, pass.payload_out, tile_start, stored,
                                      [&](int i) { return tile_start + shared.positions[i]; });
      }
    }
  }
};

template <typename KeyOrderType, MergesortForm kForm, bool kSegmented>
__global__ void __launch_bounds__(BlockSort<KeyOrderType, kForm, kSegmented>::kTuning.sort_threads,
                                  BlockSort<KeyOrderType, kForm, kSegmented>::kTuning.sort_blocks)
    BlockSortKernel(const BlockSortPass<KeyOrderType> pass) {
  using Sort = BlockSort<KeyOrderType, kForm, kSegmented>;
  __shared__ typename Sort::Shared shared;
  Sort::Run(pass, shared);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_BLOCK_SORT_CUH_
