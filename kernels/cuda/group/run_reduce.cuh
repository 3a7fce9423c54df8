// Reduces runs of values in the fixed tree of run_reduction.h.
//
// Algorithm: a thread joins its 8 values, a warp its threads by shuffles, a block its warps: each step joins neighbours
//            of the tree. Runs within the tile go through shared memory to consecutive results. One node for each tile
//            is left, and further launches join those, 256 at a time, until one is left. Where sums can be subtracted,
//            a tile scans its values instead: the sum of a run is the difference of the prefix sums at two heads.
//            A null is loaded as the value that changes no result.
// Work: O(count). Memory: one read of the values and head bits, one write of the results, 2 nodes for each tile.
// Workspace: a node for each tile, and one for each 256 of them.
// Result: the same for every size of tile and every schedule of the blocks.
#ifndef CORANK_KERNELS_CUDA_GROUP_RUN_REDUCE_CUH_
#define CORANK_KERNELS_CUDA_GROUP_RUN_REDUCE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/run_reduction.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/group/compact.cuh"
#include "kernels/cuda/group/group_reduce.h"
#include "kernels/cuda/group/group_tuning.h"
#include "kernels/cuda/group/tile_sums.cuh"

namespace corank::cuda {

template <typename Op>
using NodeOf = RunNode<typename Op::Sum>;

/// Joins the nodes of kLanes lanes into that of lane 0. The whole warp calls it; kLanes is a power of two up to 32.
template <int kLanes, typename Op, typename Finish>
__device__ __forceinline__ void JoinLanes(const Op& op, NodeOf<Op>& node, Finish finish) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    NodeOf<Op> right;
    right.lead = ShuffleDown(node.lead, step);
    right.tail = ShuffleDown(node.tail, step);
    right.has_head = ShuffleDown(static_cast<uint32_t>(node.has_head), step) != 0;
    right.heads = ShuffleDown(node.heads, step);
    if (lane % (2 * step) == 0 && lane < kLanes) node = JoinRuns(op, node, right, finish);
  }
}

/// Joins the nodes of all threads of the block into that of thread 0.
template <typename Op, typename Finish>
__device__ __forceinline__ void JoinBlock(const Op& op, NodeOf<Op>& node, NodeOf<Op>* s_nodes, Finish finish) {
  JoinLanes<32>(op, node, finish);
  if (threadIdx.x % 32 == 0) s_nodes[threadIdx.x / 32] = node;
  __syncthreads();
  if (threadIdx.x < 32) {
    node = s_nodes[threadIdx.x % GroupTuning::kWarps];
    JoinLanes<GroupTuning::kWarps>(op, node, finish);
  }
}

/// Writes the result of a run.
template <typename Op>
struct RunResults {
  Op op;
  typename Op::Out* out;
  FaultCell* overflow_cell;
  __device__ __forceinline__ void operator()(int64_t run, const typename Op::Sum& sum) const {
    typename Op::Out result;
    if (!op.Finish(sum, &result)) atomicMax(overflow_cell, PackFault(0, run));
    out[run] = result;
  }
};

/// The values of an array without nulls, and of one that may have them. Apart, because the tests for nulls take a
/// twelfth of the time.
template <typename V>
struct AllValues {
  using Value = V;
  static constexpr bool kHasNulls = false;

  const Value* values;
  int64_t count;
};
template <typename V>
struct ValidValues {
  using Value = V;
  static constexpr bool kHasNulls = true;

  const Value* values;  // null: each is 1
  int64_t count;
  const uint8_t* validity;  // null: every value counts
};

/// Loads this thread's consecutive values of a tile, those behind the array as 0, and nulls as `nothing`. Coalesced
/// through s_values.
template <typename Array>
__device__ __forceinline__ void LoadValues(const Array& array, int64_t tile, typename Array::Value nothing,
                                           typename Array::Value* s_values,
                                           typename Array::Value (&own)[GroupTuning::kRunItems]) {
  using Tuning = GroupTuning;
  using Value = typename Array::Value;
  const int64_t base = tile * Tuning::kRunTile;
  const int n = static_cast<int>(min(int64_t{Tuning::kRunTile}, array.count - base));
  const int thread = static_cast<int>(threadIdx.x);
  const bool are_ones = Array::kHasNulls && array.values == nullptr;
  const Value* const values = are_ones ? nullptr : array.values + base;
#pragma unroll
  for (int i = 0; i < Tuning::kRunItems; ++i) {
    const int place = i * Tuning::kThreads + thread;
    own[i] = place >= n ? Value{0} : are_ones ? Value{1} : values[place];
  }
#pragma unroll
  for (int i = 0; i < Tuning::kRunItems; ++i) {
    const int place = i * Tuning::kThreads + thread;
    s_values[Spread(place)] = own[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Tuning::kRunItems; ++i) own[i] = s_values[Spread(thread * Tuning::kRunItems + i)];
  if constexpr (Array::kHasNulls) {
    static_assert(Tuning::kRunItems == 8, "a byte of the bitmap for each thread");
    if (array.validity == nullptr || thread * Tuning::kRunItems >= n) return;
    const uint32_t is_valid = array.validity[base / 8 + thread];
#pragma unroll
    for (int i = 0; i < Tuning::kRunItems; ++i) {
      if ((is_valid >> i & 1) == 0) own[i] = nothing;
    }
  }
}

/// The sum of `own` over the earlier threads of the block. Waits for all of them.
template <typename T>
__device__ __forceinline__ T ScanBlock(T own, T* s_sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  T sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T other = ShuffleUp(sum, step);
    if (lane >= step) sum = sum + other;
  }
  if (lane == 31) s_sums[warp] = sum;
  __syncthreads();
  sum = sum - own;
  for (int i = 0; i < warp; ++i) sum = sum + s_sums[i];
  return sum;
}

/// The head bits of this thread's values.
__device__ __forceinline__ uint32_t OwnHeads(const uint32_t* head_bits, int64_t tile) {
  static_assert(GroupTuning::kRunItems == 8, "a byte of head bits for each thread");
  return reinterpret_cast<const uint8_t*>(head_bits + tile * (GroupTuning::kRunTile / 32))[threadIdx.x];
}

/// One thread. Leaves the node of a tile in which so many runs begin, or the last result if there is only one tile.
template <typename Op>
__device__ __forceinline__ void LeaveNode(const RunResults<Op>& results, const NodeOf<Op>& node, int64_t runs,
                                          NodeOf<Op>* nodes) {
  if (gridDim.x == 1) {
    results(node.heads + runs - 1, node.tail);
  } else {
    nodes[blockIdx.x] = node;
  }
}

template <typename Op, typename Array>
__global__ void __launch_bounds__(GroupTuning::kThreads)
    ReduceRunsKernel(RunResults<Op> results, Array array, const uint32_t* head_bits, const int64_t* runs_before,
                     NodeOf<Op>* nodes) {
  using Tuning = GroupTuning;
  using Value = typename Op::Value;
  using Sum = typename Op::Sum;
  constexpr int kItems = Tuning::kRunItems;
  __shared__ Value s_values[kSpreadTile];
  __shared__ typename Op::Out s_results[Tuning::kRunTile];
  __shared__ int s_heads[Tuning::kWarps];
  __shared__ NodeOf<Op> s_nodes[Tuning::kWarps];
  const Op& op = results.op;
  const int64_t tile = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const int n = static_cast<int>(min(int64_t{Tuning::kRunTile}, array.count - tile * Tuning::kRunTile));
  const uint32_t heads = OwnHeads(head_bits, tile);
  Value own[kItems];
  LoadValues(array, tile, op.Nothing(), s_values, own);
  const int before = ScanBlock(__popc(heads), s_heads);

  // Join. Runs count from the first one that begins in the tile. All that end here begin here too.
  const auto finish = [&](int64_t run, const Sum& sum) {
    if (!op.Finish(sum, &s_results[run])) {
      atomicMax(results.overflow_cell, PackFault(0, runs_before[tile] + run));
    }
  };
  NodeOf<Op> leaves[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const Sum value = thread * kItems + i < n ? op.FromValue(own[i]) : op.Identity();
    const bool is_head = (heads >> i & 1) != 0;
    leaves[i] = {is_head ? op.Identity() : value, value, is_head, before + __popc(heads & ((1u << i) - 1))};
  }
#pragma unroll
  for (int step = 1; step < kItems; step *= 2) {
#pragma unroll
    for (int i = 0; i < kItems; i += 2 * step) leaves[i] = JoinRuns(op, leaves[i], leaves[i + step], finish);
  }
  JoinBlock(op, leaves[0], s_nodes, finish);
  __syncthreads();

  const int64_t first_run = runs_before[tile];
  const int runs = static_cast<int>(runs_before[tile + 1] - first_run);
  for (int run = thread; run < runs - 1; run += Tuning::kThreads) results.out[first_run + run] = s_results[run];
  if (thread != 0) return;
  leaves[0].heads = first_run;
  LeaveNode(results, leaves[0], runs, nodes);
}

/// As ReduceRunsKernel, for operations whose sums can be subtracted.
template <typename Op, typename Array>
__global__ void __launch_bounds__(GroupTuning::kThreads)
    SubtractRunsKernel(RunResults<Op> results, Array array, const uint32_t* head_bits, const int64_t* runs_before,
                       NodeOf<Op>* nodes) {
  using Tuning = GroupTuning;
  using Value = typename Op::Value;
  using Sum = decltype(TileSumOf(Value{}));
  constexpr int kItems = Tuning::kRunItems;
  __shared__ union {
    Value values[kSpreadTile];
    TileSums<Sum> before;  // of each head, the sum of the values before it
  } s_tile;
  __shared__ int s_heads[Tuning::kWarps];
  __shared__ Sum s_sums[Tuning::kWarps];
  const int64_t tile = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const uint32_t heads = OwnHeads(head_bits, tile);
  Value own[kItems];
  LoadValues(array, tile, results.op.Nothing(), s_tile.values, own);
  Sum own_sum = TileSumOf(own[0]);
#pragma unroll
  for (int i = 1; i < kItems; ++i) own_sum = own_sum + TileSumOf(own[i]);
  int run = ScanBlock(__popc(heads), s_heads);
  Sum before = ScanBlock(own_sum, s_sums);  // waits for all threads: the values are read
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if ((heads >> i & 1) != 0) s_tile.before.Put(run++, before);
    before = before + TileSumOf(own[i]);
  }
  __syncthreads();

  const int64_t first_run = runs_before[tile];
  const int runs = static_cast<int>(runs_before[tile + 1] - first_run);
  for (run = thread; run < runs - 1; run += Tuning::kThreads) {
    results(first_run + run, (s_tile.before.Get(run + 1) - s_tile.before.Get(run)).Exact());
  }
  if (thread != Tuning::kThreads - 1) return;  // it knows the sum of all
  NodeOf<Op> node{before.Exact(), before.Exact(), runs > 0, first_run};
  if (runs > 0) {
    node.lead = s_tile.before.Get(0).Exact();
    node.tail = (before - s_tile.before.Get(runs - 1)).Exact();
  }
  LeaveNode(results, node, runs, nodes);
}

/// Joins 256 nodes in each block. `runs`: those of the whole array, read by the last launch.
template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kThreads)
    JoinNodesKernel(RunResults<Op> results, const NodeOf<Op>* nodes, int64_t count, const int64_t* all_runs,
                    NodeOf<Op>* joined) {
  __shared__ NodeOf<Op> s_nodes[GroupTuning::kWarps];
  const int64_t i = blockIdx.x * int64_t{GroupTuning::kThreads} + threadIdx.x;
  NodeOf<Op> node;
  if (i < count) {
    node = nodes[i];
  } else {
    node = {results.op.Identity(), results.op.Identity(), false, 0};  // never asked for its heads
  }
  JoinBlock(results.op, node, s_nodes, results);
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1) {
    results(*all_runs - 1, node.tail);
  } else {
    joined[blockIdx.x] = node;
  }
}

/// Enqueues the launch that reads the values.
template <typename Op, typename Array>
cudaError_t ReduceTiles(const RunResults<Op>& results, const Array& array, const RunValues& runs, NodeOf<Op>* nodes,
                        cudaStream_t stream) {
  const auto reduce = [] {
    if constexpr (Op::kSubtracts) {
      return SubtractRunsKernel<Op, Array>;
    } else {
      return ReduceRunsKernel<Op, Array>;
    }
  }();
  reduce<<<static_cast<unsigned>(RunTiles(runs.count)), GroupTuning::kThreads, 0, stream>>>(
      results, array, runs.head_bits, runs.runs_before, nodes);
  return cudaGetLastError();
}

/// Enqueues all launches.
template <typename Op>
cudaError_t ReduceRuns(const Op& op, const RunValues& runs, void* d_out, cudaStream_t stream) {
  using Value = typename Op::Value;
  constexpr int64_t kFan = GroupTuning::kThreads;
  const RunResults<Op> results{op, static_cast<typename Op::Out*>(d_out), runs.overflow_cell};
  int64_t count = RunTiles(runs.count);
  const int64_t* const all_runs = runs.runs_before + count;
  auto* from = static_cast<NodeOf<Op>*>(runs.nodes);
  auto* to = from + count;
  const auto* const values = static_cast<const Value*>(runs.values);
  CORANK_RETURN_IF_CUDA_ERROR(
      runs.validity == nullptr && values != nullptr
          ? ReduceTiles(results, AllValues<Value>{values, runs.count}, runs, from, stream)
          : ReduceTiles(results, ValidValues<Value>{values, runs.count, runs.validity}, runs, from, stream));
  while (count > 1) {
    const int64_t blocks = CeilDiv(count, kFan);
    JoinNodesKernel<<<static_cast<unsigned>(blocks), GroupTuning::kThreads, 0, stream>>>(results, from, count, all_runs,
                                                                                         to);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    from = to;
    to += blocks;
    count = blocks;
  }
  return cudaSuccess;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_GROUP_RUN_REDUCE_CUH_
