// Stable compaction: calls a function for each position that qualifies, with the number of earlier ones.
//
// Algorithm: a warp takes rows of 32 positions and votes; the votes are the bits of the positions. A block adds up the
//            votes of its tile and learns those of earlier tiles by decoupled look-back.
// Work: O(count). Memory: what the operation reads and writes, one bit for each position, 8 bytes for each tile.
// Workspace: CompactTiles(count) words of TileSum, zero before the launch, and the bits if wanted.
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

constexpr int64_t CompactTiles(int64_t count) { return CeilDiv(count, int64_t{GroupTuning::kTile}); }
constexpr int64_t CompactWords(int64_t count) { return CompactTiles(count) * (GroupTuning::kTile / 32); }

/// How many positions qualify before a tile. Valid after the launch, for tiles 0 to CompactTiles(count).
__device__ __forceinline__ int64_t KeptBefore(const TileSum* sums, int64_t tile) {
  return tile == 0 ? 0 : static_cast<int64_t>(sums[tile - 1] & kSumMask);
}

/// The lanes before this one.
__device__ __forceinline__ uint32_t LanesBefore() { return (1u << (threadIdx.x % 32)) - 1; }

/// Op has these members:
/// - Rows: the state of a thread for its kItems positions, one in each row.
/// - Load(first, count, rows): loads positions first, first + 32 and so on that are below count. `first` is that of
///   this lane. A whole warp calls it.
/// - Keeps(rows, i, position): whether the position of row i qualifies. A whole warp calls it; its result does not
/// count
///   for positions from `count` on.
/// - Keep(rows, i, position, slot): called for each position that qualifies, with the number of those before it.
template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kThreads)
    CompactKernel(Op op, int64_t count, TileSum* sums, uint32_t* bits) {
  using Tuning = GroupTuning;
  __shared__ int s_kept[Tuning::kWarps];
  __shared__ int64_t s_before;
  const int64_t tile = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t first = tile * Tuning::kTile + warp * (32 * Tuning::kItems) + lane;

  typename Op::Rows rows;
  op.Load(first, count, rows);
  uint32_t votes[Tuning::kItems];
  int kept = 0;
#pragma unroll
  for (int i = 0; i < Tuning::kItems; ++i) {
    const int64_t position = first + 32 * i;
    const bool keeps = op.Keeps(rows, i, position);
    votes[i] = __ballot_sync(~0u, keeps && position < count);
    kept += __popc(votes[i]);
  }
  if (lane == 0) s_kept[warp] = kept;
  __syncthreads();
  if (warp == 0) {
    int total = 0;
#pragma unroll
    for (int i = 0; i < Tuning::kWarps; ++i) total += s_kept[i];
    const int64_t before = LookBack(sums, tile, total);
    if (lane == 0) s_before = before;
  }
  __syncthreads();

  int64_t slot = s_before;
  for (int i = 0; i < warp; ++i) slot += s_kept[i];
#pragma unroll
  for (int i = 0; i < Tuning::kItems; ++i) {
    if ((votes[i] >> lane & 1) != 0) op.Keep(rows, i, first + 32 * i, slot + __popc(votes[i] & LanesBefore()));
    if (bits != nullptr && lane == i) bits[(first - lane) / 32 + i] = votes[i];
    slot += __popc(votes[i]);
  }
}

/// Enqueues the compaction of `count` > 0 positions. `bits`: null, or CompactWords(count) words.
template <typename Op>
cudaError_t Compact(const Op& op, int64_t count, TileSum* d_sums, uint32_t* d_bits, cudaStream_t stream) {
  const int64_t tiles = CompactTiles(count);
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_sums, 0, static_cast<size_t>(tiles) * sizeof(TileSum), stream));
  CompactKernel<<<static_cast<unsigned>(tiles), GroupTuning::kThreads, 0, stream>>>(op, count, d_sums, d_bits);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_COMPACT_CUH_
