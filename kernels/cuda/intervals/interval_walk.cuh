// Every unit of a result in its order, with the interval that it belongs to, for operators whose results lie one behind
// the other.
//
// Algorithm   (1) Each warp sums its share of the counts, group by group, notes what is before each group, and writes
//             the counts once more as bytes, which stand for them in groups where they fit; the blocks learn the sums
//             of all before them (look_back.cuh). (2) Tasks are equal pieces of a line on which
//             each group takes as many places as it has intervals, and behind them as many as they have units, so that
//             neither a giant nor millions of empty intervals make a task longer than others (the diagonals of a merge
//             path, group by group). A warp takes a task, alone. It finds the group where its piece starts; of each
//             group, a lane holds the counts of a few intervals; a scan tells where they start; each that is not empty
//             sets a bit in a bitmap of 1024 units and leaves what the operator needs of it in a slot. The slot of a
//             unit is then the number of bits up to it: a population count and a sum of those of the words before.
//             Nothing waits for another warp.
// Work        O(n + units)
// Passes      counts are read by (1), they or their bytes by (2), and again by tasks that share a group; results are
//             written once
// Workspace   a byte for each interval, 8 for each group of 64 to 256, and at most 73 KB more
// Source      S. Baxter, moderngpu, "Load-Balancing Search", 2013; O. Green, R. McColl, D. Bader, "GPU Merge Path - A
//             GPU Merging Algorithm", 2012
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_WALK_CUH_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_WALK_CUH_

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/interval_units.h"
#include "kernels/cuda/intervals/look_back.cuh"

namespace corank::cuda {

/// How the work is cut. A kernel argument.
struct WalkPlan {
  const int64_t* counts;  // of elements
  int64_t count;
  int64_t groups;
  int64_t share;   // groups whose counts a warp sums
  int64_t shares;  // all that have a group
  int64_t blocks;  // that sum
  int64_t tasks;
  unsigned units_per_element;
  TileSum* d_sums;           // zero before, a block each
  int64_t* d_bases;          // units before each share
  int64_t* d_groups;         // notes on groups
  uint8_t* d_byte_counts;    // the counts again, where those of a group all fit in bytes; elsewhere anything
  OperatorReport* d_report;  // or null
};

/// A note on a group: the units before it, from its share's first, above a bit that says whether its counts are in
/// d_byte_counts.
__device__ __forceinline__ int64_t MakeNote(int64_t before, bool fit_bytes) {
  return before << 1 | (fit_bytes ? 1 : 0);
}
__device__ __forceinline__ int64_t BeforeOf(int64_t note) { return note >> 1; }
__device__ __forceinline__ bool FitBytes(int64_t note) { return (note & 1) != 0; }

__device__ __forceinline__ int64_t SumOverLanes(int64_t own) {
  if (__all_sync(kAllLanes, own <= WalkTuning::kMostNarrow))
    return __reduce_add_sync(kAllLanes, static_cast<unsigned>(own));
  for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(kAllLanes, own, step);
  return own;
}

/// Inclusive.
template <typename Count>
__device__ __forceinline__ Count ScanOverLanes(Count own) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const Count other = __shfl_up_sync(kAllLanes, own, step);
    if (lane >= step) own += other;
  }
  return own;
}

/// (1) of the algorithm; a warp a share.
template <typename Tuning>
__global__ void __launch_bounds__(WalkTuning::kThreads, WalkTuning::kSumBlocksResident) WalkSumsKernel(WalkPlan plan) {
  constexpr int kWarps = WalkTuning::kThreads / 32;
  constexpr int kPairs = Tuning::kGroup / 64;          // of counts that a lane has of a group
  constexpr int kBatch = kPairs < 4 ? 4 / kPairs : 1;  // groups that a warp has in flight
  __shared__ int64_t totals[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t share = int64_t{blockIdx.x} * kWarps + warp;
  const int64_t last = min((share + 1) * plan.share, plan.groups);
  int64_t before = 0;
  for (int64_t group = share * plan.share; group < last; group += kBatch) {
    int64_t own[kBatch];
    bool fit_bytes[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      own[i] = 0;
      int64_t any = 0;
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        int64_t two[2] = {};
        const int64_t first = (group + i) * Tuning::kGroup + j * 64 + 2 * lane;
        if (group + i < last) {
          LoadPairs(plan.counts, first, plan.count, two);
          *reinterpret_cast<uint16_t*>(plan.d_byte_counts + first) = static_cast<uint16_t>(two[0] | two[1] << 8);
        }
        own[i] += two[0] + two[1];
        any |= two[0] | two[1];
      }
      fit_bytes[i] = (any & ~int64_t{0xFF}) == 0;
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const bool all_fit = __all_sync(kAllLanes, fit_bytes[i]);
      if (lane == 0 && group + i < last) plan.d_groups[group + i] = MakeNote(before, all_fit);
      before += SumOverLanes(own[i]) * plan.units_per_element;
    }
  }
  if (lane == 0) totals[warp] = before;
  if (plan.d_report != nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
    *plan.d_report = OperatorReport();  // a launch of its own would take 2 us
  }
  __syncthreads();
  if (warp > 0) return;
  const int64_t own = lane < kWarps ? totals[lane] : 0;
  const int64_t through = ScanOverLanes(own);
  const int64_t total = __shfl_sync(kAllLanes, through, 31);
  const int64_t base = plan.blocks == 1 ? 0 : LookBack(plan.d_sums, blockIdx.x, total);
  if (lane < kWarps && share + lane < plan.shares) plan.d_bases[share + lane] = base + through - own;
}

/// The last of [low, high) for which is_before holds; it holds for `low`, and for none behind one for which it does
/// not.
template <typename IsBefore>
__device__ __forceinline__ int64_t LastBefore(int64_t low, int64_t high, IsBefore is_before) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (high - low > 1) {
    const int64_t step = CeilDiv(high - low, 32);
    const int64_t probe = low + lane * step;
    const int holds = __popc(__ballot_sync(kAllLanes, lane == 0 || (probe < high && is_before(probe))));
    high = min(high, low + holds * step);
    low += (holds - 1) * step;
  }
  return low;
}

/// What a lane holds of a group. Count: int64_t, or int where the group's counts are in d_byte_counts.
template <typename Op, typename Count>
struct WalkGroup {
  static constexpr int kItems = Op::Tuning::kItems;
  Count units[kItems];
  alignas(16) typename Op::Item items[kItems];  // read by vectors

  __device__ __forceinline__ void Load(const Op& op, const WalkPlan& plan, int64_t group) {
    const int64_t first = group * Op::Tuning::kGroup + static_cast<int>(threadIdx.x) % 32 * kItems;
    if constexpr (sizeof(Count) == 4) {
      struct alignas(kItems) Bytes {
        uint8_t counts[kItems];
      };
      const Bytes bytes = *reinterpret_cast<const Bytes*>(plan.d_byte_counts + first);
#pragma unroll
      for (int i = 0; i < kItems; ++i) units[i] = bytes.counts[i];
    } else {
      LoadPairs(plan.counts, first, plan.count, units);
    }
    op.Load(first, plan.count, items);
    if (plan.units_per_element > 1) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) units[i] *= plan.units_per_element;
    }
  }
  __device__ __forceinline__ Count Sum() const {
    Count sum = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) sum += units[i];
    return sum;
  }
};

/// Of a warp.
template <typename Op>
struct WalkShared {
  uint32_t heads[WalkTuning::kWindow / 32];         // a bit where an interval starts
  uint2 words[WalkTuning::kWindow / 32];            // the same, and the slot before the word's first bit
  typename Op::Slot slots[Op::Tuning::kGroup + 1];  // from 1 on: 0 is that of positions before the group
};

/// What a task takes of a group. Positions are units from the last line of the cache before the first, so that warps
/// write whole sectors.
template <typename Op>
struct WalkPart {
  int64_t group_units;             // of the whole group
  int64_t origin;                  // unit of the result at position 0
  int low, high;                   // positions to be written
  int started;                     // intervals that start before position 0
  int places[Op::Tuning::kItems];  // where the lane's intervals start; less than 0 before, kNowhere for empty ones
};

/// Finds the units of a group that lie in places [begin, end) of the line, whose place 0 is the group's first unit, and
/// fills the slots. `before`: units of all groups before. Count is int where that holds all sums.
template <typename Count, typename Op, typename Units>
__device__ __forceinline__ WalkPart<Op> TakePart(const Op& op, const WalkGroup<Op, Units>& group, int64_t first,
                                                 int64_t before, int64_t begin, int64_t end, WalkShared<Op>& shared) {
  constexpr int kItems = Op::Tuning::kItems;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto own = static_cast<Count>(group.Sum());
  const Count through = ScanOverLanes(own);
  const Count total = __shfl_sync(kAllLanes, through, 31);
  const auto from = static_cast<Count>(min(max(begin, int64_t{0}), static_cast<int64_t>(total)));
  const auto to = static_cast<Count>(min(end, static_cast<int64_t>(total)));
  WalkPart<Op> part{};
  part.group_units = total;
  if (from >= to) return part;
  part.low = op.Phase(before + from);
  part.high = static_cast<int>(to - from) + part.low;
  const Count origin = from - part.low;
  part.origin = before + origin;

  int slot = 1;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    slot += __popc(__ballot_sync(kAllLanes, group.units[i] > 0) & ((1u << lane) - 1));
  }
  Count at = through - own - origin;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    part.places[i] = WalkTuning::kNowhere;
    if (group.units[i] > 0) {
      shared.slots[slot++] = op.SlotOf(group.items[i], first + lane * kItems + i, part.origin + at);
      part.places[i] = static_cast<int>(min(max(at, Count{-1}), Count{WalkTuning::kNowhere}));
      if (at < 0) ++part.started;
    }
    at += static_cast<Count>(group.units[i]);
  }
  part.started = static_cast<int>(__reduce_add_sync(kAllLanes, static_cast<unsigned>(part.started)));
  return part;
}

/// Writes the units of a part.
template <typename Op>
__device__ __forceinline__ void WritePart(const Op& op, const WalkPart<Op>& part, WalkShared<Op>& shared) {
  constexpr int kVector = Op::kVector;
  constexpr int kWindow = WalkTuning::kWindow;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto slot_at = [&](int position) {
    const uint2 word = shared.words[position / 32];
    return shared.slots + word.y + HeadsUpTo(word.x, position % 32);
  };
  int started = part.started;
  for (int window = 0; window < part.high; window += kWindow) {
    shared.heads[lane] = 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < Op::Tuning::kItems; ++i) {
      const auto place = static_cast<unsigned>(part.places[i] - window);
      if (place < kWindow) atomicOr(shared.heads + place / 32, 1u << (place % 32));
    }
    __syncwarp();
    const uint32_t heads = shared.heads[lane];
    const int heads_through = ScanOverLanes(__popc(heads));
    shared.words[lane] = {heads, static_cast<unsigned>(started + heads_through - __popc(heads))};
    started += __shfl_sync(kAllLanes, heads_through, 31);
    __syncwarp();

    const int low = max(part.low - window, 0);
    const int high = min(part.high - window, kWindow);
    const int whole = (low + kVector - 1) / kVector * kVector;  // the first whole vector
    const auto writer = op.WriterAt(part.origin + window);
#pragma unroll Op::kUnroll
    for (int position = lane * kVector + (lane * kVector < low ? 32 * kVector : 0); position + kVector <= high;
         position += 32 * kVector) {
      writer.Vector(position, slot_at(position), shared.words[position / 32].x >> (position % 32));
    }
    if (kVector > 1) {
      const int head = low + lane, tail = max(whole, high / kVector * kVector) + lane - kVector;
      const int position = lane < kVector ? head : tail;
      if (lane < 2 * kVector && position < (lane < kVector ? min(whole, high) : high)) {
        writer.One(position, *slot_at(position));
      }
    }
    __syncwarp();
  }
}

/// (2) of the algorithm; a warp a task.
///
/// Op has: Tuning; kVector, units that a lane writes at a time; kUnroll, how often; Item, what is read of an interval,
/// and Load(first, count, items); Slot, what is kept of it, and SlotOf(item, number of the interval, its first unit);
/// Phase(unit), units from the last line of the result's memory; WriterAt(unit), which answers what has
/// One(position, slot), which writes the unit at a position from there, and Vector(position, slot, heads), which writes
/// the kVector units from a position on that is a multiple of kVector: the first is in the interval of *slot, and each
/// bit of heads behind the first goes on to the next slot.
template <typename Op>
__global__ void __launch_bounds__(WalkTuning::kThreads, WalkTuning::kBlocks) WalkKernel(Op op, WalkPlan plan) {
  using Tuning = typename Op::Tuning;
  constexpr int kWarps = WalkTuning::kThreads / 32;
  __shared__ WalkShared<Op> shared_of[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t task = int64_t{blockIdx.x} * kWarps + warp;
  if (task >= plan.tasks) return;
  const int64_t place = task * Tuning::kTask;
  const int64_t share = LastBefore(0, plan.shares, [&](int64_t share) {
    return plan.d_bases[share] + share * plan.share * Tuning::kGroup <= place;
  });
  const int64_t base = plan.d_bases[share];
  int64_t group = LastBefore(share * plan.share, min((share + 1) * plan.share, plan.groups), [&](int64_t group) {
    return base + BeforeOf(plan.d_groups[group]) + group * Tuning::kGroup <= place;
  });
  int64_t before = base + BeforeOf(plan.d_groups[group]);
  for (; group < plan.groups; ++group) {
    const int64_t begin = place - (before + (group + 1) * Tuning::kGroup), end = begin + Tuning::kTask;
    if (end <= -Tuning::kGroup) return;
    const int64_t first = group * Tuning::kGroup;
    WalkPart<Op> part;
    if (FitBytes(plan.d_groups[group])) {
      WalkGroup<Op, int> now;
      now.Load(op, plan, group);
      part = TakePart<int>(op, now, first, before, begin, end, shared_of[warp]);
    } else {
      WalkGroup<Op, int64_t> now;
      now.Load(op, plan, group);
      const bool is_placed = __all_sync(kAllLanes, now.Sum() <= WalkTuning::kMostPlaced);
      part = is_placed ? TakePart<int>(op, now, first, before, begin, end, shared_of[warp])
                       : TakePart<int64_t>(op, now, first, before, begin, end, shared_of[warp]);
    }
    WritePart(op, part, shared_of[warp]);
    before += part.group_units;
  }
}

/// Elements between the last line of the cache and p.
template <typename T>
__device__ __forceinline__ int LinePhaseOf(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) & 127) / static_cast<int>(sizeof(T));
}

/// Carves the plan from a workspace, for `count` > 0 intervals of `elements` elements in all.
template <typename Tuning>
WalkPlan MakeWalkPlan(const int64_t* counts, int64_t count, int64_t elements, int units_per_element,
                      Workspace& workspace) {
  WalkPlan plan{};
  plan.counts = counts;
  plan.count = count;
  plan.groups = CeilDiv(count, Tuning::kGroup);
  plan.tasks = CeilDiv(elements * units_per_element + plan.groups * Tuning::kGroup, Tuning::kTask);
  plan.units_per_element = static_cast<unsigned>(units_per_element);
  constexpr int64_t kWarps = WalkTuning::kThreads / 32;
  plan.share = CeilDiv(plan.groups, kWarps * WalkTuning::kSumBlocks);
  plan.shares = CeilDiv(plan.groups, plan.share);
  plan.blocks = CeilDiv(plan.shares, kWarps);
  plan.d_sums = plan.blocks > 1 ? workspace.Carve<TileSum>(plan.blocks) : nullptr;
  plan.d_bases = workspace.Carve<int64_t>(plan.shares);
  plan.d_groups = workspace.Carve<int64_t>(plan.groups);
  plan.d_byte_counts = workspace.Carve<uint8_t>(plan.groups * Tuning::kGroup);
  return plan;
}

/// Enqueues all, and a report without faults.
template <typename Op>
cudaError_t Walk(const Op& op, WalkPlan plan, OperatorReport* d_report, cudaStream_t stream) {
  plan.d_report = d_report;
  if (plan.blocks > 1) {
    CORANK_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(plan.d_sums, 0, sizeof(TileSum) * static_cast<size_t>(plan.blocks), stream));
  }
  WalkSumsKernel<typename Op::Tuning><<<static_cast<unsigned>(plan.blocks), WalkTuning::kThreads, 0, stream>>>(plan);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  const int64_t blocks = CeilDiv(plan.tasks, WalkTuning::kThreads / 32);
  WalkKernel<Op><<<static_cast<unsigned>(blocks), WalkTuning::kThreads, 0, stream>>>(op, plan);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_WALK_CUH_
