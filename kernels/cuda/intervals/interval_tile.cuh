// One pass over the counts, for intervals at any place: a block scans a tile of intervals, learns the sum before them
// if it needs that, and finds the interval of each unit of work.
//
// Algorithm: (1) A block sums the counts of its tile. If the operator needs the sum of all earlier counts, one warp
//            looks back over the earlier tiles (look_back.cuh). (2) Each non-empty interval sets one bit, at its first
//            unit, in a bitmap of a window of units. The interval of a unit is then the number of bits up to it: a
//            population count plus the bits in earlier words. (3) The operator processes the units of the window,
//            adjacent units by adjacent threads. A second launch takes the tiles with more units than one block should
//            process. Its blocks share the windows of all these tiles equally, so that a giant interval takes no longer
//            than its bytes require. Empty intervals set no bit.
// Work: O(n + units).
// Memory: one read of the counts, and one more by every block that shares a tile of the second launch.
// Workspace: 8 bytes (look-back) and 32 bytes (list for the second launch) for each tile.
// Source: S. Baxter, moderngpu, "Load-Balancing Search", 2013; look_back.cuh.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TILE_CUH_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TILE_CUH_

#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <type_traits>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/interval_units.h"

namespace corank::cuda {

/// The division of the intervals. A kernel argument.
struct IntervalPlan {
  const int64_t* counts;
  int64_t count;
  int tile;  // intervals in each tile
  int64_t tiles;
  int64_t blocks;     // of the first launch: one for each tile, or fewer with Op::kFewBlocks
  TileSum* d_sums;    // zero before, `tiles` elements; only for operators that need sums
  LeftCount* d_left;  // zero before the launch
  LeftTile* d_left_tiles;
};

/// The state of a block while it works on one tile.
struct TileShared {
  template <typename Count>
  using Scan = cub::BlockScan<Count, IntervalTuning::kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  using Sum = cub::BlockReduce<int64_t, IntervalTuning::kThreads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  union {
    typename Scan<int>::TempStorage scan;
    typename Scan<int64_t>::TempStorage wide_scan;
    typename Sum::TempStorage sum;
  };
  alignas(16) uint32_t heads[IntervalTuning::kWindow / 32];         // a bit at the start of each interval
  alignas(16) uint16_t heads_before[IntervalTuning::kWindow / 32];  // bits in all earlier words
  int64_t base;
  int64_t exact;

  __device__ int Exclusive(int value, int& before) {
    int total = 0;
    Scan<int>(scan).ExclusiveSum(value, before, total);
    return total;
  }
  __device__ int64_t Exclusive(int64_t value, int64_t& before) {
    int64_t total = 0;
    Scan<int64_t>(wide_scan).ExclusiveSum(value, before, total);
    return total;
  }
};

/// A thread's part of a tile. Count is int if the tile is small enough for one block. It then caps counts at
/// kMostUnits, so that their sum shows that the tile is not small.
template <typename Count, typename Tuning>
struct TileItems {
  static constexpr int kItems = Tuning::kItems;
  static constexpr int kMostUnits = (1 << 30) / Tuning::kTile;  // the sum of a tile of such counts is an int
  static_assert(kMostUnits > Tuning::kOwnUnits, "and shows that the tile has too many");

  Count start[kItems];  // first unit, counted from the start of the tile
  Count units[kItems];
  int64_t exact = 0;  // sum of the thread's units
  Count total;        // of the whole tile

  __device__ __forceinline__ void Set(int i, int64_t exact_units) {
    exact += exact_units;
    units[i] = sizeof(Count) == sizeof(int64_t) ? static_cast<Count>(exact_units)
                                                : static_cast<Count>(min(exact_units, int64_t{kMostUnits}));
  }
  /// The whole block calls it. Contains a barrier after all reads of shared memory that precede the call.
  __device__ __forceinline__ void Scan(TileShared& shared) {
    Count sum = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      start[i] = sum;
      sum += units[i];
    }
    Count before = 0;
    total = shared.Exclusive(sum, before);
#pragma unroll
    for (int i = 0; i < kItems; ++i) start[i] += before;
  }
};

/// The sum of the tile's units, even if items.total is capped. The whole block calls it, after items.Scan.
template <typename Tuning>
__device__ __forceinline__ int64_t ExactTotal(const TileItems<int, Tuning>& items, TileShared& shared) {
  __syncthreads();
  const int64_t sum = TileShared::Sum(shared.sum).Sum(items.exact);
  if (threadIdx.x == 0) shared.exact = sum;
  __syncthreads();
  return shared.exact;
}

/// Publishes the sum of the tile and returns the sum of all earlier tiles. The whole block calls it; ends with a
/// barrier.
__device__ __forceinline__ int64_t SumBefore(const IntervalPlan& plan, int64_t tile, int64_t sum, TileShared& shared) {
  if (threadIdx.x < 32) {  // one warp: more would only add instructions
    const int64_t before = LookBack(plan.d_sums, tile, sum);
    if (threadIdx.x == 0) shared.base = before;
  }
  __syncthreads();
  return shared.base;
}

/// The slot of a position of the window: 0 for the interval that began before the window, then the others in order.
__device__ __forceinline__ int SlotAt(const TileShared& shared, int position) {
  return shared.heads_before[position / 32] + HeadsUpTo(shared.heads[position / 32], position % 32);
}

/// Sets up the window of the units from `begin` on, and calls place(slot, item, position of its start in the window)
/// for each interval of the thread with units in it. The heads are zero before. The whole block calls it; ends with a
/// barrier.
template <typename Count, typename Tuning, typename Place>
__device__ __forceinline__ void OpenWindow(const TileItems<Count, Tuning>& items, Count begin, TileShared& shared,
                                           Place place) {
  constexpr int kItems = Tuning::kItems;
  constexpr Count kWindow = IntervalTuning::kWindow;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const Count position = items.start[i] - begin;
    if (items.units[i] > 0 && position >= 0 && position < kWindow) {
      atomicOr(shared.heads + static_cast<int>(position) / 32, 1u << (static_cast<int>(position) % 32));
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) {  // one warp, 8 words for each lane: cheaper than a scan by the block
    const auto* const words = reinterpret_cast<const uint4*>(shared.heads) + 2 * threadIdx.x;
    const uint4 low = words[0], high = words[1];
    const uint32_t heads[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    int sums[8];
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sums[i] = sum;
      sum += __popc(heads[i]);
    }
    int before = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xFFFFFFFFu, before, step);
      if (static_cast<int>(threadIdx.x) >= step) before += other;
    }
    before -= sum;
    uint4 packed;
    packed.x = static_cast<uint32_t>((before + sums[0]) | (before + sums[1]) << 16);
    packed.y = static_cast<uint32_t>((before + sums[2]) | (before + sums[3]) << 16);
    packed.z = static_cast<uint32_t>((before + sums[4]) | (before + sums[5]) << 16);
    packed.w = static_cast<uint32_t>((before + sums[6]) | (before + sums[7]) << 16);
    reinterpret_cast<uint4*>(shared.heads_before)[threadIdx.x] = packed;
  }
  __syncthreads();
  const int first = static_cast<int>(min(max(items.start[0] - begin, Count{0}), kWindow - 1));
  int slot = shared.heads_before[first / 32] + HeadsBefore(shared.heads[first / 32], first % 32);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const Count position = items.start[i] - begin;
    const bool starts = items.units[i] > 0 && position >= 0 && position < kWindow;
    const bool reaches = position < 0 && position + items.units[i] > 0;
    slot += starts ? 1 : 0;
    if (starts || reaches) place(reaches ? 0 : slot, i, position);
  }
  __syncthreads();
}

/// A thread's part of the n numbers of a tile, followed by zeros.
template <int kItems>
__device__ __forceinline__ void LoadItems(const int64_t* tile, int n, int64_t (&items)[kItems]) {
  LoadPairs(tile, static_cast<int>(threadIdx.x) * kItems, n, items);
}

/// Processes one tile for each block. With Op::kFewBlocks: also every plan.blocks-th tile after it. With kRest: an
/// equal share of the remaining windows.
///
/// Op has these members:
/// - Tuning, kFewBlocks.
/// - Adjust(plan): may replace the intervals by fewer ones.
/// - Shared: has a member `tile` of type TileShared.
/// - Registers: the state of a thread.
/// - Load(plan, first, n, base_of, items, shared): sets the units of the items, scans them, and returns Registers. May
///   call base_of(sum of counts) for the sum of all counts before the tile.
/// - Place(shared, registers, slot, item, position).
/// - Process(shared, count): processes the first `count` units of the window.
template <typename Op, bool kRest>
__global__ void __launch_bounds__(IntervalTuning::kThreads, Op::Tuning::kBlocks)
    IntervalKernel(Op op, IntervalPlan plan) {
  using Tuning = typename Op::Tuning;
  using Count = std::conditional_t<kRest, int64_t, int>;
  constexpr Count kWindow = IntervalTuning::kWindow;
  __shared__ typename Op::Shared shared;
  const int thread = static_cast<int>(threadIdx.x);
  op.Adjust(plan);
  int64_t tile = blockIdx.x;
  int64_t next = 0, last = 0, left_tiles = 0;
  if constexpr (kRest) {
    const LeftCount left = *plan.d_left;
    left_tiles = LeftTiles(left);
    next = LeftWindows(left) * blockIdx.x / gridDim.x;
    last = LeftWindows(left) * (blockIdx.x + 1) / gridDim.x;
    if (next == last) return;
  } else if (tile >= plan.tiles) {
    return;
  }
  const auto is_another = [&] {
    if constexpr (kRest) return next < last;
    if constexpr (!Op::kFewBlocks) return false;
    tile += plan.blocks;
    if (tile >= plan.tiles) return false;
    __syncthreads();
    shared.tile.heads[thread] = 0;
    return true;
  };
  shared.tile.heads[thread] = 0;
  do {
    int64_t base = 0;
    Count begin = 0, end = 0;
    if constexpr (kRest) {
      const LeftTile found = plan.d_left_tiles[TileOfWindow(plan.d_left_tiles, left_tiles, next)];
      tile = found.tile;
      base = found.base;
      begin = (next - found.first_window) * kWindow;
      end = min(last - found.first_window, found.windows) * kWindow;
      next = found.first_window + end / kWindow;
    }
    const int64_t first = tile * plan.tile;
    const int n = static_cast<int>(min(int64_t{plan.tile}, plan.count - first));
    TileItems<Count, Tuning> items;
    const auto base_of = [&](int64_t sum) {
      if constexpr (!kRest) base = SumBefore(plan, tile, sum, shared.tile);
      return base;
    };
    const typename Op::Registers registers = op.Load(plan, first, n, base_of, items, shared);
    if constexpr (!kRest) {
      if (items.total > Tuning::kOwnUnits) {
        const int64_t units = ExactTotal(items, shared.tile);
        if (thread == 0) {
          const int64_t windows = CeilDiv(units, kWindow);
          const LeftCount before = atomicAdd(plan.d_left, PackLeft(1, windows));
          plan.d_left_tiles[LeftTiles(before)] = {tile, base, LeftWindows(before), windows};
        }
        continue;
      }
      end = items.total;
    }
    end = min(end, items.total);
    while (begin < end) {
      OpenWindow(items, begin, shared.tile,
                 [&](int slot, int i, Count position) { op.Place(shared, registers, slot, i, position); });
      op.Process(shared, static_cast<int>(min(kWindow, items.total - begin)));
      begin += kWindow;
      if (!kRest && begin >= end) break;
      __syncthreads();
      shared.tile.heads[thread] = 0;
      __syncthreads();
    }
  } while (is_another());
}

/// Carves the plan from a workspace. `units`: the approximate number of units in total.
template <typename Tuning>
IntervalPlan MakePlan(const int64_t* counts, int64_t count, int64_t units, Workspace& workspace) {
  IntervalPlan plan{};
  plan.counts = counts;
  plan.count = count;
  plan.tile = TileIntervals<Tuning>(count, units);
  plan.tiles = plan.blocks = CeilDiv(count, plan.tile);
  plan.d_left = workspace.Carve<LeftCount>(1 + plan.tiles);
  plan.d_sums = plan.d_left == nullptr ? nullptr : plan.d_left + 1;
  plan.d_left_tiles = workspace.Carve<LeftTile>(plan.tiles);
  return plan;
}

/// Enqueues both launches. `most_units`: the largest number of units in a tile.
template <typename Op>
cudaError_t RunIntervals(const Op& op, const IntervalPlan& plan, bool needs_sums, int64_t most_units,
                         cudaStream_t stream) {
  using Tuning = typename Op::Tuning;
  const size_t zeros = sizeof(LeftCount) * static_cast<size_t>(1 + (needs_sums ? plan.tiles : 0));
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.d_left, 0, zeros, stream));
  IntervalKernel<Op, false><<<static_cast<unsigned>(plan.blocks), IntervalTuning::kThreads, 0, stream>>>(op, plan);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  if (most_units <= Tuning::kOwnUnits) return cudaSuccess;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>(CeilDiv(most_units, IntervalTuning::kWindow), Tuning::kRestBlocks));
  IntervalKernel<Op, true><<<blocks, IntervalTuning::kThreads, 0, stream>>>(op, plan);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_TILE_CUH_
