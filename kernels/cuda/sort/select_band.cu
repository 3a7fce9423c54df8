// Selects the keys between two thresholds.
//
// Algorithm: SampleBandKernel copies samples from jittered places. Once a stable sort has ordered them, two of them
//            bound the results. BandKernel reads all keys, counts those below the band, and stores the indices of those
//            within it in shared memory. At its end, a block takes places for all of their records at once. If that
//            memory is full before, each warp takes places for each further tile.
// Work: O(n).
// Memory: one read of the keys, one write of the records of the selected ones.
// Workspace: a BandScratch, the samples and the records.
// Stability: none; the order of the records shows the indices where they matter.
#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/select_band.h"
#include "kernels/cuda/sort/select_tile.cuh"
#include "kernels/cuda/sort/selected_record.cuh"
#include "kernels/cuda/sort/statistics_device.cuh"

namespace corank::cuda {
namespace {

using Tuning = SelectionTuning;

constexpr int kSampleThreads = 256;
// More keys are selected than first ones, so that a block notes more before it takes places for each tile.
using NotedBand = NotedHits<4096>;

/// One end of the band.
template <typename Bits>
struct Bound {
  Bits rank;
  int64_t index;
};

template <typename Bits>
struct Selection {
  const Bits* keys;
  int64_t count;
  RankBand band;
  const uint32_t* order;  // numbers of the samples
  SelectedRecords records;
  int64_t capacity;
  BandScratch* scratch;
  StatisticsLetter* letter;

  template <bool kFloat>
  __device__ Bound<Bits> BoundAt(const KeyOrder<Bits, kFloat>& key_order, int64_t position) const {
    if (position < 0) return {Bits{0}, 0};
    if (position >= band.samples) return {static_cast<Bits>(~Bits{0}), INT64_MAX};
    uint32_t unused;
    const int64_t index = SampledPlace(order[position], band.samples, count, &unused);
    return {key_order.RankOfRaw(keys[index]), index};
  }
};

template <typename Bits>
struct BandBounds {
  Bound<Bits> low, high;

  /// Of a key whose rank may lie within the band.
  __device__ __forceinline__ bool IsBelow(Bits rank, int64_t index) const {
    return rank < low.rank || (rank == low.rank && index < low.index);
  }
  __device__ __forceinline__ bool IsAbove(Bits rank, int64_t index) const {
    return rank > high.rank || (rank == high.rank && index > high.index);
  }
  /// Whether this is sure of all keys of the rank.
  __device__ __forceinline__ bool IsRankBelow(Bits rank) const { return rank < low.rank; }
  __device__ __forceinline__ bool MayHold(Bits rank) const {
    return static_cast<Bits>(rank - low.rank) <= static_cast<Bits>(high.rank - low.rank);
  }
};

/// Where hits go.
template <typename Bits, bool kFloat>
struct BandSink {
  const KeyOrder<Bits, kFloat>& order;
  const Selection<Bits>& selection;

  __device__ __forceinline__ int64_t Take(uint32_t places) const {
    return static_cast<int64_t>(atomicAdd(&selection.scratch->selected, static_cast<unsigned long long>(places)));
  }
  __device__ __forceinline__ int64_t Capacity() const { return selection.capacity; }
  __device__ __forceinline__ void Put(int64_t place, int64_t index) const {
    const Bits raw = selection.keys[index];  // again: to carry it along takes registers or memory
    selection.records.Put(place, index, raw, order.RankOfRaw(raw));
  }
};

template <typename Bits>
__global__ void __launch_bounds__(kSampleThreads)
    SampleBandKernel(const Bits* keys, int64_t count, int64_t samples, Bits* sample, BandScratch* scratch) {
  const int64_t i = int64_t{blockIdx.x} * kSampleThreads + threadIdx.x;
  if (i == 0) *scratch = BandScratch();
  uint32_t unused;
  if (i < samples) sample[i] = keys[SampledPlace(i, samples, count, &unused)];
}

/// Puts the keys of the band in this thread's part of a tile, which begins at its key `at`, and counts those below it.
/// Only keys before vectors_end exist unless kWhole. Returns whether there is room for more. The whole warp calls it.
template <bool kWhole, typename Bits, bool kFloat, typename Sink>
__device__ __forceinline__ bool BandTile(const KeyOrder<Bits, kFloat>& order, const Bits* keys,
                                         const BandBounds<Bits>& bounds, int64_t at, int64_t vectors_end,
                                         const Sink& sink, uint32_t& below) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kVectors = Tuning::kVectors;
  constexpr int kStep = Tuning::kThreads * kPer;
  KeyVector<Bits> loaded[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (kWhole || at + v * kStep < vectors_end) loaded[v].Load(keys + at + v * kStep);
  }
  uint32_t near = 0;  // keys whose ranks may lie within the band
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (!kWhole && at + v * kStep >= vectors_end) continue;
      const Bits rank = order.RankOfRaw(loaded[v].keys[i]);
      below += bounds.IsRankBelow(rank) ? 1 : 0;
      near |= static_cast<uint32_t>(bounds.MayHold(rank)) << (v * kPer + i);
    }
  }
  if (!__any_sync(kAllLanes, near != 0)) return true;
  uint32_t hits = 0;
  for (; near != 0; near &= near - 1) {
    const int bit = __ffs(static_cast<int>(near)) - 1;
    const int64_t index = at + bit / kPer * kStep + bit % kPer;
    const Bits rank = order.RankOfRaw(keys[index]);
    const bool is_below = bounds.IsBelow(rank, index);
    below += is_below ? 1 : 0;
    if (!is_below && !bounds.IsAbove(rank, index)) hits |= 1u << bit;
  }
  return PutHits<Bits>(hits, at, sink);
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    BandKernel(const KeyOrder<Bits, kFloat> order, const Selection<Bits> selection) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kTile = Tuning::kThreads * Tuning::kVectors * kPer;
  static_assert(kPer * Tuning::kVectors <= 32, "a bit a key");
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t head = KeyVector<Bits>::CountBefore(selection.keys, selection.count);
  const int64_t vectors_end = selection.count - (selection.count - head) % kPer;
  __shared__ NotedBand noted;
  __shared__ BandBounds<Bits> shared_bounds;
  if (thread == 0) {
    shared_bounds = {selection.BoundAt(order, selection.band.low), selection.BoundAt(order, selection.band.high)};
  }
  const NotingSink<BandSink<Bits, kFloat>, NotedBand> sink{{order, selection}, noted};
  sink.Begin();
  __syncthreads();
  const BandBounds<Bits> bounds = shared_bounds;
  uint32_t below = 0;
  bool has_room = true;
  int64_t tile = head + int64_t{blockIdx.x} * kTile;
  for (; has_room && tile + kTile <= vectors_end; tile += int64_t{gridDim.x} * kTile) {
    has_room = BandTile<true>(order, selection.keys, bounds, tile + thread * kPer, vectors_end, sink, below);
  }
  if (has_room && tile < vectors_end) {
    BandTile<false>(order, selection.keys, bounds, tile + thread * kPer, vectors_end, sink, below);
  }
  if (blockIdx.x == 0 && thread < 32) {  // the keys before and after the vectors
    const int64_t at = thread < head ? thread : vectors_end + thread - head;
    bool is_hit = at < selection.count;
    if (is_hit) {
      const Bits rank = order.RankOfRaw(selection.keys[at]);
      const bool is_below = bounds.IsBelow(rank, at);
      below += is_below ? 1 : 0;
      is_hit = !is_below && !bounds.IsAbove(rank, at);
    }
    PutHits<Bits>(is_hit ? 1 : 0, at, sink);
  }
  below = __reduce_add_sync(kAllLanes, below);
  if (thread % 32 == 0) atomicAdd(&selection.scratch->below, static_cast<unsigned long long>(below));
  sink.End();
  if (thread != 0 || !IsLastBlock(&selection.scratch->blocks_done)) return;
  selection.letter->selected = *static_cast<volatile unsigned long long*>(&selection.scratch->selected);
  selection.letter->below = *static_cast<volatile unsigned long long*>(&selection.scratch->below);
  SendLetter(selection.letter);
}

}  // namespace

cudaError_t SampleBand(const SortArgs& args, const MiddlePlan& plan, void* d_sample, BandScratch* d_scratch,
                       cudaStream_t stream) {
  return WithKeyOrder(args.key_type, args.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    const auto blocks = static_cast<unsigned>(CeilDiv(plan.band.samples, kSampleThreads));
    SampleBandKernel<<<blocks, kSampleThreads, 0, stream>>>(static_cast<const Bits*>(args.keys_in), args.count,
                                                            plan.band.samples, static_cast<Bits*>(d_sample), d_scratch);
    return cudaGetLastError();
  });
}

cudaError_t SelectBand(const SortArgs& args, const MiddlePlan& plan, const uint32_t* d_order, void* d_records,
                       BandScratch* d_scratch, StatisticsLetter* h_letter, cudaStream_t stream) {
  return WithKeyOrder(args.key_type, args.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    if constexpr (sizeof(Bits) == 1) {
      return cudaErrorInvalidValue;  // no plan selects these
    } else {
      const Selection<Bits> selection{static_cast<const Bits*>(args.keys_in),
                                      args.count,
                                      plan.band,
                                      d_order,
                                      {d_records, plan.form, IndexBytes(args.count - 1)},
                                      plan.capacity,
                                      d_scratch,
                                      h_letter};
      const int64_t tile = int64_t{Tuning::kThreads} * Tuning::kVectors * KeyVector<Bits>::kPer;
      const int64_t blocks = std::min<int64_t>(CeilDiv(args.count, tile), Tuning::kBlocks * kTunedMultiprocessors);
      BandKernel<<<static_cast<unsigned>(blocks), Tuning::kThreads, 0, stream>>>(order, selection);
      return cudaGetLastError();
    }
  });
}

}  // namespace corank::cuda
