// Tile sort: sorts every tile of the input, the first pass of the mergesort.
//
// Algorithm: a block loads one tile. Every thread sorts its elements in registers with Batcher's network. log2(threads)
//            rounds of merge path in shared memory double the runs. An element (tile_elements.cuh, tile_words.h) is a
//            rank, and with a payload also the key's position in the tile. At the end, payload is fetched by position
//            through shared memory. So are keys of 8 bytes, which do not fit into a word beside a position.
// Work: O(n log tile).
// Memory: one read, one write of keys and payload.
// Workspace: none.
// Stability: equal elements are identical, or contain their positions. Of equal float keys, only the rank remains: see
//            float_bits.h.
// Source: S. Baxter, moderngpu (mergesort), 2013.
#ifndef CORANK_KERNELS_CUDA_SORT_TILE_SORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_TILE_SORT_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/tile_elements.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/tile_merge.cuh"
#include "kernels/cuda/sort/thread_sort.h"
#include "kernels/cuda/sort/tile_words.h"

namespace corank::cuda {

template <typename Order, typename Bits>
struct TileSortPass {
  Order order;
  const Bits* keys_in;     // raw
  Bits* keys_out;          // ranks, or raw keys if `last`; null: not wanted
  const void* payload_in;  // null: the key's index
  void* payload_out;
  int payload_bytes;  // 0, 4 or 8; not 0 if and only if kPayload
  int64_t count;
  int64_t result_count;  // stores this many
  bool last;             // no merge passes follow
};

template <bool kPayload, int kItems, int kThreads, int kBlocks, typename Order>
struct TileSort {
  using Elements = TileElements<Order, kPayload>;
  using Bits = typename Elements::Bits;
  using Pass = TileSortPass<Order, Bits>;
  using Element = typename Elements::Element;
  static constexpr int kLaunchThreads = kThreads, kLaunchBlocks = kBlocks;
  static constexpr int kTile = kItems * kThreads;
  static_assert(kTile < 65535, "positions in a tile have 16 bits, and the greatest is not used");

  static constexpr bool kWords = sizeof(Bits) == 8 && kPayload;
  using Words = TileWords<kTile>;

  /// Slots of the tile: the keys, one after each run, the reads of a merge past the end, the phase.
  static constexpr int kSlots = kTile + kThreads + kItems + 16;
  static constexpr int kStageBytes = kPayload ? 8 : static_cast<int>(sizeof(Element));
  static constexpr int kSourcesOffset = kWords ? (kSlots * kStageBytes + 15) / 16 * 16 : 0;
  static constexpr int kSharedBytes = kWords ? kSourcesOffset + 2 * kTile : kSlots * kStageBytes;

  /// Waits for the group of `threads` threads, a power of two, that starts at a multiple of `threads`.
  static __device__ __forceinline__ void GroupBarrier(int threads) {
    if (threads <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  /// Merges runs in the registers of `width` threads into runs of twice the width.
  static __device__ __forceinline__ void MergeRound(int width, uint32_t tile, Element (&own)[kItems]) {
    // Groups of up to a warp work in the slots of their warp, because other warps may be a round ahead.
    const bool in_warp = width < 32;
    const int base = in_warp ? static_cast<int>(threadIdx.x) / 32 * 32 * (kItems + 1) : 0;
    const int thread = in_warp ? static_cast<int>(threadIdx.x) % 32 : static_cast<int>(threadIdx.x);
    const int run = width * kItems;
    const int slot = base + thread * kItems + thread / width;
    GroupBarrier(2 * width);
#pragma unroll
    for (int i = 0; i < kItems; ++i) StoreShared(tile + (slot + i) * static_cast<int>(sizeof(Element)), own[i]);
    if (thread % width == width - 1) {
      StoreShared(tile + (slot + kItems) * static_cast<int>(sizeof(Element)), kLastElement<Element>);
    }
    GroupBarrier(2 * width);

    PairChunk chunk;
    const int pair = thread / (2 * width);
    chunk.a_begin = base + pair * 2 * (run + 1);
    chunk.a_end = chunk.a_begin + run;
    chunk.b_begin = chunk.a_end + 1;
    chunk.b_end = chunk.b_begin + run;
    chunk.first = thread % (2 * width) * kItems;
    MergeDistinct<kItems>(tile, chunk, own);
  }

  /// Sorts the elements of all threads. At its begin and end, the memory of the tile is free once all threads are
  /// there.
  static __device__ __forceinline__ void SortElements(char* memory, Element (&own)[kItems]) {
    uint32_t unused[kItems];
    NetworkSort<false>(own, unused);
    __syncthreads();  // the elements were made from shared memory, which merge rounds may now overwrite
#pragma unroll 1
    for (int width = 1; width < kThreads; width *= 2) MergeRound(width, SharedAddress(memory), own);
    __syncthreads();
  }

  /// The number of highest bits that the ranks of all keys share. Contains a barrier.
  static __device__ __forceinline__ int CommonBits(const Pass& pass, const Bits* raw, int count) {
    __shared__ int widths[kThreads / 32];
    const Bits first = pass.order.RankOfRaw(raw[0]);
    Bits differ = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int place = static_cast<int>(threadIdx.x) * kItems + i;
      if (place < count) differ |= pass.order.RankOfRaw(raw[place]) ^ first;
    }
    const int width = __reduce_max_sync(~0u, 64 - __clzll(static_cast<long long>(differ)));
    if (threadIdx.x % 32 == 0) widths[threadIdx.x / 32] = width;
    __syncthreads();
    int widest = 1;
#pragma unroll
    for (const int each : widths) widest = max(widest, each);
    return 64 - widest;
  }

  static __device__ __forceinline__ void LoadKeys(const Bits* tile_in, int count, Bits* raw) {
    StartLoad<kThreads>(tile_in, raw, count);
    FinishLoads();
    __syncthreads();
  }

  /// Whether any key comes before the one that `sources` puts before it.
  static __device__ __forceinline__ bool AnyTurned(const Pass& pass, const Bits* raw, int count,
                                                   const uint16_t* sources) {
    bool turned = false;
    for (int i = static_cast<int>(threadIdx.x) + 1; i < count; i += kThreads) {
      turned = turned || pass.order.RankOfRaw(raw[sources[i]]) < pass.order.RankOfRaw(raw[sources[i - 1]]);
    }
    return __syncthreads_or(turned);
  }

  /// kWords: sources[i] becomes the position of the tile's i-th key in order. `raw` then holds the raw keys in input
  /// order.
  static __device__ __forceinline__ void SortByWords(const Pass& pass, const Bits* tile_in, int count, Bits* raw,
                                                     uint16_t* sources, char* memory) {
    const int first_place = static_cast<int>(threadIdx.x) * kItems;
    LoadKeys(tile_in, count, raw);
    const int common = CommonBits(pass, raw, count);
#pragma unroll 1
    for (int round = 0; round < Words::kRounds; ++round) {
      const bool goes_on = round == 2;  // continues from the order of the previous round
      const int shift = Words::ShiftOf(round, common);
      Element words[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int place = first_place + i;
        words[i] = kLastElement<Element>;
        if (place >= count) continue;
        words[i] = Words::Make(pass.order.RankOfRaw(raw[goes_on ? sources[place] : place]), shift, place);
      }
      SortElements(memory, words);

      auto* const last_words = reinterpret_cast<Element*>(memory);
      last_words[threadIdx.x] = words[kItems - 1];
      uint16_t found[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int place = Words::PlaceOf(words[i]);
        found[i] = static_cast<uint16_t>(goes_on && place < count ? sources[place] : place);
      }
      __syncthreads();
      bool tied = threadIdx.x > 0 && Words::AreTied(last_words[threadIdx.x - 1], words[0]);
#pragma unroll
      for (int i = 1; i < kItems; ++i) tied = tied || Words::AreTied(words[i - 1], words[i]);
#pragma unroll
      for (int i = 0; i < kItems; ++i) sources[first_place + i] = found[i];
      const bool any_tied = __syncthreads_or(tied);
      LoadKeys(tile_in, count, raw);
      if (round > 0) continue;
      if (Words::HoldAllBits(common) || !any_tied || !AnyTurned(pass, raw, count, sources)) return;
    }
  }

  /// out[i] = in[sources[i's item]] for the tile's elements in[0, count), staged in shared memory.
  template <typename T>
  static __device__ __forceinline__ void MoveStaged(const T* in, int count, const uint16_t (&sources)[kItems],
                                                    char* area, T* out, int stored) {
    T* const staged = reinterpret_cast<T*>(area) + PhaseOf(in);
    __syncthreads();
    StartLoad<kThreads>(in, staged, count);
    FinishLoads();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kThreads + static_cast<int>(threadIdx.x);
      if (i < stored) out[i] = staged[sources[k]];
    }
  }

  template <typename Payload>
  static __device__ __forceinline__ void MovePayload(const Pass& pass, int64_t tile_start, int count, int stored,
                                                     const uint16_t (&sources)[kItems], char* area) {
    const auto* const in = static_cast<const Payload*>(pass.payload_in);
    auto* const out = static_cast<Payload*>(pass.payload_out) + tile_start;
    if (in != nullptr) {
      MoveStaged(in + tile_start, count, sources, area, out, stored);
      return;
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kThreads + static_cast<int>(threadIdx.x);
      if (i < stored) out[i] = static_cast<Payload>(tile_start + sources[k]);
    }
  }

  /// Sorts and stores the keys of the tile. With a payload, all_sources[i] becomes the original position of the i-th
  /// key.
  static __device__ __forceinline__ void SortKeys(const Pass& pass, const Bits* tile_in, int count, Bits* tile_out,
                                                  int stored, uint16_t* all_sources, char* memory) {
    const int first_place = static_cast<int>(threadIdx.x) * kItems;
    Bits* const raw = reinterpret_cast<Bits*>(memory) + PhaseOf(tile_in);
    if constexpr (kWords) {
      SortByWords(pass, tile_in, count, raw, all_sources, memory);
      if (tile_out == nullptr) return;
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        const int i = k * kThreads + static_cast<int>(threadIdx.x);
        if (i >= stored) continue;
        const Bits key = raw[all_sources[i]];
        tile_out[i] = pass.last ? key : pass.order.RankOfRaw(key);
      }
    } else {
      LoadKeys(tile_in, count, raw);
      Element own[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int place = first_place + i;
        own[i] = place < count ? Elements::Make(pass.order, raw[place], place) : kLastElement<Element>;
      }
      SortElements(memory, own);
      if (tile_out != nullptr) {
        Bits* const keys = reinterpret_cast<Bits*>(memory) + PhaseOf(tile_out);
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          const Bits rank = Elements::Rank(own[i]);
          keys[first_place + i] = pass.last ? pass.order.Decode(rank) : rank;
        }
        __syncthreads();
        StoreTile<kThreads>(keys, tile_out, stored);
      }
      if constexpr (kPayload) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kItems; ++i) all_sources[first_place + i] = static_cast<uint16_t>(own[i]);
        __syncthreads();
      }
    }
  }

  static __device__ __forceinline__ void Run(const Pass& pass, char* memory) {
    const int64_t tile_start = int64_t{blockIdx.x} * kTile;
    const int count = static_cast<int>(min(int64_t{kTile}, pass.count - tile_start));
    const int stored = static_cast<int>(max(int64_t{0}, min(int64_t{count}, pass.result_count - tile_start)));
    Bits* const tile_out = pass.keys_out == nullptr ? nullptr : pass.keys_out + tile_start;
    auto* const all_sources = reinterpret_cast<uint16_t*>(memory + kSourcesOffset);
    SortKeys(pass, pass.keys_in + tile_start, count, tile_out, stored, all_sources, memory);
    if constexpr (kPayload) {
      uint16_t sources[kItems];
#pragma unroll
      for (int k = 0; k < kItems; ++k) sources[k] = all_sources[k * kThreads + static_cast<int>(threadIdx.x)];
      if (pass.payload_bytes == 4) {
        MovePayload<uint32_t>(pass, tile_start, count, stored, sources, memory);
      } else {
        MovePayload<uint64_t>(pass, tile_start, count, stored, sources, memory);
      }
    }
  }
};

template <typename Sort>
__global__ void __launch_bounds__(Sort::kLaunchThreads, Sort::kLaunchBlocks)
    TileSortKernel(const __grid_constant__ typename Sort::Pass pass) {
  extern __shared__ __align__(128) char tile_sort_memory[];
  Sort::Run(pass, tile_sort_memory);
}

/// Enqueues the sort of all tiles.
template <typename Sort>
cudaError_t LaunchTileSort(const typename Sort::Pass& pass, cudaStream_t stream) {
  const auto kernel = TileSortKernel<Sort>;
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Sort::kSharedBytes));
  kernel<<<static_cast<unsigned>(CeilDiv(pass.count, Sort::kTile)), Sort::kLaunchThreads, Sort::kSharedBytes, stream>>>(
      pass);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_TILE_SORT_CUH_
