// Expand, Move and LoadBalance: three endings of one load-balancing search.
//
// Algorithm   (1) exclusive scan of the counts: where each interval's work starts; (2) the merge path through units of
//             work and intervals is cut into tiles of equal length, one binary search each; (3) a block walks its tile
//             of the path in shared memory, so that each unit knows its interval, and then each thread takes every
//             kThreads-th unit of the tile. Many empty intervals or one giant one cost no more than others.
//             A unit is the widest power of two, up to 16 bytes, that divides an element.
// Work        O(n + units)
// Passes      counts: one read and write (scan) and one read; elements: one read and one write, coalesced wherever
//             intervals are
// Workspace   8 bytes an interval, 8 bytes a tile, and what CUB's scan asks for
// Source      S. Baxter, moderngpu, "Load-Balancing Search" and "IntervalExpand and IntervalMove", 2013
#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/intervals/interval_path.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/intervals.h"
#include "kernels/cuda/intervals/overlap_check.h"

namespace corank::cuda {
namespace {

/// One unit of work: `unit` of all, number `rank` of the interval, whose first unit is unit - rank.
struct WorkUnit {
  int64_t unit;
  int64_t interval;
  int64_t rank;
};

template <typename Unit>
struct ExpandBody {
  using Loaded = Unit;
  static constexpr int kUnitBytes = sizeof(Unit);
  const Unit* values;
  Unit* out;
  unsigned units_per_element;

  __device__ Unit Load(const WorkUnit& work) const {
    if (units_per_element == 1) return values[work.interval];
    // A 64-bit remainder costs more than the rest of the kernel.
    const int64_t part =
        work.rank <= UINT32_MAX ? static_cast<uint32_t>(work.rank) % units_per_element : work.rank % units_per_element;
    return values[work.interval * units_per_element + part];
  }
  __device__ void Store(const WorkUnit& work, Unit unit) const { out[work.unit] = unit; }
};

template <typename Unit>
struct MoveBody {
  using Loaded = Unit;
  static constexpr int kUnitBytes = sizeof(Unit);
  const Unit* source;
  Unit* destination;
  const int64_t* source_offsets;  // null: an interval starts at its first unit's number
  const int64_t* destination_offsets;
  int units_per_element;

  __device__ int64_t Place(const int64_t* offsets, const WorkUnit& work) const {
    return offsets == nullptr ? work.unit : offsets[work.interval] * units_per_element + work.rank;
  }
  __device__ Unit Load(const WorkUnit& work) const { return source[Place(source_offsets, work)]; }
  __device__ void Store(const WorkUnit& work, Unit unit) const { destination[Place(destination_offsets, work)] = unit; }
};

template <typename Index>
struct LoadBalanceBody {
  struct Loaded {};
  static constexpr int kUnitBytes = sizeof(Index);
  Index* objects;
  Index* ranks;

  __device__ Loaded Load(const WorkUnit&) const { return {}; }
  __device__ void Store(const WorkUnit& work, Loaded) const {
    objects[work.unit] = static_cast<Index>(work.interval);
    ranks[work.unit] = static_cast<Index>(work.rank);
  }
};

/// The search's problem: `units` units of work in `count` intervals.
struct Intervals {
  ScaledStarts starts;
  int64_t count;
  int64_t units;
};

__global__ void __launch_bounds__(256)
    PartitionKernel(Intervals intervals, int tile_size, int64_t tiles, int64_t* d_splits) {
  const int64_t tile = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (tile > tiles) return;
  const int64_t diagonal = min(tile * tile_size, intervals.units + intervals.count);
  d_splits[tile] = IntervalsBefore(diagonal, intervals.starts, intervals.count, intervals.units);
}

template <typename Body>
__global__ void __launch_bounds__(IntervalTuning<Body::kUnitBytes>::kThreads)
    IntervalKernel(Intervals intervals, const int64_t* d_splits, Body body) {
  using Tuning = IntervalTuning<Body::kUnitBytes>;
  constexpr int kThreads = Tuning::kThreads, kItems = Tuning::kItems, kTile = Tuning::kTile;
  __shared__ int s_starts[kTile];        // of the tile's intervals, from the tile's first unit
  __shared__ int16_t s_interval[kTile];  // of each unit, from the tile's first interval; -1: the one before
  const int thread = static_cast<int>(threadIdx.x);

  // Load the starts of the intervals that start in this tile, and that of the interval that reaches into it.
  const int64_t begin = int64_t{blockIdx.x} * kTile;
  const int64_t end = min(begin + kTile, intervals.units + intervals.count);
  const int64_t first_interval = d_splits[blockIdx.x];
  const int64_t first_unit = begin - first_interval;
  const int interval_count = static_cast<int>(d_splits[blockIdx.x + 1] - first_interval);
  const int unit_count = static_cast<int>(end - begin) - interval_count;
  for (int i = thread; i < interval_count; i += kThreads) {
    s_starts[i] = static_cast<int>(intervals.starts[first_interval + i] - first_unit);
  }
  const int64_t open_start = first_interval > 0 ? intervals.starts[first_interval - 1] : 0;
  __syncthreads();

  // Walk the path: each thread kItems steps.
  const int diagonal = min(thread * kItems, interval_count + unit_count);
  const int interval = IntervalsBefore(diagonal, s_starts, interval_count, unit_count);
  WalkIntervals(s_starts, interval_count, unit_count, interval, diagonal - interval, kItems,
                [&](int unit, int number) { s_interval[unit] = static_cast<int16_t>(number); });
  __syncthreads();

  // Move: first all loads, then all stores, so that the loads overlap.
  const auto work_of = [&](int unit) {
    const int number = s_interval[unit];
    const int64_t start = number < 0 ? open_start : first_unit + s_starts[number];
    return WorkUnit{first_unit + unit, first_interval + number, first_unit + unit - start};
  };
  typename Body::Loaded loaded[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int unit = item * kThreads + thread;
    if (unit < unit_count) loaded[item] = body.Load(work_of(unit));
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int unit = item * kThreads + thread;
    if (unit < unit_count) body.Store(work_of(unit), loaded[item]);
  }
}

/// The part of the workspace that every operator needs.
struct SearchSpace {
  SearchSpace(int64_t count, int64_t units, int tile_size, Workspace& workspace)
      : tiles(CeilDiv(count + units, tile_size)) {
    d_starts = workspace.Carve<int64_t>(count);
    d_splits = workspace.Carve<int64_t>(tiles + 1);
    // Only a size is asked for; an error here comes back from the run.
    cub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, static_cast<const int64_t*>(nullptr), d_starts, count);
    d_scan = workspace.CarveBytes(static_cast<int64_t>(scan_bytes));
  }

  int64_t tiles;
  int64_t* d_starts;
  int64_t* d_splits;
  void* d_scan;
  size_t scan_bytes = 0;
};

template <typename Body>
cudaError_t Run(const int64_t* counts, int64_t count, int64_t total, int units_per_element, const Body& body,
                Workspace& workspace, cudaStream_t stream) {
  using Tuning = IntervalTuning<Body::kUnitBytes>;
  constexpr int kPartitionThreads = 256;
  const int64_t units = total * units_per_element;
  SearchSpace space(count, units, Tuning::kTile, workspace);
  CORANK_RETURN_IF_CUDA_ERROR(
      cub::DeviceScan::ExclusiveSum(space.d_scan, space.scan_bytes, counts, space.d_starts, count, stream));
  const Intervals intervals{{space.d_starts, units_per_element}, count, units};
  PartitionKernel<<<static_cast<unsigned>(CeilDiv(space.tiles + 1, kPartitionThreads)), kPartitionThreads, 0, stream>>>(
      intervals, Tuning::kTile, space.tiles, space.d_splits);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  IntervalKernel<<<static_cast<unsigned>(space.tiles), Tuning::kThreads, 0, stream>>>(intervals, space.d_splits, body);
  return cudaGetLastError();
}

int64_t SearchBytes(int64_t count, int64_t total, int element_bytes) {
  if (count <= 0 || total <= 0) return 0;
  const int unit_bytes = UnitBytes(element_bytes);
  Workspace workspace;
  SearchSpace space(count, total * (element_bytes / unit_bytes), IntervalTile(unit_bytes), workspace);
  return workspace.bytes();
}

/// Calls fn(unit, units_per_element) with a value of the unit's type.
template <typename Fn>
cudaError_t WithUnit(int element_bytes, Fn&& fn) {
  const int unit_bytes = UnitBytes(element_bytes);
  const int units_per_element = element_bytes / unit_bytes;
  switch (unit_bytes) {
    case 1:
      return fn(uint8_t{}, units_per_element);
    case 2:
      return fn(uint16_t{}, units_per_element);
    case 4:
      return fn(uint32_t{}, units_per_element);
    case 8:
      return fn(uint64_t{}, units_per_element);
    default:
      return fn(uint4{}, units_per_element);
  }
}

bool IsValid(int64_t count, int64_t total, int element_bytes, int64_t workspace_bytes, int64_t needed_bytes) {
  return count >= 0 && total >= 0 && element_bytes >= 1 && element_bytes <= kMaxRecordBytes &&
         workspace_bytes >= needed_bytes;
}

bool ChecksOverlap(const MoveArgs& args) {
  return args.check_overlap && args.destination_offsets != nullptr && args.total > 0;
}

}  // namespace

int64_t ExpandWorkspaceBytes(const ExpandArgs& args) {
  return SearchBytes(args.interval_count, args.total, args.element_bytes);
}

cudaError_t Expand(const ExpandArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream) {
  if (!IsValid(args.interval_count, args.total, args.element_bytes, workspace_bytes, ExpandWorkspaceBytes(args))) {
    return cudaErrorInvalidValue;
  }
  CORANK_RETURN_IF_CUDA_ERROR(WriteReport(OperatorReport(), nullptr, d_report, stream));
  if (args.total == 0) return cudaSuccess;
  Workspace workspace(d_workspace);
  return WithUnit(args.element_bytes, [&](auto unit, int units_per_element) {
    using Unit = decltype(unit);
    const ExpandBody<Unit> body{static_cast<const Unit*>(args.values), static_cast<Unit*>(args.out),
                                static_cast<unsigned>(units_per_element)};
    return Run(args.counts, args.interval_count, args.total, units_per_element, body, workspace, stream);
  });
}

int64_t MoveWorkspaceBytes(const MoveArgs& args) {
  // The check and the move run one after the other on one stream: they share the workspace.
  return std::max(SearchBytes(args.interval_count, args.total, args.element_bytes),
                  ChecksOverlap(args) ? OverlapCheckWorkspaceBytes(args) : 0);
}

cudaError_t Move(const MoveArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                 cudaStream_t stream) {
  if (!IsValid(args.interval_count, args.total, args.element_bytes, workspace_bytes, MoveWorkspaceBytes(args))) {
    return cudaErrorInvalidValue;
  }
  CORANK_RETURN_IF_CUDA_ERROR(ChecksOverlap(args) ? CheckOverlap(args, d_workspace, workspace_bytes, d_report, stream)
                                                  : WriteReport(OperatorReport(), nullptr, d_report, stream));
  if (args.total == 0) return cudaSuccess;
  Workspace workspace(d_workspace);
  return WithUnit(args.element_bytes, [&](auto unit, int units_per_element) {
    using Unit = decltype(unit);
    const MoveBody<Unit> body{static_cast<const Unit*>(args.source), static_cast<Unit*>(args.destination),
                              args.source_offsets, args.destination_offsets, units_per_element};
    return Run(args.counts, args.interval_count, args.total, units_per_element, body, workspace, stream);
  });
}

int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args) {
  return SearchBytes(args.object_count, args.total, args.IndexWidth());
}

cudaError_t LoadBalance(const LoadBalanceArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* d_report, cudaStream_t stream) {
  if (!IsValid(args.object_count, args.total, args.IndexWidth(), workspace_bytes, LoadBalanceWorkspaceBytes(args))) {
    return cudaErrorInvalidValue;
  }
  CORANK_RETURN_IF_CUDA_ERROR(WriteReport(OperatorReport(), nullptr, d_report, stream));
  if (args.total == 0) return cudaSuccess;
  Workspace workspace(d_workspace);
  const auto run = [&](auto index) {
    using Index = decltype(index);
    const LoadBalanceBody<Index> body{static_cast<Index*>(args.objects_out), static_cast<Index*>(args.ranks_out)};
    return Run(args.counts, args.object_count, args.total, 1, body, workspace, stream);
  };
  return args.IndexWidth() == 4 ? run(uint32_t{}) : run(uint64_t{});
}

}  // namespace corank::cuda
