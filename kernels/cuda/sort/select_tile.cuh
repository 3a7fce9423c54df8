// The shared parts of kernels that select the keys up to a threshold: samples, the threshold, and tiles of keys.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECT_TILE_CUH_
#define CORANK_KERNELS_CUDA_SORT_SELECT_TILE_CUH_

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/sort/selection_rules.h"
#include "kernels/cuda/sort/statistics_device.cuh"

namespace corank::cuda {

inline constexpr int kThresholdThreads = 1024;
inline constexpr int kThresholdItems = SelectionTuning::kGroups / kThresholdThreads;
static_assert(kThresholdItems * kThresholdThreads == SelectionTuning::kGroups);

struct ThresholdShared {
  uint32_t counts[256];
  uint32_t digit, number;  // the digit found, and the number left to count in it
};

/// The number-th (from 1) of all ranks in sorted order, digit by digit. All threads call it.
template <typename Bits>
__device__ Bits RankOfNumber(const Bits (&ranks)[kThresholdItems], uint32_t number, ThresholdShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  Bits found = 0;
  for (int shift = 8 * static_cast<int>(sizeof(Bits)) - 8; shift >= 0; shift -= 8) {
    if (thread < 256) shared.counts[thread] = 0;
    __syncthreads();
    for (const Bits rank : ranks) {
      const bool has_prefix = (static_cast<uint64_t>(rank ^ found) >> shift) < 256;
      if (has_prefix) atomicAdd(&shared.counts[static_cast<uint32_t>(rank >> shift) & 255], 1u);
    }
    __syncthreads();
    if (thread < 32) {  // eight digits each
      uint32_t counts[8], end = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) end += counts[i] = shared.counts[8 * thread + i];
      const uint32_t own = end;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(kAllLanes, end, step);
        if (thread >= step) end += other;
      }
      uint32_t before = end - own;
      if (before < number && number <= end) {
        uint32_t digit = 8 * thread;
#pragma unroll
        for (int i = 0; i < 7; ++i) {
          if (before + counts[i] >= number) break;
          before += counts[i];
          ++digit;
        }
        shared.digit = digit;
        shared.number = number - before;
      }
    }
    __syncthreads();
    found = static_cast<Bits>(found | static_cast<Bits>(static_cast<Bits>(shared.digit) << shift));
    number = shared.number;
  }
  return found;
}

/// Indices of a block's hits, and the first place that was taken and not used.
template <uint32_t kHits = 1024>
struct NotedHits {
  static constexpr uint32_t kMost = kHits;
  int64_t indices[kMost];
  uint32_t taken;
  uint32_t end;
  int64_t first;  // the place of the first one in the sink
};

/// Notes the hits of a block in shared memory and puts them into the sink all at once: an atomic addition in global
/// memory would delay each tile that has hits. Negative places are those of noted hits. Once the memory is full,
/// further hits go to the sink at once.
template <typename Sink, typename Noted = NotedHits<>>
struct NotingSink {
  const Sink sink;
  Noted& noted;

  /// All threads call it, before a barrier.
  __device__ __forceinline__ void Begin() const {
    if (threadIdx.x != 0) return;
    noted.taken = 0;
    noted.end = Noted::kMost;
  }
  /// All threads call it.
  __device__ __forceinline__ void End() const {
    __syncthreads();
    const uint32_t hits = min(noted.taken, noted.end);
    if (threadIdx.x == 0) noted.first = sink.Take(hits);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < hits; i += blockDim.x) {
      const int64_t place = noted.first + i;
      if (place < Capacity()) sink.Put(place, noted.indices[i]);
    }
  }

  __device__ __forceinline__ int64_t Take(uint32_t places) const {
    const uint32_t place = atomicAdd(&noted.taken, places);
    if (place + places <= Noted::kMost) return int64_t{place} - Noted::kMost;
    atomicMin(&noted.end, place);
    return sink.Take(places);
  }
  __device__ __forceinline__ int64_t Capacity() const { return sink.Capacity(); }
  __device__ __forceinline__ void Put(int64_t place, int64_t index) const {
    if (place < 0) {
      noted.indices[place + Noted::kMost] = index;
    } else {
      sink.Put(place, index);
    }
  }
};

/// Puts this warp's hits: keys at `at` + (v * kThreads * kPer + i), a bit for each v * kPer + i. Returns whether there
/// is room for more. The whole warp calls it.
template <typename Bits, typename Sink>
__device__ __forceinline__ bool PutHits(uint32_t hits, int64_t at, const Sink& sink) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto mine = static_cast<uint32_t>(__popc(hits));
  uint32_t end = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_up_sync(kAllLanes, end, step);
    if (lane >= step) end += other;
  }
  int64_t base = 0;
  if (lane == 31) base = sink.Take(end);
  base = __shfl_sync(kAllLanes, base, 31);
  for (int64_t place = base + end - mine; hits != 0; hits &= hits - 1, ++place) {
    const int hit = __ffs(static_cast<int>(hits)) - 1;
    const int64_t index = at + hit / kPer * (SelectionTuning::kThreads * kPer) + hit % kPer;
    if (place < sink.Capacity()) sink.Put(place, index);
  }
  return base < sink.Capacity();
}

/// Puts the keys up to the threshold in this thread's part of a tile, which begins at its key `at`. Only those before
/// vectors_end exist unless kWhole. Returns whether there is room for more. The whole warp calls it.
template <bool kWhole, typename Bits, bool kFloat, typename Sink>
__device__ __forceinline__ bool SelectTile(const KeyOrder<Bits, kFloat>& order, const Bits* keys, Bits threshold,
                                           int64_t at, int64_t vectors_end, const Sink& sink) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kVectors = SelectionTuning::kVectors;
  constexpr int kStep = SelectionTuning::kThreads * kPer;
  static_assert(kPer * kVectors <= 32, "a bit a key");
  KeyVector<Bits> loaded[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (kWhole || at + v * kStep < vectors_end) loaded[v].Load(keys + at + v * kStep);
  }
  // Most warps have no hit.
  bool has_hit = false;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      has_hit |= (kWhole || at + v * kStep < vectors_end) && order.RankOfRaw(loaded[v].keys[i]) <= threshold;
    }
  }
  if (!__any_sync(kAllLanes, has_hit)) return true;
  uint32_t hits = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const bool is_hit = (kWhole || at + v * kStep < vectors_end) && order.RankOfRaw(loaded[v].keys[i]) <= threshold;
      hits |= static_cast<uint32_t>(is_hit) << (v * kPer + i);
    }
  }
  return PutHits<Bits>(hits, at, sink);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECT_TILE_CUH_
