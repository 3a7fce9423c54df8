// The histograms of all digits in one read, and the plan of the passes.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_HISTOGRAM_CUH_
#define CORANK_KERNELS_CUDA_SORT_RADIX_HISTOGRAM_CUH_

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/radix_state.h"

namespace corank::cuda {

/// Converts the bins of one digit to the numbers of keys before them. Returns whether the digit differs between keys. A
/// warp calls it.
template <typename Count>
__device__ __forceinline__ bool ScanBins(Count* bins, Count count) {
  constexpr int kPerLane = kDigitBins / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  Count sizes[kPerLane];
  Count before = 0;
  bool has_all = false;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    sizes[i] = __ldcg(bins + lane * kPerLane + i);
    before += sizes[i];
    has_all |= sizes[i] == count;
  }
  const Count own = before;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Count other = __shfl_up_sync(~0u, before, distance);
    if (lane >= distance) before += other;
  }
  before -= own;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    bins[lane * kPerLane + i] = before;
    before += sizes[i];
  }
  return !__any_sync(~0u, has_all);
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(kRadixHistogram.threads, kRadixHistogram.blocks)
    RadixHistogramKernel(const Bits* keys, int64_t count, RadixDigits digits, int copies, KeyOrder<Bits, kFloat> order,
                         RadixState* state) {
  constexpr int kThreads = kRadixHistogram.threads;
  constexpr int kItems = kRadixHistogram.items;
  constexpr int kDigits = static_cast<int>(sizeof(Bits));
  extern __shared__ uint32_t counters[];  // [digit][bin][copy]
  __shared__ bool is_last;
  __shared__ bool differs[kMaxDigits];
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < digits.count * kDigitBins * copies; i += kThreads) counters[i] = 0;
  __syncthreads();

  uint32_t* const own = counters + thread % copies;
  bool codes_differ = false;
  const auto count_key = [&](Bits key) {
    const Bits code = order.Encode(key);
    const Bits rank = order.Rank(code);
    codes_differ |= rank != code;
#pragma unroll
    for (int d = 0; d < kDigits; ++d) {
      if (d >= digits.count) break;
      const uint32_t bin = static_cast<uint32_t>(rank >> digits.shift[d]) % kDigitBins;
      atomicAdd(own + (d * kDigitBins + bin) * copies, 1u);
    }
  };
  constexpr int64_t kTile = int64_t{kThreads} * kItems;
  for (int64_t start = blockIdx.x * kTile; start < count; start += gridDim.x * kTile) {
    if (count - start >= kTile) {
      Bits tile[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) tile[i] = keys[start + i * kThreads + thread];
#pragma unroll
      for (int i = 0; i < kItems; ++i) count_key(tile[i]);
    } else {
      for (int64_t i = start + thread; i < count; i += kThreads) count_key(keys[i]);
    }
  }
  if (__syncthreads_or(codes_differ) != 0 && thread == 0) state->codes_differ_from_ranks = 1;
  for (int i = thread; i < digits.count * kDigitBins; i += kThreads) {
    uint32_t sum = 0;
    for (int c = 0; c < copies; ++c) sum += counters[i * copies + (c + thread) % copies];
    if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&state->bins[0][0] + i), sum);
  }
  __threadfence();
  __syncthreads();
  if (thread == 0) is_last = atomicAdd(&state->blocks_done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;

  __threadfence();
  const int warp = thread / 32;
  if (warp < digits.count) {
    const bool live = ScanBins(state->bins[warp], count);
    if (thread % 32 == 0) differs[warp] = live;
  }
  __syncthreads();
  if (thread != 0) return;
  int passes = 0;
  for (int d = 0; d < digits.count; ++d) {
    const bool needed = differs[d] || (passes == 0 && d == digits.count - 1);
    if (needed) state->digit[passes++] = d;
  }
  state->passes = passes;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_HISTOGRAM_CUH_
