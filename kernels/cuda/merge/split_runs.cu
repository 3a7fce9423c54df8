// Finds the cuts of a k-way merge.
//
// Algorithm: SelectCoRank (multiway_partition.cuh) without slack. Each cut gets a warp, or the least power of two of
//            its lanes that suffices, with one lane for each run.
// Work: O(k log n) for each round and cut, a few rounds.
// Memory: 20 to 60 keys for each cut and run.
// Workspace: none.
// Stability: equal keys of an earlier run come first.
#include <limits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/multiway_partition.cuh"
#include "kernels/cuda/merge/split_runs.h"

namespace corank::cuda {
namespace {

static_assert(kMaxSplitInputs <= kMaxWays);

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(kMultiwayPartitionThreads)
    SplitRunsKernel(const __grid_constant__ ListedRuns<Bits> runs, const int64_t* positions, int64_t position_count,
                    int lanes, KeyOrder<Bits, kFloat> order, int64_t* splits) {
  const LaneGroup group(lanes);
  const int64_t cut = (int64_t{blockIdx.x} * kMultiwayPartitionThreads + threadIdx.x) / lanes;
  if (cut >= position_count) return;
  Run<Bits> run = runs.RunAt(0, 0);
  run.count = 0;
  if (group.lane < runs.ways) run = runs.RunAt(0, group.lane);
  const int64_t split =
      SelectCoRank(group, run, positions[cut], 0, [&order](Bits raw) { return order.RankOfRaw(raw); });
  if (group.lane < runs.ways) splits[cut * runs.ways + group.lane] = split;
}

}  // namespace

cudaError_t SplitRuns(const SplitArgs& args, const int64_t* d_positions, int64_t* d_splits, cudaStream_t stream) {
  if (args.input_count < 1 || args.input_count > kMaxSplitInputs) return cudaErrorInvalidValue;
  const int lanes = 1 << CeilLog2(args.input_count);
  const int64_t blocks = CeilDiv(args.position_count * lanes, kMultiwayPartitionThreads);
  if (blocks == 0) return cudaSuccess;
  if (blocks > std::numeric_limits<int32_t>::max()) return cudaErrorInvalidValue;
  return WithKeyOrder(args.key_type, args.order, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    ListedRuns<Bits> runs{};
    runs.ways = args.input_count;
    for (int i = 0; i < args.input_count; ++i) {
      runs.runs[i] = {static_cast<const Bits*>(args.inputs[i].keys), nullptr, args.inputs[i].count, 0};
      runs.count += args.inputs[i].count;
    }
    SplitRunsKernel<<<static_cast<unsigned>(blocks), kMultiwayPartitionThreads, 0, stream>>>(
        runs, d_positions, args.position_count, lanes, order, d_splits);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
