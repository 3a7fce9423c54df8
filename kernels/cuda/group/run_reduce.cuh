// Reduces runs of values in the fixed tree of run_reduction.h.
//
// Algorithm: a thread joins its 8 values, a warp its threads by shuffles, a block its warps: each step joins neighbours
//            of the tree. Runs within the tile go through shared memory to consecutive results. One node for each tile
//            is left, and further launches join those, 256 at a time, until one is left.
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

namespace corank::cuda {

/// A value of the lane `step` lanes on. T has whole words.
template <typename T>
__device__ __forceinline__ T ShuffleDown(T value, int step) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(__shfl_down_sync(~0u, static_cast<uint32_t>(value), step));
  } else {
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (uint32_t& word : words) word = __shfl_down_sync(~0u, word, step);
    memcpy(&value, words, sizeof(T));
    return value;
  }
}

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

template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kThreads)
    ReduceRunsKernel(RunResults<Op> results, const typename Op::Value* values, int64_t count, const uint32_t* head_bits,
                     const TileSum* sums, NodeOf<Op>* nodes) {
  using Tuning = GroupTuning;
  using Value = typename Op::Value;
  using Sum = typename Op::Sum;
  constexpr int kItems = Tuning::kItems;
  static_assert(kItems == 8, "a byte of head bits for each thread");
  // A thread reads consecutive values. One place more for each thread keeps its neighbours out of its bank.
  __shared__ Value s_values[Tuning::kTile + Tuning::kThreads];
  __shared__ typename Op::Out s_results[Tuning::kTile];
  __shared__ int s_heads[Tuning::kWarps];
  __shared__ NodeOf<Op> s_nodes[Tuning::kWarps];
  const Op& op = results.op;
  const int64_t tile = blockIdx.x, base = tile * Tuning::kTile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int n = static_cast<int>(min(int64_t{Tuning::kTile}, count - base));

  // Load.
  Value loaded[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int place = i * Tuning::kThreads + thread;
    if (place < n) loaded[i] = values[base + place];
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int place = i * Tuning::kThreads + thread;
    if (place < n) s_values[place + place / kItems] = loaded[i];
  }
  const uint32_t heads = reinterpret_cast<const uint8_t*>(head_bits + base / 32)[thread];
  const int own_heads = __popc(heads);
  int before = own_heads;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, before, step);
    if (lane >= step) before += other;
  }
  if (lane == 31) s_heads[warp] = before;
  before -= own_heads;
  __syncthreads();
  for (int i = 0; i < warp; ++i) before += s_heads[i];

  // Join. Runs count from the first one that begins in the tile. All that end here begin here too.
  const auto finish = [&](int64_t run, const Sum& sum) {
    if (!op.Finish(sum, &s_results[run])) {
      atomicMax(results.overflow_cell, PackFault(0, KeptBefore(sums, tile) + run));
    }
  };
  NodeOf<Op> leaves[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int place = thread * kItems + i;
    const Sum value = place < n ? op.FromValue(s_values[place + thread]) : op.Identity();
    const bool is_head = (heads >> i & 1) != 0;
    leaves[i] = {is_head ? op.Identity() : value, value, is_head, before + __popc(heads & ((1u << i) - 1))};
  }
#pragma unroll
  for (int step = 1; step < kItems; step *= 2) {
#pragma unroll
    for (int i = 0; i < kItems; i += 2 * step) leaves[i] = JoinRuns(op, leaves[i], leaves[i + step], finish);
  }
  JoinBlock(op, leaves[0], s_nodes, finish);

  // Store.
  const int64_t runs_before = KeptBefore(sums, tile);
  const int runs = static_cast<int>(KeptBefore(sums, tile + 1) - runs_before);
  __syncthreads();
  for (int run = thread; run < runs - 1; run += Tuning::kThreads) results.out[runs_before + run] = s_results[run];
  if (thread == 0) {
    NodeOf<Op> node = leaves[0];
    node.heads = runs_before;
    if (gridDim.x == 1) {
      results(runs - 1, node.tail);
    } else {
      nodes[tile] = node;
    }
  }
}

/// Joins 256 nodes in each block. `runs`: those of the whole array, read by the last launch.
template <typename Op>
__global__ void __launch_bounds__(GroupTuning::kThreads)
    JoinNodesKernel(RunResults<Op> results, const NodeOf<Op>* nodes, int64_t count, const TileSum* last_sum,
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
    results(static_cast<int64_t>(*last_sum & kSumMask) - 1, node.tail);
  } else {
    joined[blockIdx.x] = node;
  }
}

/// Enqueues all launches.
template <typename Op>
cudaError_t ReduceRuns(const Op& op, const RunValues& runs, void* d_out, cudaStream_t stream) {
  constexpr int64_t kFan = GroupTuning::kThreads;
  const RunResults<Op> results{op, static_cast<typename Op::Out*>(d_out), runs.overflow_cell};
  int64_t count = CompactTiles(runs.count);
  const TileSum* const last_sum = runs.sums + (count - 1);
  auto* from = static_cast<NodeOf<Op>*>(runs.nodes);
  auto* to = from + count;
  ReduceRunsKernel<<<static_cast<unsigned>(count), GroupTuning::kThreads, 0, stream>>>(
      results, static_cast<const typename Op::Value*>(runs.values), runs.count, runs.head_bits, runs.sums, from);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  while (count > 1) {
    const int64_t blocks = CeilDiv(count, kFan);
    JoinNodesKernel<<<static_cast<unsigned>(blocks), GroupTuning::kThreads, 0, stream>>>(results, from, count, last_sum,
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
