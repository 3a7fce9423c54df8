// Selects the keys up to a threshold.
//
// Algorithm: a block reads tile after tile. Threads that find keys get places for them from one atomic addition for
//            each tile.
// Work: O(n).
// Memory: one read of the keys, one write of the indices of the selected ones.
// Workspace: none.
// Stability: none; the indices are sorted afterwards if their order matters.
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/select.h"
#include "kernels/cuda/sort/statistics_device.cuh"

namespace corank::cuda {
namespace {

using Tuning = StatisticsTuning;

template <typename Bits>
struct Selection {
  const Bits* keys;
  int64_t count;
  Bits threshold;
  void* indices;
  int index_bytes;
  unsigned long long capacity;
  StatisticsScratch* scratch;
  StatisticsLetter* letter;

  __device__ __forceinline__ void Put(unsigned long long place, int64_t index) const {
    if (place >= capacity) return;
    if (index_bytes == 4) {
      static_cast<uint32_t*>(indices)[place] = static_cast<uint32_t>(index);
    } else {
      static_cast<int64_t*>(indices)[place] = index;
    }
  }
};

/// The first of `mine` places for this thread. All threads of the block call it.
__device__ __forceinline__ unsigned long long TakePlaces(uint32_t mine, unsigned long long* taken) {
  __shared__ uint32_t warp_ends[Tuning::kThreads / 32];
  __shared__ unsigned long long base;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  uint32_t end = mine;
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_up_sync(kAllLanes, end, step);
    if (lane >= step) end += other;
  }
  if (lane == 31) warp_ends[warp] = end;
  __syncthreads();
  uint32_t before = 0, total = 0;
  for (int i = 0; i < Tuning::kThreads / 32; ++i) {
    if (i == warp) before = total;
    total += warp_ends[i];
  }
  if (threadIdx.x == 0) base = total == 0 ? 0 : atomicAdd(taken, static_cast<unsigned long long>(total));
  __syncthreads();
  const unsigned long long first = base + before + end - mine;
  __syncthreads();
  return first;
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    SelectKernel(const KeyOrder<Bits, kFloat> order, const Selection<Bits> selection) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kVectors = Tuning::kVectors;
  static_assert(kPer * kVectors <= 64, "a bit a key");
  const Bits* const keys = selection.keys;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t head = KeyVector<Bits>::CountBefore(keys, selection.count);
  const int64_t vectors = (selection.count - head) / kPer;
  const int64_t tiles = CeilDiv(vectors, Tuning::kThreads * kVectors);
  unsigned long long* const taken = &selection.scratch->selected;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first_vector = tile * Tuning::kThreads * kVectors + thread;
    KeyVector<Bits> loaded[kVectors] = {};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = first_vector + v * Tuning::kThreads;
      if (vector < vectors) loaded[v].Load(keys + head + vector * kPer);
    }
    uint64_t hits = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const bool is_vector = first_vector + v * Tuning::kThreads < vectors;
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        const bool is_hit = is_vector && order.RankOfRaw(loaded[v].keys[i]) <= selection.threshold;
        hits |= static_cast<uint64_t>(is_hit) << (v * kPer + i);
      }
    }
    unsigned long long place = TakePlaces(static_cast<uint32_t>(__popcll(hits)), taken);
    for (; hits != 0; hits &= hits - 1) {
      const int hit = __ffsll(static_cast<long long>(hits)) - 1;
      selection.Put(place++, head + (first_vector + hit / kPer * Tuning::kThreads) * kPer + hit % kPer);
    }
  }
  if (blockIdx.x == 0 && thread < 32) {
    const int64_t at = thread < head ? thread : head + vectors * kPer + thread - head;
    if (at < selection.count && order.RankOfRaw(keys[at]) <= selection.threshold) {
      selection.Put(atomicAdd(taken, 1ull), at);
    }
  }
  __syncthreads();
  if (thread != 0 || !IsLastBlock(&selection.scratch->select_blocks_done)) return;
  selection.letter->selected = *static_cast<volatile unsigned long long*>(taken);
  SendLetter(selection.letter);
}

}  // namespace

cudaError_t SelectKeys(KeyType type, Order order, const void* d_keys, int64_t count, uint64_t threshold,
                       void* d_indices, int index_bytes, int64_t capacity, StatisticsScratch* d_scratch,
                       StatisticsLetter* h_letter, cudaStream_t stream) {
  return WithKeyOrder(type, order, [&](const auto& key_order) {
    using Bits = decltype(key_order.Encode(0));
    const Selection<Bits> selection{static_cast<const Bits*>(d_keys),
                                    count,
                                    static_cast<Bits>(threshold),
                                    d_indices,
                                    index_bytes,
                                    static_cast<unsigned long long>(capacity),
                                    d_scratch,
                                    h_letter};
    const int64_t tile = int64_t{Tuning::kThreads} * Tuning::kVectors * KeyVector<Bits>::kPer;
    const unsigned blocks = LoopingGrid(count, tile);
    SelectKernel<<<blocks, Tuning::kThreads, 0, stream>>>(key_order, selection);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
