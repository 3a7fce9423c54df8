// Finds the start of each tile of a k-way merge in each run: for each tile, one co-rank for each run.
//
// Algorithm: selection in k sorted runs by one group of lanes, one lane for each run. In each round, every lane offers
//            the key at the wanted fraction of the rest of its run. The weighted median of the offers becomes the
//            pivot. Each lane counts its keys before the pivot, galloping from its own offer, and either these keys or
//            the others are settled. Keys are ordered by (rank, run, position), so that a pivot never splits equal keys
//            unstably. A tile may start up to `slack` outputs early, which saves the last rounds. If there are many
//            tiles, one of kMultiwayCoarse is found this way, and each of the others between two of these.
// Work: O(ways log width) a round. A round settles at least a quarter of the rest; mixed runs take two rounds.
// Memory: 20 to 40 keys for each tile and run, mostly from the caches.
// Workspace: 8 bytes for each tile and run.
// Stability: equal keys of an earlier run come first.
// Source: P. Varman et al., "Merging multiple lists on hierarchical-memory multiprocessors", 1991 (multisequence
//         selection); the pivot rule after Frederickson and Johnson, 1982.
#ifndef CORANK_KERNELS_CUDA_COMMON_MULTIWAY_PARTITION_CUH_
#define CORANK_KERNELS_CUDA_COMMON_MULTIWAY_PARTITION_CUH_

#include <cstdint>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/multiway_search.h"

namespace corank::cuda {

inline constexpr int kMultiwayPartitionThreads = 128;

/// The lanes of a warp that work on one tile: `lanes` of them, a power of two. This thread is lane number `lane`.
struct LaneGroup {
  int lanes;
  int lane;
  unsigned mask;

  __device__ __forceinline__ explicit LaneGroup(int lanes_in_group) : lanes(lanes_in_group) {
    const int in_warp = static_cast<int>(threadIdx.x % 32);
    lane = in_warp % lanes;
    mask = (lanes == 32 ? ~0u : (1u << lanes) - 1) << (in_warp - lane);
  }
  template <typename T>
  __device__ __forceinline__ T Get(T value, int from) const {
    return __shfl_sync(mask, value, from, lanes);
  }
  __device__ __forceinline__ int64_t Sum(int64_t value) const {
    for (int step = lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(mask, value, step, lanes);
    return value;
  }
};

/// Sorted runs of up to 2^41 keys need fewer rounds. Unsorted runs might never finish.
inline constexpr int kMaxSelectRounds = 128;

/// How many of the first `target` outputs, or of up to `slack` fewer, come from this lane's run: between `low` and
/// `high`.
template <SearchWidth kWidth, typename Bits, typename RankOf>
__device__ __forceinline__ int64_t SelectCoRankFrom(const LaneGroup& group, const Run<Bits>& run, int64_t low,
                                                    int64_t high, int64_t target, int64_t slack, RankOf rank) {
  using Rank = decltype(rank(Bits{}));
  for (int round = 0; round < kMaxSelectRounds; ++round) {
    const int64_t left = high - low;
    const int64_t all_left = group.Sum(left);
    const int64_t need = target - group.Sum(low);
    if (need <= slack) return low;
    if (need >= all_left) return high;

    // Aims at the middle of the acceptable range.
    const double fraction = static_cast<double>(need - slack / 2) / static_cast<double>(all_left);
    const int64_t offer = left == 0 ? low : low + min(left - 1, static_cast<int64_t>(fraction * left));
    const Rank own = left == 0 ? Rank{} : rank(run.Key(offer));

    // Weights have 26 bits, so that the sum of 32 of them fits into 32 bits.
    const int shift = max(0, 64 - 26 - __clzll(all_left));
    const uint32_t weight = left == 0 ? 0 : max(1u, static_cast<uint32_t>(left >> shift));
    uint32_t before = 0, all_weight = 0;
#pragma unroll 4
    for (int other = 0; other < group.lanes; ++other) {
      const Rank its = group.Get(own, other);
      const uint32_t its_weight = group.Get(weight, other);
      all_weight += its_weight;
      if (its < own || (its == own && other < group.lane)) before += its_weight;
    }
    const bool is_median = left != 0 && before <= all_weight / 2 && before + weight > all_weight / 2;
    const unsigned medians = __ballot_sync(group.mask, is_median) & group.mask;
    const int pivot_lane = (__ffs(medians) - 1) % group.lanes;
    const Rank pivot = group.Get(own, pivot_lane);

    const bool from_earlier = group.lane <= pivot_lane;
    const auto before_pivot = [&](const Rank& key) { return key < pivot || (from_earlier && key == pivot); };
    int64_t counted = low;
    if (group.lane == pivot_lane) {
      counted = offer + 1;
    } else if (left != 0) {
      const bool up = before_pivot(own);
      counted = Gallop<kWidth>(low, high, up ? offer + 1 : offer, up, GallopStep(min(offer - low, high - offer)),
                               [&](int64_t position) { return before_pivot(rank(run.Key(position))); });
    }
    if (group.Sum(counted - low) <= need) {
      low = counted;
    } else {
      high = group.lane == pivot_lane ? offer : counted;
    }
  }
  return low;
}

/// As SelectCoRankFrom, without known bounds.
template <typename Bits, typename RankOf>
__device__ __forceinline__ int64_t SelectCoRank(const LaneGroup& group, const Run<Bits>& run, int64_t target,
                                                int64_t slack, RankOf rank) {
  return SelectCoRankFrom<SearchWidth::kNarrow>(group, run, int64_t{0}, min(run.count, target), target, slack, rank);
}

/// splits[tile * ways + way] becomes the start of the tile in that run of its group. `lanes` is the least power of two
/// >= ways. Without kFine: tiles 0, `coarse_step` and so on of each group. With kFine: the other tiles, each between
/// two of those, which are kMultiwayCoarse apart.
template <bool kFine, typename Runs, typename RankOf>
__global__ void __launch_bounds__(kMultiwayPartitionThreads)
    MultiwayPartitionKernel(const __grid_constant__ Runs runs, MultiwayTiles cut, int lanes, int coarse_step,
                            RankOf rank, int64_t* splits) {
  const int64_t step = kFine ? kMultiwayCoarse : coarse_step;
  const LaneGroup lane_group(lanes);
  const int64_t number = (int64_t{blockIdx.x} * kMultiwayPartitionThreads + threadIdx.x) / lanes;
  const int64_t coarse_per_group = CeilDiv(cut.tiles_per_group, step);
  const int64_t group = number / (kFine ? cut.tiles_per_group : coarse_per_group);
  const int64_t in_group = kFine ? number % cut.tiles_per_group : number % coarse_per_group * step;
  const int64_t tile = group * cut.tiles_per_group + in_group;
  if (tile >= cut.tiles + 1 || (kFine && in_group % step == 0)) return;
  const int64_t target = in_group * cut.tile;
  auto run = runs.RunAt(0, 0);
  run.count = 0;
  if (lane_group.lane < runs.ways && runs.GroupCount(group) > 0) run = runs.RunAt(group, lane_group.lane);
  int64_t low = 0, high = min(run.count, target);
  if (kFine && lane_group.lane < runs.ways) {
    const int64_t before = tile - in_group % step, after = before + step;
    low = min(max(int64_t{0}, splits[before * runs.ways + lane_group.lane]), high);
    if (in_group / step < (cut.tiles_per_group - 1) / step && after <= cut.tiles) {
      high = max(low, min(high, splits[after * runs.ways + lane_group.lane]));
    }
  }
  // Searches in whole runs are few and mostly wait for memory.
  constexpr SearchWidth kWidth = kFine ? SearchWidth::kNarrow : SearchWidth::kWide;
  const int64_t split = target == 0 ? 0 : SelectCoRankFrom<kWidth>(lane_group, run, low, high, target, cut.slack, rank);
  if (lane_group.lane < runs.ways) splits[tile * runs.ways + lane_group.lane] = split;
}

/// Enqueues one or both kernels. Each tile gets a warp, or the least power of two of its lanes that suffices.
template <typename Runs, typename RankOf>
cudaError_t LaunchMultiwayPartition(const Runs& runs, const MultiwayTiles& cut, const RankOf& rank, int64_t* splits,
                                    cudaStream_t stream) {
  const int lanes = 1 << CeilLog2(runs.ways);
  const int64_t groups = CeilDiv(cut.tiles + 1, cut.tiles_per_group);
  const int step = cut.tiles <= kMultiwayShort ? 1 : kMultiwayCoarse;
  const int64_t coarse = groups * CeilDiv(cut.tiles_per_group, step);
  MultiwayPartitionKernel<false><<<static_cast<unsigned>(CeilDiv(coarse * lanes, kMultiwayPartitionThreads)),
                                   kMultiwayPartitionThreads, 0, stream>>>(runs, cut, lanes, step, rank, splits);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  if (step == 1) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(CeilDiv((cut.tiles + 1) * lanes, kMultiwayPartitionThreads));
  MultiwayPartitionKernel<true><<<blocks, kMultiwayPartitionThreads, 0, stream>>>(runs, cut, lanes, step, rank, splits);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MULTIWAY_PARTITION_CUH_
