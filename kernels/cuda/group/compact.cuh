// Stable compaction: calls a function for each position that qualifies, with the number of earlier ones.
//
// Algorithm: a warp takes rows of 32 positions and votes; the votes are the bits of the positions. A block adds up the
//            votes of its tile and learns those of earlier tiles by decoupled look-back.
// Work: O(count). Memory: what the operation reads and writes, one bit for each position, 8 bytes for each tile.
// Workspace: a TileSum for each tile, zero before the launch; the bits and the numbers of run tiles if wanted.
// Source: M. Billeter, O. Olsson, U. Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures",
// 2009; for the look-back see look_back.cuh.
#ifndef CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_
#define CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/group/group_tuning.h"

namespace corank::cuda {

constexpr int64_t CompactTiles(int64_t count, int key_bytes) { return CeilDiv(count, int64_t{CompactTile(key_bytes)}); }
constexpr int64_t RunTiles(int64_t count) { return CeilDiv(count, int64_t{GroupTuning::kRunTile}); }

/// The positions that qualify, for kernels that read them later. Null: not wanted.
struct KeptBits {
  uint32_t* bits = nullptr;   // of each position, for whole tiles
  int64_t* before = nullptr;  // how many qualify before each run tile, and in all: one more than the tiles have
};

/// How many positions qualify before a tile. Valid after the launch, for tiles 0 to CompactTiles(count).
__device__ __forceinline__ int64_t KeptBefore(const TileSum* sums, int64_t tile) {
  return tile == 0 ? 0 : static_cast<int64_t>(sums[tile - 1] & kSumMask);
}

/// The lanes before this one.
__device__ __forceinline__ uint32_t LanesBefore() { return (1u << (threadIdx.x % 32)) - 1; }

/// Op has these members:
/// - kKeyBytes: the size of a key. Rows: the state of a thread for its positions, one in each row.
/// - Load(first, left, rows): loads positions first, first + 32 and so on, below first + left. `first` is that of this
///   lane; left >= 0. A whole warp calls it.
/// - Keeps(first, left, rows, i): whether position first + 32 i qualifies. A whole warp calls it; its result does not
///   count from first + left on.
/// - Shared: memory of the block.
/// - Keep(rows, i, position, slot, tile_slot, shared): called for each position that qualifies. slot: how many do
///   before it. tile_slot: the same in the tile.
/// - FinishTile(tile, before, kept, shared): called by the whole block at its end. before: how many positions of
///   earlier tiles qualify. kept: how many of this one do.
template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kThreads, GroupTuning::kCompactBlocks)
    CompactKernel(Op op, int64_t count, TileSum* sums, KeptBits kept_bits) {
  using Tuning = CompactTuning<Op::kKeyBytes>;
  constexpr int kWarps = GroupTuning::kWarps;
  __shared__ int s_kept[kWarps];
  __shared__ int64_t s_before;
  __shared__ typename Op::Shared s_op;
  const int64_t tile = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t first = tile * Tuning::kTile + warp * (32 * Tuning::kItems) + lane;

  typename Op::Rows rows;
  const int left = static_cast<int>(max(int64_t{0}, min(count - first, int64_t{Tuning::kTile})));
  op.Load(first, left, rows);
  uint32_t votes = 0;  // of row `lane`
  int kept = 0;
#pragma unroll
  for (int i = 0; i < Tuning::kItems; ++i) {
    const bool keeps = op.Keeps(first, left, rows, i);
    const uint32_t row = __ballot_sync(~0u, keeps && 32 * i < left);
    if (lane == i) votes = row;
    kept += __popc(row);
  }
  if (lane == 0) s_kept[warp] = kept;
  if (kept_bits.bits != nullptr && lane < Tuning::kItems) kept_bits.bits[(first - lane) / 32 + lane] = votes;
  __syncthreads();
  int before_warp = 0, total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i == warp) before_warp = total;
    total += s_kept[i];
  }
  if (warp == 0) {
    const int64_t before = LookBack(sums, tile, total);
    if (lane == 0) s_before = before;
  }
  __syncthreads();

  const int64_t before = s_before;
  if (kept_bits.before != nullptr && lane == 0) {
    constexpr int kRunTilesOfTile = Tuning::kTile / GroupTuning::kRunTile, kWarpsOfRunTile = kWarps / kRunTilesOfTile;
    int64_t* const runs_before = kept_bits.before + tile * kRunTilesOfTile;
    if (warp % kWarpsOfRunTile == 0) runs_before[warp / kWarpsOfRunTile] = before + before_warp;
    if (warp == 0 && tile + 1 == gridDim.x) runs_before[kRunTilesOfTile] = before + total;
  }
  int slot = before_warp;
#pragma unroll
  for (int i = 0; i < Tuning::kItems; ++i) {
    const uint32_t row = __shfl_sync(~0u, votes, i);
    if ((row >> lane & 1) != 0) {
      const int tile_slot = slot + __popc(row & LanesBefore());
      op.Keep(rows, i, first + 32 * i, before + tile_slot, tile_slot, s_op);
    }
    slot += __popc(row);
  }
  op.FinishTile(tile, before, total, s_op);
}

/// Enqueues the compaction of `count` > 0 positions. `d_sums` is zero.
template <typename Op>
cudaError_t Compact(const Op& op, int64_t count, TileSum* d_sums, const KeptBits& kept_bits, cudaStream_t stream) {
  const int64_t tiles = CompactTiles(count, Op::kKeyBytes);
  CompactKernel<<<static_cast<unsigned>(tiles), GroupTuning::kThreads, 0, stream>>>(op, count, d_sums, kept_bits);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_
