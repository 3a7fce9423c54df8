// Counting sort of keys with few distinct values.
//
// Algorithm: CountKernel looks up each key in a hash table in shared memory, made from a sample, and counts it in the
//            counters of its block. A key that is missing from the table ends the kernel. FillKernel writes each
//            distinct key as often as it was counted.
// Work: O(n).
// Memory: one read of the keys; one write.
// Workspace: the dictionary.
// Stability: equal keys have equal bits.
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/counting.h"
#include "kernels/cuda/sort/statistics_device.cuh"

namespace corank::cuda {
namespace {

using Tuning = CountingTuning;
constexpr int kSlots = KeyDictionary::kSlots;

template <typename Bits>
__global__ void __launch_bounds__(Tuning::kThreads)
    CountKernel(const Bits* keys, int64_t count, KeyDictionary* dictionary, uint8_t* ranks, StatisticsLetter* letter) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kVectors = Tuning::kVectors;
  __shared__ Bits slot_keys[kSlots];
  __shared__ uint8_t slot_ranks[kSlots];
  __shared__ uint32_t counts[kMaxDistinctKeys * Tuning::kCopies];
  const int thread = static_cast<int>(threadIdx.x);
  for (int slot = thread; slot < kSlots; slot += Tuning::kThreads) {
    slot_keys[slot] = static_cast<Bits>(dictionary->slot_keys[slot]);
    slot_ranks[slot] = dictionary->slot_ranks[slot];
  }
  for (int i = thread; i < kMaxDistinctKeys * Tuning::kCopies; i += Tuning::kThreads) counts[i] = 0;
  const uint32_t probes = dictionary->probes;
  const uint32_t copy = threadIdx.x % Tuning::kCopies;
  __syncthreads();

  bool is_missing = false;
  const auto take = [&](Bits key) {
    uint32_t slot = KeyDictionary::SlotOf(key);
    uint32_t probe = 1;
    while (slot_keys[slot] != key) {
      if (probe++ == probes) {
        is_missing = true;
        return uint8_t{0};
      }
      slot = (slot + 1) % kSlots;
    }
    const uint8_t rank = slot_ranks[slot];
    atomicAdd(&counts[rank * Tuning::kCopies + copy], 1u);
    return rank;
  };
  const int64_t head = KeyVector<Bits>::CountBefore(keys, count);
  const int64_t vectors = (count - head) / kPer;
  const int64_t tiles = CeilDiv(vectors, Tuning::kThreads * kVectors);
  for (int64_t tile = blockIdx.x; tile < tiles && !is_missing; tile += gridDim.x) {
    KeyVector<Bits> loaded[kVectors] = {};
    const int64_t first_vector = tile * Tuning::kThreads * kVectors + thread;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = first_vector + v * Tuning::kThreads;
      if (vector < vectors) loaded[v].Load(keys + head + vector * kPer);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = first_vector + v * Tuning::kThreads;
      if (vector >= vectors) break;
      uint8_t found[kPer];
#pragma unroll
      for (int i = 0; i < kPer; ++i) found[i] = take(loaded[v].keys[i]);
      if (ranks == nullptr) continue;
#pragma unroll
      for (int i = 0; i < kPer; ++i) ranks[head + vector * kPer + i] = found[i];
    }
  }
  if (blockIdx.x == 0 && thread < 32) {
    const int64_t at = thread < head ? thread : head + vectors * kPer + thread - head;
    if (at < count) {
      const uint8_t rank = take(keys[at]);
      if (ranks != nullptr) ranks[at] = rank;
    }
  }
  const bool block_misses = __syncthreads_or(is_missing);
  uint32_t sum = 0;
  for (int i = 0; i < Tuning::kCopies; ++i) sum += counts[thread * Tuning::kCopies + i];
  if (sum != 0) atomicAdd(&dictionary->counts[thread], static_cast<unsigned long long>(sum));
  __syncthreads();
  if (thread != 0) return;
  if (block_misses) dictionary->missing = 1;
  if (!IsLastBlock(&dictionary->blocks_done)) return;
  letter->missing = *static_cast<volatile uint32_t*>(&dictionary->missing);
  SendLetter(letter);
}
static_assert(Tuning::kThreads == kMaxDistinctKeys, "a thread a counter");

template <typename Bits>
__global__ void __launch_bounds__(Tuning::kThreads)
    FillKernel(const KeyDictionary* dictionary, Bits* out, int64_t result_count) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kVectors = Tuning::kVectors;
  __shared__ int64_t ends[kMaxDistinctKeys];  // the end of each key's copies in the sorted array
  __shared__ Bits keys[kMaxDistinctKeys];
  const int thread = static_cast<int>(threadIdx.x);
  const int size = static_cast<int>(dictionary->size);
  if (thread < size) {
    ends[thread] = static_cast<int64_t>(dictionary->counts[thread]);
    keys[thread] = static_cast<Bits>(dictionary->keys[thread]);
  }
  __syncthreads();
  for (int distance = 1; distance < size; distance *= 2) {
    const int64_t before = thread >= distance && thread < size ? ends[thread - distance] : 0;
    __syncthreads();
    if (thread < size) ends[thread] += before;
    __syncthreads();
  }
  const auto key_at = [&](int64_t position) {
    int low = 0, high = size - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (position < ends[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const int64_t head = KeyVector<Bits>::CountBefore(out, result_count);
  const int64_t vectors = (result_count - head) / kPer;
  const int64_t tiles = CeilDiv(vectors, Tuning::kThreads * kVectors);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = tile * Tuning::kThreads * kVectors + v * Tuning::kThreads + thread;
      if (vector >= vectors) break;
      const int64_t first = head + vector * kPer;
      int key = key_at(first);
      KeyVector<Bits> filled;
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        while (first + i >= ends[key]) ++key;
        filled.keys[i] = keys[key];
      }
      filled.Store(out + first);
    }
  }
  if (blockIdx.x == 0 && thread < 32) {
    const int64_t at = thread < head ? thread : head + vectors * kPer + thread - head;
    if (at < result_count) out[at] = keys[key_at(at)];
  }
}

unsigned Blocks(int64_t count, int key_bytes) {
  const int64_t tile = int64_t{Tuning::kThreads} * Tuning::kVectors * 16 / key_bytes;
  return LoopingGrid(count, tile);
}

template <typename Fn>
cudaError_t WithBits(int key_bytes, Fn&& fn) {
  switch (key_bytes) {
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    default:
      return fn(uint64_t{});
  }
}

}  // namespace

cudaError_t CountKeys(int key_bytes, const void* d_keys, int64_t count, KeyDictionary* d_dictionary, uint8_t* d_ranks,
                      StatisticsLetter* h_letter, cudaStream_t stream) {
  return WithBits(key_bytes, [&](auto zero) {
    CountKernel<<<Blocks(count, key_bytes), Tuning::kThreads, 0, stream>>>(static_cast<const decltype(zero)*>(d_keys),
                                                                           count, d_dictionary, d_ranks, h_letter);
    return cudaGetLastError();
  });
}

cudaError_t WriteCountedKeys(int key_bytes, const KeyDictionary* d_dictionary, void* d_keys_out, int64_t result_count,
                             cudaStream_t stream) {
  return WithBits(key_bytes, [&](auto zero) {
    FillKernel<<<Blocks(result_count, key_bytes), Tuning::kThreads, 0, stream>>>(
        d_dictionary, static_cast<decltype(zero)*>(d_keys_out), result_count);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
