// Finds the share of a block of the small sort's second launch in all runs.
#ifndef CORANK_KERNELS_CUDA_SORT_SMALL_SPLIT_CUH_
#define CORANK_KERNELS_CUDA_SORT_SMALL_SPLIT_CUH_

#include <cstdint>

#include "kernels/cuda/sort/small_runs.h"
#include "kernels/cuda/sort/small_sort_tuning.h"

namespace corank::cuda {

/// A sample, and therefore a cut through all runs: the elements before it, with ties broken by run and position.
template <typename Key>
struct Pivot {
  Key key;
  int id;  // run * kSmallSamples + sample
};

inline constexpr int kSelectBins = 256;
/// Up to this many samples are ranked by comparing all pairs.
inline constexpr int kSelectFinalists = 64;

template <typename Key>
struct SelectShared {
  alignas(16) uint32_t histogram[2][kSelectBins];
  Key warp_ones[32], warp_zeros[32];
  uint32_t digit[2], rank[2], left[2], listed[2];
  Pivot<Key> finalists[2][kSelectFinalists];
  Pivot<Key> pivots[2];
};

__device__ __forceinline__ uint32_t WarpAnd(uint32_t x) { return __reduce_and_sync(0xFFFFFFFF, x); }
__device__ __forceinline__ uint64_t WarpAnd(uint64_t x) {
  return static_cast<uint64_t>(WarpAnd(static_cast<uint32_t>(x >> 32))) << 32 | WarpAnd(static_cast<uint32_t>(x));
}
__device__ __forceinline__ int BitLength(uint32_t x) { return 32 - __clz(static_cast<int>(x)); }
__device__ __forceinline__ int BitLength(uint64_t x) { return 64 - __clzll(static_cast<long long>(x)); }

/// Calls fn(i, keys[i]) for this thread's share of [0, count), with several loads in flight.
template <typename Key, typename Fn>
__device__ __forceinline__ void ForEachSample(const Key* keys, int count, Fn fn) {
  constexpr int kBatch = 4;
  const int threads = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kBatch * threads) {
    Key loaded[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * threads < count) loaded[k] = keys[first + k * threads];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * threads < count) fn(first + k * threads, loaded[k]);
    }
  }
}

/// The bin of a histogram that contains element `wanted` in order. The whole warp calls it; it clears the histogram.
__device__ __forceinline__ void FindBin(uint32_t* histogram, uint32_t wanted, uint32_t* bin, uint32_t* rank,
                                        uint32_t* size) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  constexpr int kBins = kSelectBins / 32;
  uint32_t bins[kBins], sum = 0;
#pragma unroll
  for (int i = 0; i < kBins; i += 4) {
    auto* const vector = reinterpret_cast<uint4*>(histogram + lane * kBins + i);
    const uint4 four = *vector;
    *vector = make_uint4(0, 0, 0, 0);
    bins[i] = four.x;
    bins[i + 1] = four.y;
    bins[i + 2] = four.z;
    bins[i + 3] = four.w;
    sum += four.x + four.y + four.z + four.w;
  }
  uint32_t before = sum;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_up_sync(0xFFFFFFFF, before, step);
    before += lane >= step ? other : 0;
  }
  before -= sum;
  if (wanted - before >= sum) return;  // wraps around if `wanted` lies in an earlier bin
#pragma unroll
  for (int i = 0; i < kBins; ++i) {
    if (wanted - before < bins[i]) {
      *bin = static_cast<uint32_t>(lane * kBins + i);
      *rank = wanted - before;
      *size = bins[i];
    }
    before += bins[i];
  }
}

/// Copies the samples to shared memory and finds those of two ranks, with ties broken by id: a radix select, most
/// significant digit first, from the first bit in which samples differ, until few are left. All threads call it, at
/// least 2 * kSelectFinalists of them. Ends with a barrier.
template <typename Key>
__device__ __forceinline__ void SelectPivots(const Key* d_samples, Key* samples, int count, const int (&ranks)[2],
                                             SelectShared<Key>& shared) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  Key ones = static_cast<Key>(~Key{0}), zeros = static_cast<Key>(~Key{0});
  ForEachSample(d_samples, count, [&](int i, Key key) {
    samples[i] = key;
    ones &= key;
    zeros &= static_cast<Key>(~key);
  });
  ones = WarpAnd(ones);
  zeros = WarpAnd(zeros);
  if (lane == 0) {
    shared.warp_ones[warp] = ones;
    shared.warp_zeros[warp] = zeros;
  }
  for (int i = thread; i < 2 * kSelectBins; i += static_cast<int>(blockDim.x)) (&shared.histogram[0][0])[i] = 0;
  if (thread < 2) shared.listed[thread] = 0;
  __syncthreads();
  const bool has = lane < static_cast<int>(blockDim.x) / 32;
  ones = WarpAnd(has ? shared.warp_ones[lane] : static_cast<Key>(~Key{0}));
  zeros = WarpAnd(has ? shared.warp_zeros[lane] : static_cast<Key>(~Key{0}));

  // A candidate for pivot t agrees with keys[t] in the key bits of key_mask[t], and with ids[t] in the id bits of
  // id_mask[t].
  Key keys[2] = {ones, ones}, key_mask[2] = {0, 0};
  uint32_t ids[2] = {0, 0}, id_mask[2] = {0, 0};
  uint32_t left[2] = {static_cast<uint32_t>(count), static_cast<uint32_t>(count)};
  uint32_t rank[2] = {static_cast<uint32_t>(ranks[0]), static_cast<uint32_t>(ranks[1])};
  const auto is_candidate = [&](int t, Key key, int id) {
    return (((key ^ keys[t]) & key_mask[t]) == 0) & (((static_cast<uint32_t>(id) ^ ids[t]) & id_mask[t]) == 0);
  };
  int key_bits = BitLength(static_cast<Key>(~(ones | zeros)));
  int id_bits = BitLength(static_cast<uint32_t>(count - 1));
  while (left[0] > kSelectFinalists || left[1] > kSelectFinalists) {
    const bool by_key = key_bits > 0;
    const int shift = Max(0, (by_key ? key_bits : id_bits) - 8);
    ForEachSample(samples, count, [&](int i, Key key) {
      const uint32_t digit =
          (by_key ? static_cast<uint32_t>(key >> shift) : static_cast<uint32_t>(i) >> shift) % kSelectBins;
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        if (left[t] > kSelectFinalists && is_candidate(t, key, i)) atomicAdd(&shared.histogram[t][digit], 1u);
      }
    });
    __syncthreads();
    if (warp == 0) FindBin(shared.histogram[0], rank[0], &shared.digit[0], &shared.rank[0], &shared.left[0]);
    if (warp == 1) FindBin(shared.histogram[1], rank[1], &shared.digit[1], &shared.rank[1], &shared.left[1]);
    __syncthreads();
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      if (left[t] <= kSelectFinalists) continue;
      rank[t] = shared.rank[t];
      left[t] = shared.left[t];
      if (by_key) {
        const Key mask = static_cast<Key>(Key{kSelectBins - 1} << shift);
        keys[t] = static_cast<Key>((keys[t] & ~mask) | static_cast<Key>(Key{shared.digit[t]} << shift));
        key_mask[t] = static_cast<Key>(~Key{0} << shift);
      } else {
        const uint32_t mask = uint32_t{kSelectBins - 1} << shift;
        ids[t] = (ids[t] & ~mask) | shared.digit[t] << shift;
        id_mask[t] = ~uint32_t{0} << shift;
      }
    }
    (by_key ? key_bits : id_bits) = shift;
  }

  ForEachSample(samples, count, [&](int i, Key key) {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      if (is_candidate(t, key, i)) shared.finalists[t][atomicAdd(&shared.listed[t], 1u)] = {key, i};
    }
  });
  __syncthreads();
  const int t = thread / kSelectFinalists, finalist = thread % kSelectFinalists;
  if (t < 2) {
    const int size = static_cast<int>(t == 0 ? left[0] : left[1]);
    if (finalist < size) {
      const Pivot<Key> own = shared.finalists[t][finalist];
      uint32_t before = 0;
#pragma unroll 8
      for (int i = 0; i < size; ++i) {
        const Pivot<Key> other = shared.finalists[t][i];
        before += (other.key < own.key) | ((other.key == own.key) & (other.id < own.id));
      }
      if (before == (t == 0 ? rank[0] : rank[1])) shared.pivots[t] = own;
    }
  }
  __syncthreads();
}

/// cuts[t][run] = the number of elements of the run that come before pivot t. All threads call it; contains no barrier.
template <typename Key>
__device__ __forceinline__ void CutRuns(const SmallRuns<Key>& runs, const Key* samples, const Pivot<Key> (&pivots)[2],
                                        int* const (&cuts)[2]) {
  constexpr int kLanes = 8;  // work together: on the samples of a run, then on the window between two of them
  constexpr int kEach = kSmallSamples / kLanes;
  constexpr int kBatch = 2;
  struct alignas(16) SampleVector {
    Key keys[kEach];
  };
  const int sub = static_cast<int>(threadIdx.x % kLanes), group = static_cast<int>(threadIdx.x / kLanes);
  const int groups = static_cast<int>(blockDim.x / kLanes);
  const auto sum_lanes = [](int x) {
#pragma unroll
    for (int lanes = 1; lanes < kLanes; lanes *= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, lanes);
    return x;
  };
  const int t = group % 2;  // the number of groups is even: each cuts by one pivot
  const Pivot<Key> pivot = pivots[t];
  const int own = pivot.id / kSmallSamples;
  const int window = runs.Window();
  const int pairs = groups / 2;
  for (int base = 0; base < runs.run_count; base += kBatch * pairs) {
    const int first = base + group / 2;
    int begins[kBatch], ends[kBatch], counts[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int run = Min(first + k * pairs, runs.run_count - 1);
      const SampleVector vector = *reinterpret_cast<const SampleVector*>(samples + run * kSmallSamples + sub * kEach);
      int below = 0;
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        below += (vector.keys[i] < pivot.key) | ((vector.keys[i] == pivot.key) & (run < own));
      below = sum_lanes(below);
      const int length = runs.RunLength(run), position = runs.SamplePosition(run, below);
      begins[k] = below == 0 ? 0 : Min(length, position - window + 1);
      ends[k] = below == kSmallSamples ? length : Min(length, position);
      if (run == own) begins[k] = ends[k] = runs.SamplePosition(run, pivot.id % kSmallSamples);
      counts[k] = 0;
    }
    for (int chunk = sub; chunk - sub < window; chunk += kSmallSamples) {
      Key loaded[kBatch][kEach];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const Key* keys = runs.keys + Min(first + k * pairs, runs.run_count - 1) * runs.tile;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          const int position = begins[k] + chunk + i * kLanes;
          if (position < ends[k]) loaded[k][i] = keys[position];
        }
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const bool with_equals = first + k * pairs < own;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          const bool before = (loaded[k][i] < pivot.key) | ((loaded[k][i] == pivot.key) & with_equals);
          counts[k] += (begins[k] + chunk + i * kLanes < ends[k]) & before;
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int cut = begins[k] + sum_lanes(counts[k]), run = first + k * pairs;
      if (sub == 0 && run < runs.run_count) cuts[t][run] = cut;
    }
  }
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SMALL_SPLIT_CUH_
