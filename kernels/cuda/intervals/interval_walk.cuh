// Visits every unit of a result in order, together with its interval, for operators with consecutive results.
//
// Algorithm: (1) Each warp sums its share of the counts, group by group, and notes the sum before each group. It writes
//            the counts again as bytes, which replace them in groups where they fit. The blocks learn the sums of all
//            earlier blocks (look_back.cuh). (2) Tasks are equal pieces of a line. On this line, each group has as many
//            places as it has intervals, followed by as many as they have units, so that neither giant nor millions of
//            empty intervals make a task longer than others (the diagonals of a merge path, group by group). One warp
//            performs a task alone. It finds the group where its piece starts. For each group, a lane holds the counts
//            of a few intervals, and a scan finds their starts. Each non-empty interval sets a bit in a bitmap of 1024
//            units and stores the operator's data in a slot. The slot of a unit is then the number of bits up to it: a
//            population count plus the bits in earlier words. No warp waits for another one.
// Work: O(n + units).
// Memory: (1) reads the counts; (2) reads them or their bytes, repeatedly where tasks share a group; one write of the
//         results.
// Workspace: a byte for each interval, 8 bytes for each group of 64 to 256 intervals, and at most 73 KB more.
// Source: S. Baxter, moderngpu, "Load-Balancing Search", 2013; O. Green, R. McColl, D. Bader, "GPU Merge Path - A GPU
//         Merging Algorithm", 2012.
#ifndef CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_WALK_CUH_
#define CORANK_KERNELS_CUDA_INTERVALS_INTERVAL_WALK_CUH_

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/warp.h"
#include "kernels/cuda/common/warp_scan.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/interval_units.h"

namespace corank::cuda {

/// The division of the work. A kernel argument.
struct WalkPlan {
  const int64_t* counts;  // of elements
  int64_t count;
  int64_t groups;
  int64_t share;   // groups whose counts a warp sums
  int64_t shares;  // shares with at least one group
  int64_t blocks;  // blocks that sum counts
  int64_t tasks;
  unsigned units_per_element;
  TileSum* d_sums;           // zero before, one for each block
  int64_t* d_bases;          // units before each share
  int64_t* d_groups;         // notes on groups
  uint8_t* d_byte_counts;    // the counts again, valid in groups whose counts all fit into bytes
  OperatorReport* d_report;  // or null
};

/// A note on a group: the number of units between the start of its share and the group, above a bit that tells whether
/// its counts are in d_byte_counts.
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

/// Step (1) of the algorithm, one warp for each share.
template <typename Tuning>
__global__ void __launch_bounds__(WalkTuning::kThreads, WalkTuning::kSumBlocksResident) WalkSumsKernel(WalkPlan plan) {
  constexpr int kWarps = WalkTuning::kThreads / 32;
  constexpr int kPairs = Tuning::kGroup / 64;          // of counts of a group in each lane
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
    *plan.d_report = OperatorReport();  // saves a launch, which takes 2 us
  }
  __syncthreads();
  if (warp > 0) return;
  const int64_t own = lane < kWarps ? totals[lane] : 0;
  const int64_t through = ScanOverLanes(own);
  const int64_t total = __shfl_sync(kAllLanes, through, 31);
  const int64_t base = plan.blocks == 1 ? 0 : LookBack(plan.d_sums, blockIdx.x, total);
  if (lane < kWarps && share + lane < plan.shares) plan.d_bases[share + lane] = base + through - own;
}

/// A lane's part of a group. Count: int64_t, or int if the counts of the group are in d_byte_counts.
template <typename Op, typename Count>
struct WalkGroup {
  static constexpr int kItems = Op::Tuning::kItems;
  Count units[kItems];
  alignas(16) typename Op::Item items[kItems];  // read as vectors

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

/// The shared memory of a warp.
template <typename Op>
struct WalkShared {
  uint32_t heads[WalkTuning::kWindow / 32];         // a bit at the start of each interval
  uint2 words[WalkTuning::kWindow / 32];            // the same, and the slot before the word's first bit
  typename Op::Slot slots[Op::Tuning::kGroup + 1];  // slot 0 is that of positions before the group
};

/// A task's part of a group. Positions count units from the last cache line boundary before the first unit, so that
/// warps write whole sectors.
template <typename Op>
struct WalkPart {
  int64_t group_units;             // of the whole group
  int64_t origin;                  // the unit of the result at position 0
  int low, high;                   // positions to write
  int started;                     // intervals that start before position 0
  int places[Op::Tuning::kItems];  // starts of the lane's intervals; negative before position 0, kNowhere if empty
};

/// Finds the units of a group in places [begin, end) of the line, whose place 0 is the first unit of the group, and
/// fills the slots. `before`: units of all earlier groups. Count is int if all sums fit.
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

/// Step (2) of the algorithm, one warp for each task.
///
/// Op has these members:
/// - Tuning; kVector: units that a lane writes at a time; kUnroll: how often.
/// - Item: the data read for an interval, by Load(first, count, items).
/// - Slot: the data kept for an interval, by SlotOf(item, number of the interval, its first unit).
/// - Phase(unit): units between the last line boundary of the result's memory and `unit`.
/// - WriterAt(unit): returns a writer for positions relative to `unit`. One(position, slot) writes one unit.
///   Vector(position, slot, heads) writes the kVector units from a position on that is a multiple of kVector: the first
///   unit is in the interval of *slot, and each later bit of heads advances to the next slot.
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

/// The number of elements between the last cache line boundary and p.
template <typename T>
__device__ __forceinline__ int LinePhaseOf(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) & 127) / static_cast<int>(sizeof(T));
}

/// Carves the plan from a workspace, for `count` > 0 intervals of `elements` elements in total.
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

/// Enqueues all kernels, and a report without faults.
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
