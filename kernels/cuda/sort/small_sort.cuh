// Small sort: arrays that are too short to fill the GPU tile by tile.
//
// Algorithm: sorts ranks, or ranks with indices (SmallForm), so that elements are either all different or identical
//            when equal. A block sorts with bitonic networks within warps and merges in shared memory
//            (small_tile_sort.cuh). SmallPlanFor chooses by count:
//            - one block;
//            - one cluster of blocks, each of which sorts a run and finds the places of its elements by their ranks in
//              the runs of all others (small_cluster.cuh);
//            - two launches. The first one sorts runs, one in each block. In the second one, each block picks two of
//              the samples of all runs, cuts every run at both (small_split.cuh), gathers the elements in between, in
//              the order of the runs, and sorts them. Samples cut only roughly into equal parts. A block whose part is
//              too long takes it in several steps, cut exactly by a search over the bits of the keys, slow and
//              rare. The second launch is a dependent one: its blocks are placed while the first one runs, after all
//              blocks of the first have started, so that no block waits for one that has no room.
// Work: O(n log n). The second launch also examines all samples in each block, O(n^2 / run^2).
// Memory: one read and one write of keys and payload, or two of each of keys; all of it stays in the L2 cache.
// Workspace: none; for a cluster one array of keys; for two launches one of elements and kSmallSamples keys for each
//            run.
// Stability: by index. Without one, equal keys have equal bits, or get their bits afterwards (float_bits.h).
// Source: K. E. Batcher, 1968; S. Odeh, O. Green et al., "Merge Path", 2012; H. Shi, J. Schaeffer, "Parallel Sorting by
//         Regular Sampling", 1992.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_SORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_SORT_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/common/merge_path.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/small_split.cuh"
#include "kernels/cuda/sort/small_tile_sort.cuh"

namespace corank::cuda {

template <SmallForm kForm>
struct SmallPass {
  AnyKeyOrder order;
  const void* keys_in;
  void* keys_out;          // null: the caller does not want keys
  const void* payload_in;  // null: the key's index
  void* payload_out;
  int payload_bytes;
  int result_count;
  SmallRuns<typename SmallElement<kForm>::Key> runs;
};

template <SmallForm kForm, int kItems>
struct SmallSorter {
  using Element = SmallElement<kForm>;
  using Key = typename Element::Key;

  struct Shared {
    SelectShared<Key> select;
    int warp_sizes[32], warp_starts[32];
  };

  const SmallPass<kForm>& pass;
  TileView<Element> tile;
  Shared& shared;
  int thread = static_cast<int>(threadIdx.x);
  int warp_first = WarpFirst<kItems>();

  static __device__ __forceinline__ int Capacity() { return static_cast<int>(blockDim.x) * kItems; }

  __device__ __forceinline__ void LoadInput(int start, int count, Element (&items)[kItems]) const {
    pass.order.template With<Element::kLeastBytes, Element::kMostBytes>([&](const auto& order) {
      using Bits = typename KeyOrderTraits<std::decay_t<decltype(order)>>::Bits;
      const auto* in = static_cast<const Bits*>(pass.keys_in) + start;
      Bits raw[kItems];
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (warp_first + k * 32 < count) raw[k] = in[warp_first + k * 32];
      }
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        const int i = warp_first + k * 32;
        items[k] =
            i < count ? Element::Make(order.RankOfRaw(raw[k]), static_cast<uint32_t>(start + i)) : Element::Last();
      }
    });
  }

  __device__ __forceinline__ void StoreRun(int run, int count, const Element (&items)[kItems]) const {
    Key* const samples = pass.runs.samples + run * kSmallSamples;
    const int offset = pass.runs.SampleOffset(run), window = pass.runs.Window();
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = warp_first + k * 32;
      if (i >= count) break;
      pass.runs.keys[run * pass.runs.tile + i] = items[k].key;
      if constexpr (Element::kHasIndex) pass.runs.indices[run * pass.runs.tile + i] = items[k].index;
      if (i % window == offset) samples[i / window] = items[k].key;
    }
    if (thread < kSmallSamples && pass.runs.SamplePosition(run, thread) >= count) samples[thread] = Element::Last().key;
  }

  static constexpr int kNowhere = 0x7FFFFFFF;

  template <typename Payload>
  __device__ __forceinline__ void StorePayload(const int (&places)[kItems], const Element (&items)[kItems]) const {
    const auto* in = static_cast<const Payload*>(pass.payload_in);
    Payload payload[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (places[k] >= pass.result_count) continue;
      payload[k] = in != nullptr ? in[items[k].Index()] : static_cast<Payload>(items[k].Index());
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (places[k] < pass.result_count) static_cast<Payload*>(pass.payload_out)[places[k]] = payload[k];
    }
  }

  /// Stores each item at its place in the result, unless the place is past the end.
  __device__ __forceinline__ void StoreAt(const int (&places)[kItems], const Element (&items)[kItems]) const {
    if (pass.keys_out != nullptr) {
      pass.order.template With<Element::kLeastBytes, Element::kMostBytes>([&](const auto& order) {
        using Traits = KeyOrderTraits<std::decay_t<decltype(order)>>;
        using Bits = typename Traits::Bits;
        Bits raw[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          if (places[k] >= pass.result_count) continue;
          raw[k] = Traits::kFloat && Element::kKnowsIndex ? static_cast<const Bits*>(pass.keys_in)[items[k].Index()]
                                                          : order.Decode(items[k].template Rank<Bits>());
        }
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          if (places[k] < pass.result_count) static_cast<Bits*>(pass.keys_out)[places[k]] = raw[k];
        }
      });
    }
    if constexpr (Element::kKnowsIndex) {
      if (pass.payload_bytes == 4) StorePayload<uint32_t>(places, items);
      if (pass.payload_bytes == 8) StorePayload<uint64_t>(places, items);
    }
  }

  /// Stores the first `count` items, which are sorted, from `start` on.
  __device__ __forceinline__ void StoreResult(int start, int count, const Element (&items)[kItems]) const {
    int places[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = warp_first + k * 32;
      places[k] = i < count ? start + i : kNowhere;
    }
    StoreAt(places, items);
  }

  /// Exclusive prefix sum of `size` over the threads. Also returns the sums of both arguments over all threads.
  __device__ __forceinline__ int Scan(int size, int start, int* all_sizes, int* all_starts) {
    const int lane = thread % 32, warp = thread / 32;
    int sum = size;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xFFFFFFFF, sum, step);
      sum += lane >= step ? other : 0;
    }
    start = __reduce_add_sync(0xFFFFFFFF, start);
    if (lane == 31) {
      shared.warp_sizes[warp] = sum;
      shared.warp_starts[warp] = start;
    }
    __syncthreads();
    const bool has = lane < static_cast<int>(blockDim.x) / 32;
    const int warp_size = has ? shared.warp_sizes[lane] : 0;
    *all_sizes = __reduce_add_sync(0xFFFFFFFF, warp_size);
    *all_starts = __reduce_add_sync(0xFFFFFFFF, has ? shared.warp_starts[lane] : 0);
    const int before = __reduce_add_sync(0xFFFFFFFF, lane < warp ? warp_size : 0);
    __syncthreads();
    return before + sum - size;
  }

  /// The cut of thread r in [low, high) of run r, such that all threads' cuts together contain `wanted` elements, which
  /// come before all others. Finds the greatest key with no more elements before it, bit by bit, and takes the first of
  /// its equals. Rare: only if the samples misled.
  __device__ __forceinline__ int ExactCut(int low, int high, int wanted) {
    const Key* keys = pass.runs.keys + int64_t{thread} * pass.runs.tile;
    const auto before = [](Key x, Key y) { return x < y; };
    Key pivot = 0;
    int unused = 0;
    for (int bit = 8 * static_cast<int>(sizeof(Key)) - 1; bit >= 0; --bit) {
      const Key candidate = static_cast<Key>(pivot | Key{1} << bit);
      int below = 0;
      Scan(LowerBound(keys + low, high - low, candidate, before), 0, &below, &unused);
      if (below <= wanted) pivot = candidate;
    }
    const int less = LowerBound(keys + low, high - low, pivot, before);
    const int equal = UpperBound(keys + low, high - low, pivot, before) - less;
    int all_less = 0, all_equal = 0;
    Scan(less, 0, &all_less, &unused);
    const int equal_before = Scan(equal, 0, &all_equal, &unused);
    return low + less + Min(equal, Max(0, wanted - all_less - equal_before));
  }

  /// Sorts `count` <= Capacity() elements to the result from out_start on. Thread r contributes elements of run r from
  /// `low` on, and `begin` is the number of elements from earlier runs.
  __device__ __forceinline__ void SortCut(int low, int begin, int count, int out_start) {
    int* const begins = reinterpret_cast<int*>(tile.keys);
    int* const shifts = begins + pass.runs.run_count;
    if (thread < pass.runs.run_count) {
      begins[thread] = begin;
      shifts[thread] = thread * pass.runs.tile + low - begin;
    }
    __syncthreads();
    int runs[kItems] = {};
    for (int step = 1 << (31 - __clz(pass.runs.run_count)); step > 0; step /= 2) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        const int run = runs[k] + step;
        if (run < pass.runs.run_count && begins[run] <= warp_first + k * 32) runs[k] = run;
      }
    }
    Element items[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = warp_first + k * 32;
      items[k] = Element::Last();
      if (i < count) {
        items[k].key = pass.runs.keys[i + shifts[runs[k]]];
        if constexpr (Element::kHasIndex) items[k].index = pass.runs.indices[i + shifts[runs[k]]];
      }
    }
    __syncthreads();
    SortTile(tile, count, items);
    StoreResult(out_start, count, items);
  }

  __device__ __forceinline__ void FromInput(bool to_run) {
    const int start = static_cast<int>(blockIdx.x) * pass.runs.tile;
    const int count = Min(pass.runs.tile, pass.runs.count - start);
    Element items[kItems];
    LoadInput(start, count, items);
    SortTile(tile, count, items);
    if (to_run) {
      StoreRun(static_cast<int>(blockIdx.x), count, items);
    } else {
      StoreResult(start, count, items);
    }
  }

  __device__ __forceinline__ void FromRuns() {
    const int bucket = static_cast<int>(blockIdx.x);
    const bool is_first = bucket == 0, is_last = bucket + 1 == static_cast<int>(gridDim.x);
    const int samples = pass.runs.run_count * kSmallSamples;
    const int from = bucket * kSmallSamples, to = from + kSmallSamples;
    SelectPivots(pass.runs.samples, tile.keys, samples, {is_first ? to : from, is_last ? from : to}, shared.select);
    int* const cuts[2] = {reinterpret_cast<int*>(tile.keys + samples),
                          reinterpret_cast<int*>(tile.keys + samples) + pass.runs.run_count};
    CutRuns(pass.runs, tile.keys, shared.select.pivots, cuts);
    __syncthreads();
    int low = 0, high = 0;
    if (thread < pass.runs.run_count) {
      low = is_first ? 0 : cuts[0][thread];
      high = is_last ? pass.runs.RunLength(thread) : cuts[1][thread];
    }
    while (true) {
      int count = 0, out_start = 0;
      int begin = Scan(high - low, low, &count, &out_start);
      if (out_start >= pass.result_count) return;
      const bool fits = count <= Capacity();
      int cut = high;
      if (!fits) {
        cut = ExactCut(low, high, Capacity());
        begin = Scan(cut - low, low, &count, &out_start);
      }
      SortCut(low, begin, count, out_start);
      if (fits) return;
      __syncthreads();
      low = cut;
    }
  }
};

enum class SmallStage {
  kAll,     // one block sorts everything
  kRuns,    // each block sorts a run of the input
  kBuckets  // each block sorts its share of all runs
};

template <SmallForm kForm, int kItems>
__global__ void __launch_bounds__(1024) SmallSortKernel(const SmallPass<kForm> pass, const SmallStage stage) {
  using Sorter = SmallSorter<kForm, kItems>;
  using Element = SmallElement<kForm>;
  extern __shared__ uint4 dynamic_shared[];
  __shared__ typename Sorter::Shared shared;
  auto* const keys = reinterpret_cast<typename Element::Key*>(dynamic_shared);
  const TileView<Element> tile{keys, reinterpret_cast<uint32_t*>(keys + Sorter::Capacity())};
  Sorter sorter{pass, tile, shared};
  if (stage == SmallStage::kBuckets) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    sorter.FromRuns();
  } else {
#if __CUDA_ARCH__ >= 900
    // The blocks of the second launch may take their places now. They wait there until all blocks of the first one end.
    if (stage == SmallStage::kRuns) asm volatile("griddepcontrol.launch_dependents;");
#endif
    sorter.FromInput(stage == SmallStage::kRuns);
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_SORT_CUH_
