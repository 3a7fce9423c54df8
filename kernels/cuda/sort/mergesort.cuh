// Mergesort: a tile sort, followed by merge passes until one run is left. A pass merges up to 32 runs into one.
//
// Algorithm: see tile_sort.cuh, row_sort.cuh and multiway_merge.cuh. Ranks travel between the passes: the first pass
//            converts keys to ranks, the last one converts ranks to keys. With `limit`, the last pass makes only the
//            tiles of the result. Zeros and NaNs of floats get their own bits at the end (float_bits.h).
// Work: O(n log n).
// Memory: 1 + log32(n / tile), rounded up, reads and writes of keys and payload. Pairs of 4 and 4 bytes lie in the
//         workspace as words, which the next pass loads as vectors.
// Workspace: one array of keys, one of payload; another of each if the result is shorter than the input or the caller
//            does not want keys; 8 bytes for each merge tile and each of its runs.
// Stability: stable.
// Source: S. Baxter, moderngpu, 2013; B. Karsin et al., "Analysis-driven engineering of comparison-based sorting
//         algorithms on GPUs", 2018 (multiway merge passes).
#ifndef CORANK_KERNELS_CUDA_SORT_MERGESORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_MERGESORT_CUH_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiway_merge.cuh"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/float_bits.h"
#include "kernels/cuda/sort/merge_plan.h"
#include "kernels/cuda/sort/mergesort_places.h"
#include "kernels/cuda/sort/rank_order.h"
#include "kernels/cuda/sort/row_sort.cuh"
#include "kernels/cuda/sort/tile_sort.cuh"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

template <MergeForm kForm, typename Order>
cudaError_t RunMergesort(const Order& order, const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  using Bits = typename KeyOrderTraits<Order>::Bits;
  constexpr MergesortTuning kTuning = MergesortTuningFor(sizeof(Bits), kForm);
  constexpr bool kPayload = kForm != MergeForm::kKeys;
  using Merge = MultiwayMerge<kForm, kTuning.merge.items, kTuning.merge.threads, kTuning.merge.blocks, EvenRuns<Bits>,
                              RankOrder<Bits>>;
  using Sort =
      std::conditional_t<kTuning.sort.items == kRow, RowSort<kTuning.sort.threads, kTuning.sort.blocks, Order>,
                         TileSort<kPayload, kTuning.sort.items, kTuning.sort.threads, kTuning.sort.blocks, Order>>;
  static_assert(Sort::kTile == kTuning.sort.Tile());

  const MergePlan plan(CeilDiv(sort.count, Sort::kTile), kTuning.max_ways_log);
  const int last_pass = plan.passes();
  const MergesortPlaces places(workspace, kForm, {sort.d_keys_out, sort.d_payload_out, 1}, sort.OutputsAreWhole(),
                               sort.count, sizeof(Bits), sort.payload_bytes, last_pass);
  const auto cut_of = [&](int merge) {
    const int64_t group = plan.RunsBefore(merge) * plan.WaysOf(merge) * Sort::kTile;
    const int64_t wanted = merge + 1 == last_pass ? sort.result_count : sort.count;
    return MultiwayTiles::Cut(sort.count, std::min(group, sort.count), wanted, Merge::MaxTile(plan.WaysOf(merge)));
  };
  int64_t split_count = 0;
  for (int merge = 0; merge < last_pass; ++merge) {
    split_count = std::max(split_count, Merge::SplitCount(cut_of(merge), plan.WaysOf(merge)));
  }
  int64_t* const d_splits = workspace.Carve<int64_t>(split_count);
  const bool restores = KeyOrderTraits<Order>::kFloat && sort.d_keys_out != nullptr;
  if (workspace.IsSizing()) return restores ? RestoreFloatBits(sort, workspace, stream) : cudaSuccess;

  typename Sort::Pass first{};
  first.order = order;
  first.keys_in = static_cast<const Bits*>(sort.d_keys_in);
  first.keys_out = static_cast<Bits*>(places.Output(0).keys);
  first.payload_in = sort.d_payload_in;
  first.payload_out = places.Output(0).payload;
  first.payload_bytes = sort.payload_bytes;
  first.count = sort.count;
  first.result_count = last_pass == 0 ? sort.result_count : sort.count;
  first.last = last_pass == 0;
  CORANK_RETURN_IF_CUDA_ERROR(LaunchTileSort<Sort>(first, stream));

  for (int merge = 0; merge < last_pass; ++merge) {
    const bool last = merge + 1 == last_pass;
    typename Merge::Pass pass{};
    const MergesortPlace in = places.Output(merge), out = places.Output(merge + 1);
    pass.runs.keys = static_cast<const Bits*>(in.keys);
    pass.runs.payload = in.payload;
    pass.runs.step = in.step;
    pass.runs.payload_bytes = sort.payload_bytes;
    pass.runs.count = sort.count;
    pass.runs.width = plan.RunsBefore(merge) * Sort::kTile;
    pass.runs.ways = plan.WaysOf(merge);
    pass.order = RankOrder<Bits>(order);
    pass.decode = last;
    pass.cut = cut_of(merge);
    pass.splits = d_splits;
    if (out.step == 2) {
      pass.words_out = static_cast<uint64_t*>(out.payload);
    } else {
      pass.keys_out = static_cast<Bits*>(out.keys);
      pass.payload_out = out.payload;
    }
    pass.payload_bytes = sort.payload_bytes;
    pass.result_count = last ? sort.result_count : sort.count;
    CORANK_RETURN_IF_CUDA_ERROR(Merge::Run(pass, stream));
  }
  return restores ? RestoreFloatBits(sort, workspace, stream) : cudaSuccess;
}

/// Mergesort for one kind of key: explicitly instantiated in the mergesort_u*.cu files, one for each key width.
template <typename Order>
cudaError_t MergesortWith(const Order& order, const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  return WithMergeForm<sizeof(typename KeyOrderTraits<Order>::Bits)>(sort.payload_bytes, [&](auto form) {
    return RunMergesort<decltype(form)::value>(order, sort, workspace, stream);
  });
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MERGESORT_CUH_
