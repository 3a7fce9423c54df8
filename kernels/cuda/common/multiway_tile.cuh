// Merges many short sorted pieces within a block: the tile of a k-way merge.
//
// Algorithm: the pieces lie one after the other in shared memory. On each of log2(k) levels, adjacent ranges of pieces
//            are merged in pairs. The pairs are divided into chunks of kItems outputs, one for each thread, counted
//            from the start of each pair. So no thread works on two pairs, and at most one thread of a pair has fewer
//            outputs. A thread finds its split by merge path and merges into registers.
// Work: O(tile log k), and one binary search for each thread and level.
// Stability: among equal ranks, the earlier piece comes first.
// Source: S. Odeh, O. Green et al., "Merge Path", 2012.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_TILE_CUH_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_TILE_CUH_

#include <cstdint>

#include "kernels/cuda/common/multiway_levels.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/tile_merge.cuh"

namespace corank::cuda {

/// Fills table.slot_start from table.start. Warp `level` of the block fills the row of that level.
template <int kItems>
__device__ __forceinline__ void FillSlots(PieceTable& table, int ways) {
  const int level = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (level >= kMaxLevels) return;
  const int keys = table.Start((lane + 1) << (level + 1), ways) - table.Start(lane << (level + 1), ways);
  int slots = (keys + kItems - 1) / kItems;
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(~0u, slots, step);
    if (lane >= step) slots += before;
  }
  if (lane == 0) table.slot_start[level][0] = 0;
  if (lane < kMaxWays / 2) table.slot_start[level][lane + 1] = slots;
}

/// Puts kLastElement after each range of `level`, and in place of a missing range at the end of the last pair.
template <typename Element>
__device__ __forceinline__ void CloseRanges(const PieceTable& table, int ways, int level, Element* tile) {
  const int range = static_cast<int>(threadIdx.x);
  if (range >= 2 * LevelPairs(ways, level)) return;
  const int end = table.Start((range + 1) << level, ways);
  if (level > 0) {
    tile[end + range] = kLastElement<Element>;
  } else if (range < ways) {
    tile[table.load_slot[range] + end - table.start[range]] = kLastElement<Element>;
  } else {
    tile[table.load_slot[ways - 1] + end - table.start[ways - 1] + 1] = kLastElement<Element>;
  }
}

/// As CloseRanges for level 0. Returns whether this thread has a piece that ends with an element of is_last.
template <typename Element, typename IsLast>
__device__ __forceinline__ bool ClosePieces(const PieceTable& table, int ways, Element* tile, IsLast is_last) {
  CloseRanges(table, ways, 0, tile);
  const int piece = static_cast<int>(threadIdx.x);
  if (piece >= ways || table.start[piece + 1] == table.start[piece]) return false;
  const int last = table.load_slot[piece] + table.start[piece + 1] - table.start[piece] - 1;
  return is_last(tile[last]);
}

/// Calls visit(piece, begin, end) for each piece and the part [begin, end) of its load units (by table.load_start) that
/// this thread's warp loads. begin is the first unit of this lane; the others follow in steps of 32. Every warp gets an
/// equal share, whatever the lengths of the pieces. `starts`: table.start or table.load_start.
template <int kThreads, typename Visit>
__device__ __forceinline__ void ForEachPiece(const int* starts, int ways, Visit visit) {
  constexpr int kWarps = kThreads / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int total = starts[ways];
  const int share = (total + 32 * kWarps - 1) / (32 * kWarps) * 32;
  int position = warp * share;
  const int end = min(position + share, total);
  if (position >= end) return;
  int piece = __popc(__ballot_sync(~0u, lane < ways && starts[min(lane + 1, ways)] <= position));
  while (position < end) {
    const int stop = min(end, starts[piece + 1]);
    visit(piece, position + lane, stop);
    position = stop;
    ++piece;
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_TILE_CUH_
