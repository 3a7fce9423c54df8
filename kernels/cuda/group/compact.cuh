// Stable compaction: hands the positions that qualify to a function, tile by tile, with the number of earlier ones.
//
// Algorithm: a warp takes rows of 32 positions and votes; the votes are the bits of the positions. A block adds up the
//            votes of its tile, notes the places that qualify, and asks for the number of earlier ones only after it
//            has voted on its next tile (earlier_tiles.cuh). The loads of the tile after that run meanwhile.
// Work: O(count). Memory: what the operation reads and writes, one bit for each position, 12 bytes for each tile.
// Workspace: CompactWork; the bits and the numbers of run tiles if wanted.
// Source: M. Billeter, O. Olsson, U. Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures",
// 2009; earlier_tiles.cuh names its own.
#ifndef CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_
#define CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/earlier_tiles.cuh"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/group/group_tuning.h"

namespace corank::cuda {

constexpr int64_t CompactTiles(int64_t count, int key_bytes) { return CeilDiv(count, int64_t{CompactTile(key_bytes)}); }
constexpr int64_t RunTiles(int64_t count) { return CeilDiv(count, int64_t{GroupTuning::kRunTile}); }

/// What a compaction needs and leaves.
struct CompactWork {
  TileWord* words = nullptr;  // TileWords(tiles), zero before the launch
  int64_t* before = nullptr;  // how many positions qualify before each tile, and in all: one more than the tiles
};

/// The positions that qualify, for kernels that read them later. Null: not wanted.
struct KeptBits {
  uint32_t* bits = nullptr;   // of each position, for whole tiles
  int64_t* before = nullptr;  // how many qualify before each run tile, and in all: one more than the tiles have
};

/// The lanes before this one.
__device__ __forceinline__ uint32_t LanesBefore() { return (1u << (threadIdx.x % 32)) - 1; }

/// The positions of a tile that qualify, and on request the others.
template <typename Staged>
struct KeptTile {
  int64_t tile;            // its number
  int64_t first;           // its first position
  int64_t before;          // how many positions of earlier tiles qualify
  int count;               // how many of this one do
  int others;              // how many do not
  const uint16_t* places;  // of those that do, and then of the others, from `first` on; in shared memory
  const Staged* staged;    // what Op::Stage returned for each, in shared memory
};

/// For operations that stage nothing.
struct NothingStaged {};

/// The defaults of operations.
struct CompactOp {
  using Staged = NothingStaged;
  __device__ __forceinline__ bool KeepsOthers() const { return false; }
  template <typename Rows>
  __device__ __forceinline__ void Check(int64_t, int, const Rows&) const {}
};

/// The elements first[0], first[32] and so on that lie below `left`; otherwise `beyond`.
template <int kItems, typename T>
__device__ __forceinline__ void LoadRows(const T* first, int left, T beyond, T (&rows)[kItems]) {
  if (left > 32 * (kItems - 1)) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) rows[i] = first[32 * i];
  } else {
#pragma unroll
    for (int i = 0; i < kItems; ++i) rows[i] = 32 * i < left ? first[32 * i] : beyond;
  }
}

/// Two buffers take turns: one holds a tile that is to be written, the other the one that is voted on.
template <typename Op>
struct CompactBuffers {
  static constexpr bool kStages = !std::is_same_v<typename Op::Staged, NothingStaged>;
  static constexpr int kTile = CompactTuning<Op::kKeyBytes>::kTile;
  typename Op::Staged staged[2][kStages ? kTile : 1];
  uint16_t places[2][kTile];
};

/// Op derives from CompactOp and has these members:
/// - kKeyBytes: the size of a key. Rows: the state of a thread for its positions, one in each row.
/// - Load(first, left, rows): loads positions first, first + 32 and so on, below first + left. `first` is that of this
///   lane; left >= 0. A whole warp calls it.
/// - Keeps(first, rows, i): whether position first + 32 i qualifies. A whole warp calls it for each i in order; its
///   result does not count from first + left on.
/// - Check(first, left, rows): looks at the rows once more. A whole warp calls it after Keeps.
/// - KeepsOthers(): whether Write needs the positions that do not qualify. The same for all threads.
/// - Staged: what the block keeps of a position until it writes the tile, or NothingStaged. Stage(rows, i): its value,
///   unless that is NothingStaged.
/// - Write(kept): called by the whole block for each tile, later, when Load has been called for others.
template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kCompactThreads, GroupTuning::kCompactBlocks)
    CompactKernel(const __grid_constant__ Op op, int64_t count, CompactWork work, KeptBits kept_bits) {
  using Tuning = CompactTuning<Op::kKeyBytes>;
  using Buffers = CompactBuffers<Op>;
  constexpr int kWarps = GroupTuning::kCompactThreads / 32;
  static_assert(Tuning::kTile <= 1 << 16, "places of 16 bits");
  extern __shared__ __align__(16) unsigned char s_memory[];
  auto& s_buffers = *reinterpret_cast<Buffers*>(s_memory);
  __shared__ int s_kept[2][kWarps];
  __shared__ uint32_t s_taken[2];
  __shared__ uint32_t s_sums[kWarps];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int64_t tiles = CeilDiv(count, int64_t{Tuning::kTile});
  const int place = warp * (32 * Tuning::kItems) + lane;  // of the thread's first position in a tile
  const auto left_from = [&](int64_t first) {
    return static_cast<int>(max(int64_t{0}, min(count - first, int64_t{Tuning::kTile})));
  };
  EarlierTiles earlier(work.words);
  if (thread == 0) s_taken[1] = earlier.Take();
  __syncthreads();
  int64_t tile = s_taken[1];
  typename Op::Rows rows;
  const auto load_next = [&](int64_t next) {
    const int64_t first = next * Tuning::kTile + place;
    if (next < tiles) op.Load(first, left_from(first), rows);
  };
  load_next(tile);

  int64_t late = -1;  // a tile that is voted on, and not written yet
  int late_count = 0, late_before_warp = 0;
  // The two places of shared memory take turns: a thread may be one barrier ahead of another.
  for (int turn = 0;; turn ^= 1) {
    const bool has_tile = tile < tiles;
    const int64_t first = tile * Tuning::kTile + place;
    uint32_t votes = 0;  // of row `lane`
    if (has_tile) {
      uint32_t taken = 0;
      if (thread == 0) taken = earlier.Take();
      const int left = left_from(first);
      int kept = 0;
      const auto vote = [&](auto is_whole) {
#pragma unroll
        for (int i = 0; i < Tuning::kItems; ++i) {
          const bool keeps = op.Keeps(first, rows, i) && (decltype(is_whole)::value || 32 * i < left);
          const uint32_t row = __ballot_sync(kAllLanes, keeps);
          if (lane == i) votes = row;
          kept += __popc(row);
        }
      };
      if ((tile + 1) * Tuning::kTile <= count) {
        vote(std::true_type());
      } else {
        vote(std::false_type());
      }
      op.Check(first, left, rows);
      if (lane == 0) s_kept[turn][warp] = kept;
      if (thread == 0) s_taken[turn] = taken;
      if (kept_bits.bits != nullptr && lane < Tuning::kItems) kept_bits.bits[(first - lane) / 32 + lane] = votes;
    }
    __syncthreads();

    int before_warp = 0, total = 0;
    int64_t next = tiles;
    if (has_tile) {
      const int own = lane < kWarps ? s_kept[turn][lane] : 0;
      before_warp = __reduce_add_sync(kAllLanes, lane < warp ? own : 0);
      total = __reduce_add_sync(kAllLanes, own);
      if (thread == 0) earlier.Publish(tile, static_cast<uint32_t>(total));
      next = s_taken[turn];
      int slot = before_warp;
      const int left = left_from(first);
      const bool keeps_others = op.KeepsOthers();
#pragma unroll
      for (int i = 0; i < Tuning::kItems; ++i) {
        const uint32_t row = __shfl_sync(kAllLanes, votes, i);
        const bool keeps = (row >> lane & 1) != 0;
        if (keeps || (keeps_others && 32 * i < left)) {
          const int before = slot + __popc(row & LanesBefore());
          const int at = keeps ? before : total + place + 32 * i - before;
          s_buffers.places[turn][at] = static_cast<uint16_t>(place + 32 * i);
          if constexpr (Buffers::kStages) s_buffers.staged[turn][at] = op.Stage(rows, i);
        }
        slot += __popc(row);
      }
      load_next(next);
    }
    if (late >= 0) {
      const int64_t before = earlier.Before(late, s_sums);
      const bool is_last = late + 1 == tiles;
      if (thread == 0) {
        work.before[late] = before;
        if (is_last) work.before[tiles] = before + late_count;
      }
      if (kept_bits.before != nullptr && lane == 0) {
        constexpr int kWarpsOfRunTile = kWarps / Tuning::kRunTiles;
        int64_t* const runs_before = kept_bits.before + late * Tuning::kRunTiles;
        if (warp % kWarpsOfRunTile == 0) runs_before[warp / kWarpsOfRunTile] = before + late_before_warp;
        if (warp == 0 && is_last) runs_before[Tuning::kRunTiles] = before + late_count;
      }
      const int64_t late_first = late * Tuning::kTile;
      const int others = static_cast<int>(min(count - late_first, int64_t{Tuning::kTile})) - late_count;
      op.Write(KeptTile<typename Op::Staged>{late, late_first, before, late_count, others, s_buffers.places[turn ^ 1],
                                             s_buffers.staged[turn ^ 1]});
    }
    if (!has_tile) return;
    late = tile;
    late_count = total;
    late_before_warp = before_warp;
    tile = next;
  }
}

/// Adds to *total how many positions qualify.
template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kCompactThreads)
    CountKernel(const __grid_constant__ Op op, int64_t count, unsigned long long* total) {
  using Tuning = CompactTuning<Op::kKeyBytes>;
  __shared__ int64_t s_kept[GroupTuning::kCompactThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  int64_t kept = 0;
  for (int64_t begin = blockIdx.x * int64_t{Tuning::kTile}; begin < count;
       begin += gridDim.x * int64_t{Tuning::kTile}) {
    const int64_t first = begin + warp * (32 * Tuning::kItems) + lane;
    const int left = static_cast<int>(max(int64_t{0}, min(count - first, int64_t{Tuning::kTile})));
    typename Op::Rows rows;
    op.Load(first, left, rows);
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) kept += op.Keeps(first, rows, i) && 32 * i < left ? 1 : 0;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) kept += __shfl_xor_sync(kAllLanes, kept, step);
  if (lane == 0) s_kept[warp] = kept;
  __syncthreads();
  if (thread != 0) return;
  kept = 0;
  for (const int64_t of_warp : s_kept) kept += of_warp;
  atomicAdd(total, static_cast<unsigned long long>(kept));
}

/// The blocks that run at a time, or fewer if there are fewer tiles.
template <typename Op>
cudaError_t CompactBlocks(int64_t count, unsigned* blocks) {
  DeviceTraits traits;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&traits));
  *blocks = static_cast<unsigned>(
      std::min(CompactTiles(count, Op::kKeyBytes), int64_t{traits.multiprocessors} * GroupTuning::kCompactBlocks));
  return cudaSuccess;
}

/// Enqueues a count of the positions that qualify, of `count` > 0. *d_total is 0.
template <typename Op>
cudaError_t CountKept(const Op& op, int64_t count, int64_t* d_total, cudaStream_t stream) {
  unsigned blocks = 0;
  CORANK_RETURN_IF_CUDA_ERROR(CompactBlocks<Op>(count, &blocks));
  CountKernel<<<blocks, GroupTuning::kCompactThreads, 0, stream>>>(op, count,
                                                                   reinterpret_cast<unsigned long long*>(d_total));
  return cudaGetLastError();
}

/// Enqueues the compaction of `count` > 0 positions.
template <typename Op>
cudaError_t Compact(const Op& op, int64_t count, const CompactWork& work, const KeptBits& kept_bits,
                    cudaStream_t stream) {
  const auto compact = CompactKernel<Op>;
  constexpr int kBytes = sizeof(CompactBuffers<Op>);
  CORANK_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(compact, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  unsigned blocks = 0;
  CORANK_RETURN_IF_CUDA_ERROR(CompactBlocks<Op>(count, &blocks));
  compact<<<blocks, GroupTuning::kCompactThreads, kBytes, stream>>>(op, count, work, kept_bits);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_
