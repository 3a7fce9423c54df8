// Merges the pieces of long segments, up to 16 runs at a time.
//
// Algorithm: one persistent launch, which ends immediately if there is nothing to merge. In each pass, half a warp
//            finds the start of each window's outputs in each of their runs (multiway_partition.cuh), and blocks merge
//            (segment_merge.cuh). The pieces of a segment start in the array from which its last pass ends in the
//            result.
// Work: O(n log n).
// Memory: log16(segment / window) reads and writes of the long segments.
// Workspace: one array of keys and payload; for each window 16 bytes of the plan and 64 of splits, or 128 from 2^34
//            keys on.
// Stability: stable.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENT_LONG_CUH_
#define CORANK_KERNELS_CUDA_SORT_SEGMENT_LONG_CUH_

#include <cooperative_groups.h>

#include <cstdint>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiway_partition.cuh"
#include "kernels/cuda/sort/segment_merge.cuh"
#include "kernels/cuda/sort/segment_pass.h"
#include "kernels/cuda/sort/segment_tile.cuh"
#include "kernels/cuda/sort/segment_tuning.h"

namespace corank::cuda {

template <typename Bits, bool kPayload>
struct LongSegments {
  static constexpr SegmentTuning kTuning = SegmentTuningFor(sizeof(Bits), kPayload);
  static constexpr int kThreads = kTuning.threads, kWindow = kTuning.Window();
  using Merge = PieceMerge<Bits, kPayload, kWindow, kThreads>;

  /// A window's part of a long segment: its outputs.
  struct Part {
    int64_t start;
    int length;
    int left;    // passes after this one
    int levels;  // of merging; 0: nothing to do
  };
  struct Shared {
    typename Merge::Memory tile;
    MergePieces pieces[2];
    Part parts[2];
  };

  /// Finds, for the long segment across the start of a window, the start of the window's outputs in each run of its
  /// group. All lanes of half a warp call it.
  static __device__ __forceinline__ void Split(const SegmentPass<Bits>& pass, int64_t window, int merged) {
    const LongPieces pieces{pass.plan.long_across[window], kWindow};
    if (pieces.segment.end == 0 || pieces.segment.IsGiant()) return;
    const MergeSchedule schedule(pieces.Count());
    if (merged >= schedule.passes) return;
    const MergeGroup group(pieces, schedule, merged, window - pieces.FirstWindow());
    const LaneGroup lanes(kMergeWays);
    corank::cuda::Run<Bits> run{};
    run.keys = pass.KeysAt(schedule.passes - merged) + group.RunBegin(lanes.lane);
    run.count = group.RunCount(lanes.lane);
    const int64_t split =
        SelectCoRank(lanes, run, window * kWindow - group.RunBegin(0), 0, [](Bits code) { return code; });
    pass.SetSplit(window * kMergeWays + lanes.lane, split);
  }

  /// Describes part `number`. All windows' parts of segments across their starts come first, then those of segments
  /// that begin in them. Warp 0 calls it.
  static __device__ __forceinline__ void Describe(const SegmentPass<Bits>& pass, int64_t number, int64_t windows,
                                                  int merged, Part& part, MergePieces& table) {
    const int lane = static_cast<int>(threadIdx.x);
    const bool begins = number >= windows;
    const int64_t window = begins ? number - windows : number;
    LongPieces pieces{{0, 0}, kWindow};
    if (number < 2 * windows) pieces.segment = pass.plan.long_across[begins ? window + 1 : window];
    const bool exists =
        pieces.segment.end != 0 && !pieces.segment.IsGiant() && (!begins || pieces.segment.begin >= window * kWindow);
    const MergeSchedule schedule(exists ? pieces.Count() : 1);
    if (merged >= schedule.passes) {
      if (lane == 0) part.levels = 0;
      return;
    }
    const MergeGroup group(pieces, schedule, merged, window - pieces.FirstWindow());
    const int64_t start = begins ? pieces.segment.begin : window * kWindow;
    const int64_t end = Min(pieces.segment.end, (window + 1) * kWindow);
    int64_t run_begin = 0, run_end = 0;
    if (lane < kMergeWays) {
      // The first piece of a segment is the first of its group.
      if (!begins) run_begin = pass.Split(window * kMergeWays + lane);
      run_end = end == group.End() ? group.RunCount(lane) : pass.Split((window + 1) * kMergeWays + lane);
    }
    table.template Fill<Merge::kItems>(group.RunBegin(lane) + run_begin, static_cast<int>(run_end - run_begin));
    if (lane == 0) part = {start, static_cast<int>(end - start), schedule.passes - merged - 1, group.levels};
  }

  static __device__ __forceinline__ void Store(const SegmentPass<Bits>& pass, const Part& part,
                                               const MergePieces& pieces, const typename Merge::Memory& tile) {
    if (part.left != 0 || pass.keys_wanted) {
      Bits* const out = pass.KeysAt(part.left) + part.start;
      MoveRange<kThreads, 8>(
          0, part.length, [&](int i) { return tile.keys[Padded<Bits>(i)]; },
          [&](int i, Bits code) { out[i] = part.left == 0 ? pass.order.Decode(code) : code; });
    }
    if constexpr (kPayload) {
      MovePayloadRange<kThreads, 8>(pass.payload_bytes, pass.PayloadAt(part.left + 1), pass.PayloadAt(part.left),
                                    part.start, 0, part.length, [&](int i) {
                                      const int position = tile.positions[Padded<Bits>(i)];
                                      return pieces.source[pieces.PieceAt(position)] + position;
                                    });
    }
  }

  static __device__ __forceinline__ void Run(const SegmentPass<Bits>& pass, Shared& shared) {
    const int64_t longest = *pass.plan.longest;
    if (longest == 0) return;
    const auto grid = cooperative_groups::this_grid();
    const int64_t windows = CeilDiv(pass.count, kWindow);
    const int passes = MergeSchedule(longest).passes;
    const bool describes = threadIdx.x < 32;
    for (int merged = 0; merged < passes; ++merged) {
      const int64_t half_warp = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / kMergeWays;
      const int64_t half_warps = int64_t{gridDim.x} * kThreads / kMergeWays;
      for (int64_t window = half_warp; window < windows; window += half_warps) Split(pass, window, merged);
      grid.sync();
      int current = 0;
      if (describes) Describe(pass, blockIdx.x, windows, merged, shared.parts[0], shared.pieces[0]);
      for (int64_t number = blockIdx.x; number < 2 * windows; number += gridDim.x, current ^= 1) {
        __syncthreads();
        const Part part = shared.parts[current];
        const MergePieces& pieces = shared.pieces[current];
        if (part.levels != 0) Merge::Load(pass.KeysAt(part.left + 1), pieces, shared.tile);
        // Runs while the keys are in flight.
        if (describes) {
          Describe(pass, number + gridDim.x, windows, merged, shared.parts[current ^ 1], shared.pieces[current ^ 1]);
        }
        if (part.levels == 0) continue;
        Merge::Run(pieces, part.levels, shared.tile);
        __syncthreads();
        Store(pass, part, pieces, shared.tile);
      }
      grid.sync();
    }
  }
};

template <typename Bits, bool kPayload>
__global__ void __launch_bounds__(LongSegments<Bits, kPayload>::kThreads,
                                  LongSegments<Bits, kPayload>::kTuning.merge_blocks)
    LongSegmentsKernel(const SegmentPass<Bits> pass) {
  __shared__ typename LongSegments<Bits, kPayload>::Shared shared;
  LongSegments<Bits, kPayload>::Run(pass, shared);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENT_LONG_CUH_
