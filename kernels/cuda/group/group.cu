// Group: distinct neighbours, their counts and first indices, and reductions of their values.
//
// Algorithm: one compaction finds the heads of the groups, writes keys and positions, and checks the order. Counts are
//            the differences of positions. Each reduction is a launch over the values and the bits of the heads.
// Work: O(count).
// Memory: one read of the keys, one write of each output; for counts one write and two reads of the positions. A
//         reduction reads the values once. Indices cost one scattered read of the values.
// Workspace: see group.h.
// Source: compact.cuh and run_reduce.cuh name theirs.
#include <algorithm>

#include "kernels/common/key_order.h"
#include "kernels/common/run_reduction.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/group/compact.cuh"
#include "kernels/cuda/group/group.h"
#include "kernels/cuda/group/group_reduce.h"

namespace corank::cuda {
namespace {

using Tuning = GroupTuning;

/// Keeps the keys that differ from the previous one.
template <typename Bits, bool kFloat>
struct FindHeads {
  struct Rows {
    Bits keys[Tuning::kItems];
    Bits before;    // lane 0: the key before the first row
    int64_t count;  // of all keys
  };
  const Bits* keys;
  KeyOrder<Bits, kFloat> order;
  Bits* keys_out;    // may be null
  void* starts_out;  // may be null
  int index_bytes;
  FaultCell* unsorted_cell;  // null: no check

  __device__ __forceinline__ void Load(int64_t first, int64_t count, Rows& rows) const {
    const bool is_first_lane = threadIdx.x % 32 == 0;
    rows.before = is_first_lane && first > 0 && first <= count ? keys[first - 1] : Bits{0};
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) rows.keys[i] = first + 32 * i < count ? keys[first + 32 * i] : Bits{0};
    rows.count = count;
  }
  __device__ __forceinline__ bool Keeps(const Rows& rows, int i, int64_t position) const {
    const Bits last = i == 0 ? rows.before : __shfl_sync(~0u, rows.keys[i == 0 ? 0 : i - 1], 31);
    Bits previous = __shfl_up_sync(~0u, rows.keys[i], 1);
    if (threadIdx.x % 32 == 0) previous = last;
    const Bits rank = order.RankOfRaw(rows.keys[i]), previous_rank = order.RankOfRaw(previous);
    if (unsorted_cell != nullptr && position > 0 && position < rows.count && rank < previous_rank) {
      atomicMax(unsorted_cell, PackFault(0, position));
    }
    return position == 0 || rank != previous_rank;
  }
  __device__ __forceinline__ void Keep(const Rows& rows, int i, int64_t position, int64_t slot) const {
    if (keys_out != nullptr) keys_out[slot] = rows.keys[i];
    if (starts_out == nullptr) return;
    if (index_bytes == 4) {
      static_cast<uint32_t*>(starts_out)[slot] = static_cast<uint32_t>(position);
    } else {
      static_cast<uint64_t*>(starts_out)[slot] = static_cast<uint64_t>(position);
    }
  }
};

/// Writes the counts of all groups, and the first indices if there is a permutation. Either output may be null.
template <typename Index>
__global__ void __launch_bounds__(Tuning::kThreads)
    CountsKernel(const Index* starts, const TileSum* last_sum, int64_t count, int64_t* counts_out, const Index* indices,
                 Index* firsts_out) {
  const int64_t groups = static_cast<int64_t>(*last_sum & kSumMask);
  const int64_t step = gridDim.x * int64_t{Tuning::kThreads};
  for (int64_t i = blockIdx.x * int64_t{Tuning::kThreads} + threadIdx.x; i < groups; i += step) {
    const auto start = static_cast<int64_t>(starts[i]);
    if (counts_out != nullptr) counts_out[i] = (i + 1 < groups ? static_cast<int64_t>(starts[i + 1]) : count) - start;
    if (firsts_out != nullptr) firsts_out[i] = indices[start];
  }
}

/// One thread. `last_sum` is null if there are no keys.
__global__ void WriteGroupReportKernel(const TileSum* last_sum, const FaultCell* cells, GroupReport* d_report) {
  GroupReport report;
  if (last_sum != nullptr) {
    if (cells[0] == kNoFault) {
      report.groups = static_cast<int64_t>(*last_sum & kSumMask);
      if (cells[1] != kNoFault) report.overflow = FaultIndex(cells[1]);
    } else {
      report.unsorted = FaultIndex(cells[0]);
    }
  }
  *d_report = report;
}

struct Plan {
  FaultCell* cells = nullptr;  // unsorted, overflow
  TileSum* sums = nullptr;
  void* starts = nullptr;         // null: no output needs them
  uint32_t* head_bits = nullptr;  // null: no reduction
  void* nodes = nullptr;
  void* values = nullptr;  // null: the caller's
};

Plan PlanOf(const GroupArgs& args, Workspace& workspace) {
  Plan plan;
  plan.cells = workspace.Carve<FaultCell>(2);
  plan.sums = workspace.Carve<TileSum>(CompactTiles(args.count));
  const bool firsts_are_starts = args.firsts_out != nullptr && args.indices == nullptr;
  if (firsts_are_starts) {
    plan.starts = args.firsts_out;
  } else if (args.counts_out != nullptr || args.firsts_out != nullptr) {
    plan.starts = workspace.CarveBytes(args.count * IndexBytes(args.count - 1));
  }
  if (!args.Reduces()) return plan;
  plan.head_bits = workspace.Carve<uint32_t>(CompactWords(args.count));
  plan.nodes = workspace.CarveBytes(RunNodesBytes(args.count));
  if (args.indices != nullptr) plan.values = workspace.CarveBytes(args.count * KeyBytes(args.value_type));
  return plan;
}

template <typename Index>
cudaError_t WriteCounts(const GroupArgs& args, const Plan& plan, const TileSum* last_sum, cudaStream_t stream) {
  const auto blocks = std::min(CeilDiv(args.count, int64_t{Tuning::kThreads}), Tuning::kGroupBlocks);
  CountsKernel<<<static_cast<unsigned>(blocks), Tuning::kThreads, 0, stream>>>(
      static_cast<const Index*>(plan.starts), last_sum, args.count, args.counts_out,
      static_cast<const Index*>(args.indices),
      args.indices == nullptr ? nullptr : static_cast<Index*>(args.firsts_out));
  return cudaGetLastError();
}

cudaError_t Reduce(const GroupArgs& args, const Plan& plan, cudaStream_t stream) {
  RunValues runs;
  runs.type = args.value_type;
  runs.count = args.count;
  runs.values = args.values;
  runs.head_bits = plan.head_bits;
  runs.sums = plan.sums;
  runs.nodes = plan.nodes;
  runs.overflow_cell = plan.cells + 1;
  if (args.indices != nullptr) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.values, KeyBytes(args.value_type), args.indices,
                                           IndexBytes(args.count - 1), plan.values, args.count, stream));
    runs.values = plan.values;
  }
  if (args.sums_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(SumRuns(runs, args.sums_out, stream));
  if (args.minima_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(LeastOfRuns(runs, args.minima_out, stream));
  if (args.maxima_out != nullptr) CORANK_RETURN_IF_CUDA_ERROR(GreatestOfRuns(runs, args.maxima_out, stream));
  return cudaSuccess;
}

}  // namespace

int64_t RunNodesBytes(int64_t count) {
  // Each launch leaves a node for 256 of the one before: less than 2 nodes for each tile, in sums of up to 16 bytes.
  return 2 * CompactTiles(count) * static_cast<int64_t>(sizeof(RunNode<Int128>));
}

int64_t GroupWorkspaceBytes(const GroupArgs& args) {
  if (args.count <= 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  return workspace.bytes();
}

cudaError_t Group(const GroupArgs& args, void* d_workspace, int64_t workspace_bytes, GroupReport* d_report,
                  cudaStream_t stream) {
  if (args.count < 0 || workspace_bytes < GroupWorkspaceBytes(args)) return cudaErrorInvalidValue;
  Plan plan;
  const TileSum* last_sum = nullptr;
  if (args.count > 0) {
    Workspace workspace(d_workspace);
    plan = PlanOf(args, workspace);
    last_sum = plan.sums + (CompactTiles(args.count) - 1);
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.cells, 0, 2 * sizeof(FaultCell), stream));
    CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(args.key_type, args.order, [&](auto order) {
      using Traits = KeyOrderTraits<decltype(order)>;
      using Bits = typename Traits::Bits;
      const FindHeads<Bits, Traits::kFloat> find{
          static_cast<const Bits*>(args.keys), order,
          static_cast<Bits*>(args.keys_out),   plan.starts,
          IndexBytes(args.count - 1),          args.check_sorted ? plan.cells : nullptr};
      return Compact(find, args.count, plan.sums, plan.head_bits, stream);
    }));
    const bool is_indexed = args.indices != nullptr && args.firsts_out != nullptr;
    if (args.counts_out != nullptr || is_indexed) {
      CORANK_RETURN_IF_CUDA_ERROR(IndexBytes(args.count - 1) == 4
                                      ? WriteCounts<uint32_t>(args, plan, last_sum, stream)
                                      : WriteCounts<uint64_t>(args, plan, last_sum, stream));
    }
    if (args.Reduces()) CORANK_RETURN_IF_CUDA_ERROR(Reduce(args, plan, stream));
  }
  if (d_report == nullptr) return cudaSuccess;
  WriteGroupReportKernel<<<1, 1, 0, stream>>>(last_sum, plan.cells, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
