// One pass of a k-way merge: each group of up to 32 sorted runs becomes one run.
//
//   using Merge = MultiwayMerge<kForm, kItems, kThreads, kBlocks, Runs, KeyOrder<Bits, kFloat>>;
//   const auto cut = MultiwayTiles::Cut(count, longest_group, result_count, Merge::MaxTile(ways));
//   typename Merge::Pass pass{runs, order, ..., cut, workspace.Carve<int64_t>(Merge::SplitCount(cut, ways)), ...};
//   if (!workspace.IsSizing()) Merge::Run(pass, stream);     launches: one or two of the partition, merge
//
// Algorithm: multiway_partition.cuh finds the start of each tile in each run. A block loads the pieces of its tile into
//            shared memory and merges them there, level by level (multiway_tile.cuh). It merges elements of 4 or 8
//            bytes (multiway_elements.cuh). A payload of 4 bytes travels with a key of 4 bytes. Other payloads move at
//            the end, once and through shared memory: each merge records its path, one bit an output, and every output
//            follows the paths back to its place in the pieces.
// Work: O(n log k).
// Memory: one read, one write of keys and payload.
// Workspace: 8 bytes for each tile and run.
// Stability: equal keys of an earlier run come first, and keys of one run keep their order. All zeros come out with the
//            same bits, and so do all NaNs: see float_bits.h and run_float_bits.h.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_MERGE_CUH_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_MERGE_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiway_elements.cuh"
#include "kernels/cuda/common/multiway_partition.cuh"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/multiway_tile.cuh"
#include "kernels/cuda/common/strided_load.cuh"
#include "kernels/cuda/common/tile_io.cuh"

namespace corank::cuda {

/// The rank of keys that are raw or ranks.
template <typename Order>
struct RunRank {
  Order order;
  bool raw;
  template <typename Bits>
  __device__ __forceinline__ Bits operator()(Bits key) const {
    return raw ? order.RankOfRaw(key) : key;
  }
};

template <typename Runs, typename Order, typename Bits>
struct MultiwayPass {
  Runs runs;
  Order order;
  bool encode;  // kRaw runs hold raw keys; otherwise all runs hold ranks
  bool decode;  // the result holds raw keys; otherwise ranks
  MultiwayTiles cut;
  int64_t* splits;  // SplitCount elements of workspace
  Bits* keys_out;   // null: the caller does not want keys
  void* payload_out;
  int payload_bytes;              // 0, 4 or 8, as the form requires
  uint64_t* words_out = nullptr;  // kWords: if not null, receives words instead of keys and payload
  int64_t result_count;           // stores this many
  int32_t* d_suspect = nullptr;   // if not null, set to 1 if a kRaw run is unsorted
};

/// The shared memory that a block may use on every architecture: 99 KB on sm_86, sm_89 and sm_120.
inline constexpr int kMaxBlockSharedBytes = 99 * 1024;

template <MergeForm kForm, int kItems, int kThreads, int kBlocks, typename Runs, typename Order>
struct MultiwayMerge {
  using Elements = MultiwayElements<Order, kForm>;
  using Bits = typename Elements::Bits;
  using Element = typename Elements::Element;
  using Pass = MultiwayPass<Runs, Order, Bits>;
  static constexpr int kLaunchThreads = kThreads, kLaunchBlocks = kBlocks;
  static constexpr int kCapacity = kItems * kThreads;
  static_assert(kCapacity < 65535, "positions in a tile have 16 bits, and the greatest is not used");
  static_assert((kThreads & (kThreads - 1)) == 0, "a thread's number is bounded by a mask");
  static_assert(kThreads >= 32 * kMaxLevels && kThreads >= kMaxWays, "a warp fills one level's slots");

  /// The longest tile that a block can merge. One thread of each pair may have fewer than kItems outputs.
  static CORANK_HOST_DEVICE constexpr int64_t MaxTile(int ways) {
    return kCapacity - LevelPairs(ways, 0) * (kItems - 1);
  }
  static int64_t SplitCount(const MultiwayTiles& cut, int ways) { return (cut.tiles + 1) * ways; }

  struct Shared {
    PieceTable table;
    int64_t begin[kMaxWays];  // the beginning of each piece in its run
    cuda::Run<Bits> runs[kMaxWays];
    int64_t out_start;
  };
  /// Slots of the tile: the keys, a free slot after each range, the reads past the end, the phase.
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Element));
  static constexpr int kSlots = kCapacity + 2 * kVector * kMaxWays + kItems + 16;
  static constexpr int kPathOffset = (sizeof(Shared) + 15) / 16 * 16;
  static constexpr int kPathBytes = Elements::kHasPath ? kMaxLevels * kThreads * static_cast<int>(sizeof(PathWord)) : 0;
  static constexpr int kElementsOffset = (kPathOffset + kPathBytes + 127) / 128 * 128;
  /// The payload is staged in the memory of the elements.
  static constexpr int SharedBytes(int payload_bytes) {
    const int element_bytes = static_cast<int>(sizeof(Element));
    return kElementsOffset + kSlots * (payload_bytes > element_bytes ? payload_bytes : element_bytes);
  }
  /// For any payload of the form.
  static constexpr int kMostSharedBytes = SharedBytes(kForm == MergeForm::kPayload ? 8 : 0);
  static_assert(kMostSharedBytes <= kMaxBlockSharedBytes);

  static __device__ __forceinline__ bool Encodes(const Pass& pass) { return Runs::kRaw && pass.encode; }
  static __device__ __forceinline__ bool Checks(const Pass& pass) { return Runs::kRaw && pass.d_suspect != nullptr; }

  /// Whether pieces are loaded as vectors of 16 bytes. Then each piece has the same phase in the tile as in its run.
  static __device__ __forceinline__ bool LoadsVectors(const Pass& pass) {
    return Elements::kWords ? pass.runs.step == 2 : Elements::kIsKeys && !Encodes(pass);
  }
  /// The elements of a run that is loaded as vectors.
  static __device__ __forceinline__ const Element* ElementsOf(const cuda::Run<Bits>& run) {
    return static_cast<const Element*>(Elements::kWords ? run.payload : run.keys);
  }

  static __device__ __forceinline__ void FillTable(const Pass& pass, Shared& shared) {
    const int lane = static_cast<int>(threadIdx.x);
    if (lane >= 32) return;
    const int64_t tile = blockIdx.x;
    const int64_t group = tile / pass.cut.tiles_per_group;
    const int64_t in_group = tile % pass.cut.tiles_per_group;
    const int ways = pass.runs.ways;
    const bool last = (in_group + 1) * pass.cut.tile >= pass.runs.GroupCount(group);
    int64_t before = 0;
    int count = 0, phase = 0;
    bool broken = false;
    if (lane < ways) {
      const cuda::Run<Bits> run = pass.runs.RunAt(group, lane);
      before = pass.splits[tile * ways + lane];
      const int64_t piece = (last ? run.count : pass.splits[(tile + 1) * ways + lane]) - before;
      broken = piece < 0 || before + piece > run.count;
      count = static_cast<int>(Clamp(piece, 0, kCapacity));
      if (LoadsVectors(pass)) phase = PhaseOf(ElementsOf(run) + before);
      shared.runs[lane] = run;
      shared.begin[lane] = before;
    }
    if (Checks(pass)) {
      // The splits of unsorted runs may not ascend. Such a tile is skipped.
      const auto all = static_cast<int64_t>(__reduce_add_sync(~0u, static_cast<unsigned>(count)));
      if (__any_sync(~0u, broken) || all > MaxTile(ways)) {
        count = 0;
        if (lane == 0) *pass.d_suspect = 1;
      }
    }
    const int units = LoadsVectors(pass) ? (phase + count) / kVector + 1 : count + 1;
    int end = count, load_end = lane < ways ? units : 0;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(~0u, end, step), load_other = __shfl_up_sync(~0u, load_end, step);
      if (lane >= step) {
        end += other;
        load_end += load_other;
      }
      before += __shfl_xor_sync(~0u, before, step);
    }
    shared.table.start[lane + 1] = end;
    shared.table.load_start[lane + 1] = load_end;
    shared.table.load_slot[lane] = LoadsVectors(pass) ? (load_end - units) * kVector + phase : load_end - units;
    if (lane == 0) {
      shared.table.start[0] = 0;
      shared.table.load_start[0] = 0;
      shared.out_start = pass.runs.GroupStart(group) + before;
    }
  }

  /// Sets *d_suspect if a key of the tile comes after the next key of its run. The pieces are loaded.
  static __device__ __forceinline__ void CheckPieces(const Pass& pass, const Shared& shared, const Element* area) {
    const PieceTable& table = shared.table;
    const RunRank<Order> rank{pass.order, Encodes(pass)};
    bool unsorted = false;
    ForEachPiece<kThreads>(table.start, pass.runs.ways, [&](int piece, int begin, int end) {
      const Element* const slots = area + (table.load_slot[piece] - table.start[piece]);
      const int last = table.start[piece + 1] - 1;
#pragma unroll 4
      for (int i = begin; i < min(end, last); i += 32) {
        unsorted |= Elements::Rank(slots[i + 1]) < Elements::Rank(slots[i]);
      }
      const int64_t next = shared.begin[piece] + table.start[piece + 1] - table.start[piece];
      if (last >= begin && last < end && (last - begin) % 32 == 0 && next < shared.runs[piece].count) {
        const cuda::Run<Bits>& run = shared.runs[piece];
        unsorted |= rank(run.Key(next)) < rank(run.Key(next - 1));
      }
    });
    if (unsorted) *pass.d_suspect = 1;
  }

  /// Starts the loads of all pieces. Visible after FinishLoads and a barrier.
  static __device__ __forceinline__ void LoadElements(const Pass& pass, const Shared& shared, Element* tile) {
    const PieceTable& table = shared.table;
    if constexpr (Elements::kIsKeys || Elements::kWords) {
      if (LoadsVectors(pass)) {
        ForEachPiece<kThreads>(table.load_start, pass.runs.ways, [&](int piece, int begin, int end) {
          const int64_t run_count = shared.runs[piece].count, piece_begin = shared.begin[piece];
          const int count = table.start[piece + 1] - table.start[piece];
          const Element* const source = ElementsOf(shared.runs[piece]) + piece_begin;
          Element* const slots = tile + table.load_slot[piece];
#pragma unroll 4
          for (int i = begin; i < end; i += 32) {
            const int at = i * kVector - table.load_slot[piece];
            if (piece_begin + at >= 0 && piece_begin + at + kVector <= run_count) {
              __pipeline_memcpy_async(slots + at, source + at, 16);
            } else {
              for (int k = max(at, 0); k < min(at + kVector, count); ++k) slots[k] = source[k];
            }
          }
        });
      }
    }
    if (!LoadsVectors(pass)) {
      ForEachPiece<kThreads>(table.start, pass.runs.ways, [&](int piece, int begin, int end) {
        const int64_t offset = shared.begin[piece] - table.start[piece];
        if constexpr (Elements::kWords) {
          Elements::template LoadWords<Runs::kRaw>(pass.order, pass.encode, shared.runs[piece], offset, tile + piece,
                                                   begin, end);
        } else {
          Elements::Load(pass.order, Encodes(pass), shared.runs[piece].keys + offset, tile + piece, begin, end);
        }
      });
    }
  }

  /// Maps several outputs, side by side, from their places on the last level back to the positions of their keys.
  /// Positions lie within the tile for any paths.
  template <int kBatch>
  static __device__ __forceinline__ void TraceBack(const PathWord* path, int ways, uint32_t (&to)[kBatch]) {
    static_assert(kCapacity + kMaxWays / 2 * kItems <= kPlaceLimit<kItems>);
    int level = 0;
    while ((2 << level) < ways) ++level;
#pragma unroll 1
    for (; level >= 0; --level) {
      const PathWord* const words = path + level * kThreads;
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const uint32_t slot = SlotOfPlace<kItems>(to[j]) & (kThreads - 1);
        to[j] = PlaceBefore(words[slot], to[j] - slot * kItems);
      }
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) to[j] = min(to[j], uint32_t{kCapacity - 1});
  }

  /// Merges the pieces at `area` into one range at `tile`. `has_last`: whether a piece has an element with IsLast.
  static __device__ __forceinline__ void MergeLevels(Shared& shared, int ways, Element* area, Element* tile,
                                                     PathWord* path, bool has_last) {
    const uint32_t tile_address = SharedAddress(tile);
#pragma unroll 1
    for (int level = 0; level == 0 || (1 << level) < ways; ++level) {
      const PairChunk chunk = ChunkAt<kItems>(shared.table, ways, level, static_cast<int>(threadIdx.x));
      Element elements[kItems];
      if (chunk.count > 0) {
        const uint32_t from = level == 0 ? SharedAddress(area) : tile_address;
        if constexpr (Elements::kHasPath) {
          path[level * kThreads + static_cast<int>(threadIdx.x)] = MergePath<kItems>(
              from, chunk, PlaceOfPair<kItems>(shared.table, ways, level - 1, 2 * chunk.pair),
              PlaceOfPair<kItems>(shared.table, ways, level - 1, 2 * chunk.pair + 1), has_last, elements);
        } else if constexpr (Elements::kWords) {
          MergeWords<kItems>(from, chunk, has_last, elements);
        } else {
          MergeDistinct<kItems>(from, chunk, elements, has_last);
        }
      }
      __syncthreads();
      CloseRanges(shared.table, ways, level + 1, tile);
      WriteChunk<kItems>(tile_address, chunk, elements);
      __syncthreads();
    }
  }

  /// Stages the payload at positions `sources` of the tile's pieces in the order of the outputs, in the memory of the
  /// tile. The thread has read its positions before that memory is overwritten.
  template <typename Payload>
  static __device__ __forceinline__ void MovePayload(const Pass& pass, const Shared& shared, int stored,
                                                     const uint16_t (&sources)[kItems], void* area) {
    auto* const staged = static_cast<Payload*>(area);
    __syncthreads();
    ForEachPiece<kThreads>(shared.table.start, pass.runs.ways, [&](int piece, int begin, int end) {
      const int64_t offset = shared.begin[piece] - shared.table.start[piece];
      const auto* const payload = static_cast<const Payload*>(shared.runs[piece].payload);
      if (payload != nullptr) {
        LoadStrided<8>(payload + offset, begin, end, [&](int i, Payload value) { staged[i] = value; });
      } else {
        const int64_t first = shared.runs[piece].first + offset;
        for (int i = begin; i < end; i += 32) staged[i] = static_cast<Payload>(first + i);
      }
    });
    __syncthreads();
    auto* const out = static_cast<Payload*>(pass.payload_out) + shared.out_start;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kThreads + static_cast<int>(threadIdx.x);
      if (i < stored) out[i] = staged[sources[k]];
    }
  }

  /// The phase of the elements if the tile is stored as vectors; otherwise 0.
  static __device__ __forceinline__ int OutputPhase(const Pass& pass, int64_t out_start) {
    if (Elements::kIsKeys && pass.keys_out != nullptr) return PhaseOf(pass.keys_out + out_start);
    if (Elements::kWords && pass.words_out != nullptr) return PhaseOf(pass.words_out + out_start);
    return 0;
  }

  static __device__ __forceinline__ void Tile(const Pass& pass, char* memory) {
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    Element* const area = reinterpret_cast<Element*>(memory + kElementsOffset);
    PathWord* const path = reinterpret_cast<PathWord*>(memory + kPathOffset);
    const int ways = pass.runs.ways;
    FillTable(pass, shared);
    __syncthreads();
    Element* const tile = area + OutputPhase(pass, shared.out_start);
    FillSlots<kItems>(shared.table, ways);
    LoadElements(pass, shared, area);
    FinishLoads();
    __syncthreads();
    const bool has_last =
        __syncthreads_or(ClosePieces(shared.table, ways, area, [](Element last) { return Elements::IsLast(last); }));
    if (Checks(pass)) CheckPieces(pass, shared, area);
    MergeLevels(shared, ways, area, tile, path, has_last);

    // Read again: keeping these values across the merges would cost registers.
    const int64_t out_start = shared.out_start;
    const int stored = static_cast<int>(Clamp(pass.result_count - out_start, 0, shared.table.start[ways]));
    Bits* const keys_out = pass.keys_out == nullptr ? nullptr : pass.keys_out + out_start;
    if constexpr (Elements::kWords) {
      if (pass.words_out != nullptr) {
        StoreTile<kThreads>(tile, pass.words_out + out_start, stored);
      } else {
        auto* const payload_out = static_cast<uint32_t*>(pass.payload_out) + out_start;
        Elements::template StoreWords<kThreads>(pass.order, pass.decode, tile, keys_out, payload_out, stored);
      }
    } else if (keys_out != nullptr) {
      Elements::template StoreKeys<kThreads>(pass.order, pass.decode, tile, keys_out, stored);
    }
    if constexpr (kForm == MergeForm::kPayload) {
      uint16_t sources[kItems];
      if constexpr (Elements::kHasPath) {
        constexpr int kBatch = 8;
#pragma unroll
        for (int first = 0; first < kItems; first += kBatch) {
          uint32_t to[kBatch];
#pragma unroll
          for (int j = 0; j < kBatch; ++j) to[j] = (first + j) * kThreads + threadIdx.x;
          TraceBack(path, ways, to);
#pragma unroll
          for (int j = 0; j < kBatch; ++j) {
            if (first + j < kItems) sources[first + j] = static_cast<uint16_t>(to[j]);
          }
        }
      } else {
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int i = k * kThreads + static_cast<int>(threadIdx.x);
          if (i < stored) sources[k] = static_cast<uint16_t>(tile[i]);
        }
      }
      if (pass.payload_bytes == 4) {
        MovePayload<uint32_t>(pass, shared, stored, sources, area);
      } else {
        MovePayload<uint64_t>(pass, shared, stored, sources, area);
      }
    }
  }

  /// Enqueues the pass: two launches, or three if there are many tiles.
  static cudaError_t Run(const Pass& pass, cudaStream_t stream);
};

template <typename Merge>
__global__ void __launch_bounds__(Merge::kLaunchThreads, Merge::kLaunchBlocks)
    MultiwayMergeKernel(const __grid_constant__ typename Merge::Pass pass) {
  extern __shared__ __align__(128) char multiway_memory[];
  Merge::Tile(pass, multiway_memory);
}

template <MergeForm kForm, int kItems, int kThreads, int kBlocks, typename Runs, typename Order>
cudaError_t MultiwayMerge<kForm, kItems, kThreads, kBlocks, Runs, Order>::Run(const Pass& pass, cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(
      LaunchMultiwayPartition(pass.runs, pass.cut, RunRank<Order>{pass.order, pass.encode}, pass.splits, stream));
  const auto kernel = MultiwayMergeKernel<MultiwayMerge>;
  // The limit for any payload: threads share the attribute, and none may lower it before another one's launch.
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostSharedBytes));
  kernel<<<static_cast<unsigned>(pass.cut.tiles), kThreads, SharedBytes(pass.payload_bytes), stream>>>(pass);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_MERGE_CUH_
