// Tile sort: sorts every tile of the input, the first pass of the mergesort.
//
// Algorithm: a block loads one tile; every thread sorts its elements in registers by Batcher's network; log2(threads)
//            rounds of merge path in shared memory double the runs. An element (tile_elements.cuh) is a rank, with a
//            payload also the key's position in the tile, by which payload is fetched at the end, through shared
//            memory.
// Work: O(n log tile). Memory: one read, one write of keys and payload.
// Workspace: none.
// Stability: equal elements either cannot be told apart or have their positions in them; keys of 8 bytes with positions
//            apart are merged by MergeStable. Of equal float keys only the rank is left: see float_bits.h.
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

namespace corank::cuda {

template <typename Order, typename Bits>
struct TileSortPass {
  Order order;
  const Bits* keys_in;     // raw
  Bits* keys_out;          // ranks, or raw keys of these where `last`; null: not wanted
  const void* payload_in;  // null: the key's index
  void* payload_out;
  int payload_bytes;  // 0, 4 or 8; not 0 if and only if kPayload
  int64_t count;
  int64_t result_count;  // this many are stored
  bool last;             // no merge passes follow
};

template <bool kPayload, int kItems, int kThreads, int kBlocks, typename Order>
struct TileSort {
  using Elements = TileElements<Order, kPayload>;
  using Bits = typename Elements::Bits;
  using Pass = TileSortPass<Order, Bits>;
  /// Ranks of 8 bytes do not leave room for a position.
  static constexpr bool kPositionsApart = sizeof(Bits) == 8 && kPayload;
  using Element = typename Elements::Element;
  static constexpr int kLaunchThreads = kThreads, kLaunchBlocks = kBlocks;
  static constexpr int kTile = kItems * kThreads;
  static_assert(kTile < 65535, "positions in a tile have 16 bits, and the greatest is not used");

  /// Slots of the tile: the keys, one behind each run, what a merge reads past the end, the phase.
  static constexpr int kSlots = kTile + kThreads + kItems + 16;
  static constexpr int kStageBytes = kPayload ? 8 : static_cast<int>(sizeof(Element));
  static constexpr int kPositionsOffset = (kSlots * kStageBytes + 15) / 16 * 16;
  static constexpr int kSharedBytes = kPositionsOffset + (kPositionsApart ? 2 * kSlots : 0);

  /// Waits for the `threads` threads, a power of two, that work together from a multiple of `threads` on.
  static __device__ __forceinline__ void GroupBarrier(int threads) {
    if (threads <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  struct Registers {
    Element elements[kItems];
    uint32_t positions[kItems];  // kPositionsApart

    __device__ __forceinline__ uint32_t Position(int i) const {
      return kPositionsApart ? positions[i] : static_cast<uint16_t>(elements[i]);
    }
  };

  /// The elements of this thread, from a tile of raw keys; past the end, they come after every other.
  static __device__ __forceinline__ void Take(const Pass& pass, const Bits* raw, int count, Registers& own) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int position = static_cast<int>(threadIdx.x) * kItems + i;
      own.positions[i] = static_cast<uint32_t>(position);
      if (position >= count) {
        own.elements[i] = kLastElement<Element>;
      } else {
        own.elements[i] = Elements::Make(pass.order, raw[position], position);
      }
    }
  }

  /// Merges runs of `width` threads' elements, in registers, into runs of twice the width.
  static __device__ __forceinline__ void MergeRound(int width, uint32_t tile, uint16_t* positions, Registers& own) {
    // Groups of up to a warp work in their warp's own slots, for other warps may be a round ahead.
    const bool in_warp = width < 32;
    const int base = in_warp ? static_cast<int>(threadIdx.x) / 32 * 32 * (kItems + 1) : 0;
    const int thread = in_warp ? static_cast<int>(threadIdx.x) % 32 : static_cast<int>(threadIdx.x);
    const int run = width * kItems;
    const int slot = base + thread * kItems + thread / width;
    GroupBarrier(2 * width);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      StoreShared(tile + (slot + i) * static_cast<int>(sizeof(Element)), own.elements[i]);
      if constexpr (kPositionsApart) positions[slot + i] = static_cast<uint16_t>(own.positions[i]);
    }
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
    if constexpr (kPositionsApart) {
      uint32_t from[kItems];
      MergeStable<kItems>(
          tile, chunk, [](Element element) { return element; }, own.elements, from);
#pragma unroll
      for (int i = 0; i < kItems; ++i) own.positions[i] = positions[from[i]];
    } else {
      MergeDistinct<kItems>(tile, chunk, own.elements);
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

  static __device__ __forceinline__ void Run(const Pass& pass, char* memory) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t tile_start = int64_t{blockIdx.x} * kTile;
    const int count = static_cast<int>(min(int64_t{kTile}, pass.count - tile_start));
    const int stored = static_cast<int>(max(int64_t{0}, min(int64_t{count}, pass.result_count - tile_start)));
    const Bits* const tile_in = pass.keys_in + tile_start;
    Bits* const tile_out = pass.keys_out == nullptr ? nullptr : pass.keys_out + tile_start;
    auto* const positions = reinterpret_cast<uint16_t*>(memory + kPositionsOffset);

    Bits* const raw = reinterpret_cast<Bits*>(memory) + PhaseOf(tile_in);
    StartLoad<kThreads>(tile_in, raw, count);
    FinishLoads();
    __syncthreads();
    Registers own;
    Take(pass, raw, count, own);
    NetworkSort<kPositionsApart>(own.elements, own.positions);
    __syncthreads();  // the keys have been read from shared memory: merge rounds may write it
#pragma unroll 1
    for (int width = 1; width < kThreads; width *= 2) MergeRound(width, SharedAddress(memory), positions, own);

    if (tile_out != nullptr) {
      Bits* const keys = reinterpret_cast<Bits*>(memory) + PhaseOf(tile_out);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const Bits rank = Elements::Rank(own.elements[i]);
        keys[thread * kItems + i] = pass.last ? pass.order.Decode(rank) : rank;
      }
      __syncthreads();
      StoreTile<kThreads>(keys, tile_out, stored);
    }
    if constexpr (kPayload) {
      auto* const all_sources = reinterpret_cast<uint16_t*>(memory);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kItems; ++i) all_sources[thread * kItems + i] = static_cast<uint16_t>(own.Position(i));
      __syncthreads();
      uint16_t sources[kItems];
#pragma unroll
      for (int k = 0; k < kItems; ++k) sources[k] = all_sources[k * kThreads + thread];
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
