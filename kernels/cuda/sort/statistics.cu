// Statistics of keys: of a sample, then of all keys.
//
// Algorithm: SampleKernel, one block, takes keys at jittered distances, each with its neighbour, and puts them into a
//            hash table in shared memory. ExamineKernel compares every key with the next one (16-byte loads; the key
//            after a vector comes from the neighbouring lane), ors the codes, and can copy the keys, forwards or
//            backwards. The last block to finish writes the answer to pinned host memory.
// Work: O(n).
// Memory: one read of the keys, one write if they are copied.
// Workspace: a StatisticsScratch.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/statistics.h"
#include "kernels/cuda/sort/statistics_device.cuh"

namespace corank::cuda {
namespace {

using Tuning = StatisticsTuning;

template <typename Bits>
struct SampleShared {
  Bits raw[Tuning::kSamples];
  uint32_t slots[KeyDictionary::kSlots];  // number of a sample + 1; 0: free. The second occurrence sets kSeenAgain
  uint16_t members[kMaxDistinctKeys];     // the slots in use
  uint16_t position[KeyDictionary::kSlots];
  uint32_t near_descents, near_ascents, far_descents, far_ascents, distinct, singletons, listed, probes, ambiguous;
  unsigned long long ones, zeros;
};

constexpr uint32_t kSeenAgain = 1u << 31;

/// Puts sample `number` into the table. Returns the number of slots it looked at if its key is new, otherwise 0.
template <typename Bits>
__device__ uint32_t Insert(SampleShared<Bits>& shared, uint32_t number) {
  const Bits raw = shared.raw[number];
  uint32_t probes = 1;
  for (uint32_t slot = KeyDictionary::SlotOf(raw);; slot = (slot + 1) % KeyDictionary::kSlots, ++probes) {
    const uint32_t before = atomicCAS(&shared.slots[slot], 0, number + 1);
    if (before == 0) return probes;
    if (shared.raw[(before & ~kSeenAgain) - 1] != raw) continue;
    if ((before & kSeenAgain) == 0) atomicOr(&shared.slots[slot], kSeenAgain);
    return 0;
  }
}

/// Sorts the distinct keys and writes the dictionary. All threads call it; shared.distinct <= kMaxDistinctKeys.
template <typename Bits, bool kFloat>
__device__ void WriteDictionary(const KeyOrder<Bits, kFloat>& order, SampleShared<Bits>& shared,
                                KeyDictionary* dictionary) {
  for (int slot = threadIdx.x; slot < KeyDictionary::kSlots; slot += Tuning::kSampleThreads) {
    if (shared.slots[slot] == 0) continue;
    shared.members[atomicAdd(&shared.listed, 1)] = static_cast<uint16_t>(slot);
    if ((shared.slots[slot] & kSeenAgain) == 0) atomicAdd(&shared.singletons, 1);
  }
  __syncthreads();
  const auto raw_of = [&](uint32_t slot) { return shared.raw[(shared.slots[slot] & ~kSeenAgain) - 1]; };
  if (threadIdx.x < shared.distinct) {
    const uint32_t slot = shared.members[threadIdx.x];
    const Bits rank = order.RankOfRaw(raw_of(slot));
    uint32_t position = 0;
    for (uint32_t other = 0; other < shared.distinct; ++other) {
      const Bits other_rank = order.RankOfRaw(raw_of(shared.members[other]));
      position += other_rank < rank;
      if (other_rank == rank && other != threadIdx.x) shared.ambiguous = 1;
    }
    shared.position[slot] = static_cast<uint16_t>(position);
    dictionary->keys[position] = raw_of(slot);
    dictionary->counts[threadIdx.x] = 0;
    if (position == 0) shared.listed = slot;
  }
  __syncthreads();
  const uint32_t first = shared.listed;
  for (int slot = threadIdx.x; slot < KeyDictionary::kSlots; slot += Tuning::kSampleThreads) {
    const uint32_t holder = shared.slots[slot] == 0 ? first : slot;
    dictionary->slot_keys[slot] = raw_of(holder);
    dictionary->slot_ranks[slot] = static_cast<uint8_t>(shared.position[holder]);
  }
  if (threadIdx.x == 0) {
    dictionary->size = shared.distinct;
    dictionary->probes = shared.probes;
    dictionary->missing = 0;
    dictionary->blocks_done = 0;
  }
}

template <typename Bits>
struct alignas(2 * sizeof(Bits)) KeyPair {
  Bits key, next;
};

/// Loads this thread's samples, each with the next key of the array.
template <typename Bits>
__device__ __forceinline__ void LoadSamples(const Bits* keys, int64_t count, Bits (&raw)[Tuning::kSampleItems],
                                            Bits (&next)[Tuning::kSampleItems]) {
  const bool skips_first = reinterpret_cast<uintptr_t>(keys) % sizeof(KeyPair<Bits>) != 0;
  const auto* const pairs = reinterpret_cast<const KeyPair<Bits>*>(keys + (skips_first ? 1 : 0));
  const uint64_t stride = static_cast<uint64_t>(count - (skips_first ? 2 : 1)) / Tuning::kSamples;
#pragma unroll
  for (int i = 0; i < Tuning::kSampleItems; ++i) {
    const uint64_t number = static_cast<uint64_t>(threadIdx.x) * Tuning::kSampleItems + i;
    uint64_t jitter = (number + 1) * 0x9E3779B97F4A7C15u;
    jitter = (jitter >> 32) * stride >> 32;  // below the stride: samples stay in order
    // Both in one access: the scattered loads of a block take their time one by one.
    const KeyPair<Bits> pair = pairs[(number * stride + jitter) / 2];
    raw[i] = pair.key;
    next[i] = pair.next;
  }
}

/// Clears what samples and the later examination count. Visible after a barrier.
template <typename Bits>
__device__ __forceinline__ void ClearCounts(SampleShared<Bits>& shared, StatisticsScratch* scratch) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int slot = thread; slot < KeyDictionary::kSlots; slot += Tuning::kSampleThreads) shared.slots[slot] = 0;
  if (thread != 0) return;
  shared.near_descents = shared.near_ascents = shared.far_descents = shared.far_ascents = 0;
  shared.distinct = shared.singletons = shared.listed = shared.ambiguous = 0;
  shared.probes = 1;
  shared.ones = shared.zeros = 0;
  KeyStatistics& statistics = scratch->statistics;
  statistics.ones = statistics.zeros = statistics.breaks = 0;
  statistics.ties = statistics.differing_ties = statistics.listed = statistics.blocks_done = 0;
}

/// Counts descents, ascents and bits of the samples, and writes them to shared.raw. Contains a barrier.
template <typename Bits, bool kFloat>
__device__ __forceinline__ void CompareSamples(const KeyOrder<Bits, kFloat>& order,
                                               const Bits (&raw)[Tuning::kSampleItems],
                                               const Bits (&next)[Tuning::kSampleItems],
                                               Bits (&ranks)[Tuning::kSampleItems], SampleShared<Bits>& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  uint32_t near_descents = 0, near_ascents = 0, far_descents = 0, far_ascents = 0;
  Bits ones = 0, zeros = 0;
#pragma unroll
  for (int i = 0; i < Tuning::kSampleItems; ++i) {
    const Bits code = order.Encode(raw[i]);
    ranks[i] = order.Rank(code);
    const Bits next_rank = order.RankOfRaw(next[i]);
    near_descents += next_rank < ranks[i];
    near_ascents += ranks[i] < next_rank;
    if (i > 0) far_descents += ranks[i] < ranks[i - 1];
    if (i > 0) far_ascents += ranks[i - 1] < ranks[i];
    ones |= code;
    zeros |= static_cast<Bits>(~code);
    shared.raw[thread * Tuning::kSampleItems + i] = raw[i];
  }
  __syncthreads();
  if (thread > 0) {
    const Bits before = order.RankOfRaw(shared.raw[thread * Tuning::kSampleItems - 1]);
    far_descents += ranks[0] < before;
    far_ascents += before < ranks[0];
  }
  AddOfWarp(&shared.near_descents, near_descents);
  AddOfWarp(&shared.near_ascents, near_ascents);
  AddOfWarp(&shared.far_descents, far_descents);
  AddOfWarp(&shared.far_ascents, far_ascents);
  OrOfWarp(&shared.ones, ones);
  OrOfWarp(&shared.zeros, zeros);
}

/// Inserts the samples into the table of distinct keys, until there are too many. Ends with a barrier.
template <typename Bits>
__device__ __forceinline__ void CountDistinct(SampleShared<Bits>& shared) {
  for (int i = 0; i < Tuning::kSampleItems && shared.distinct <= kMaxDistinctKeys; ++i) {
    __syncthreads();  // after all threads have read `distinct`
    const uint32_t probes = Insert(shared, static_cast<uint32_t>(i * Tuning::kSampleThreads + threadIdx.x));
    __syncwarp();
    AddOfWarp(&shared.distinct, probes != 0 ? 1 : 0);
    const uint32_t most = __reduce_max_sync(kAllLanes, probes);
    if (threadIdx.x % 32 == 0 && most > 1) atomicMax(&shared.probes, most);
    __syncthreads();
  }
  __syncthreads();
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kSampleThreads)
    SampleKernel(KeyOrder<Bits, kFloat> order, const Bits* keys, int64_t count, StatisticsScratch* scratch,
                 StatisticsLetter* letter) {
  __shared__ SampleShared<Bits> shared;
  Bits raw[Tuning::kSampleItems], next[Tuning::kSampleItems], ranks[Tuning::kSampleItems];
  LoadSamples(keys, count, raw, next);
  ClearCounts(shared, scratch);
  CompareSamples(order, raw, next, ranks, shared);
  CountDistinct(shared);
  const bool is_few = shared.distinct <= kMaxDistinctKeys;
  if (is_few) WriteDictionary(order, shared, &scratch->dictionary);
  __syncthreads();
  if (threadIdx.x != 0) return;
  KeySample sample;
  sample.near_descents = shared.near_descents;
  sample.near_ascents = shared.near_ascents;
  sample.far_descents = shared.far_descents;
  sample.far_ascents = shared.far_ascents;
  sample.distinct = is_few && shared.ambiguous == 0 ? shared.distinct : kMaxDistinctKeys + 1;
  sample.singletons = shared.singletons;
  sample.varying = shared.ones & shared.zeros;
  letter->sample = sample;
  SendLetter(letter);
}

/// The findings of one thread.
template <typename Bits>
struct Seen {
  Bits ones = 0, zeros = 0;
  bool ties = false, differing_ties = false;
};

template <typename Bits, bool kFloat>
struct ExamineArgs {
  KeyOrder<Bits, kFloat> order;
  const Bits* keys;
  Bits* out;
  int64_t count;
  int64_t result_count;
  bool descends;
  bool reads_all;
  KeyStatistics* statistics;
  StatisticsLetter* letter;
};

/// Compares a key with the next one. Returns whether the order breaks between them.
template <typename Bits, bool kFloat>
__device__ __forceinline__ bool IsBreak(const ExamineArgs<Bits, kFloat>& args, Bits raw, Bits rank, Bits next_raw,
                                        Bits next_rank, Seen<Bits>* seen) {
  const bool is_tie = rank == next_rank;
  seen->ties |= is_tie;
  if constexpr (kFloat) seen->differing_ties |= is_tie && raw != next_raw;
  return args.descends ? rank < next_rank : next_rank < rank;
}

/// Counts the breaks of a warp, lists the starts of the runs after them, and returns whether there are few breaks so
/// far. Bit i of `breaks`: a run starts at first + i + 1. The whole warp calls it.
__device__ __forceinline__ bool CountBreaks(uint32_t breaks, int64_t first, KeyStatistics* statistics) {
  if (__ballot_sync(kAllLanes, breaks != 0) == 0) return true;
  const unsigned total = __reduce_add_sync(kAllLanes, static_cast<unsigned>(__popc(breaks)));
  unsigned long long before = 0;
  if (threadIdx.x % 32 == 0) before = atomicAdd(&statistics->breaks, static_cast<unsigned long long>(total));
  before = __shfl_sync(kAllLanes, before, 0);
  for (; breaks != 0 && before < kMaxListedRuns; breaks &= breaks - 1) {
    const uint32_t at = atomicAdd(&statistics->listed, 1);
    if (at < kMaxListedRuns) statistics->starts[at] = first + __ffs(static_cast<int>(breaks));
  }
  return before + total <= kMaxListedRuns;
}

/// Writes keys[first, first + kPer) to their places.
template <typename Bits, bool kFloat>
__device__ __forceinline__ void StoreVector(const ExamineArgs<Bits, kFloat>& args, const KeyVector<Bits>& vector,
                                            int64_t first) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  KeyVector<Bits> turned = vector;
  int64_t to = first;
  if (args.descends) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) turned.keys[i] = vector.keys[kPer - 1 - i];
    to = args.count - first - kPer;
  }
  if (to + kPer <= args.result_count && KeyVector<Bits>::IsAligned(args.out + to)) {
    turned.Store(args.out + to);
    return;
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (to + i < args.result_count) args.out[to + i] = turned.keys[i];
  }
}

/// Notes the bits of a key and returns its rank.
template <typename Bits, bool kFloat>
__device__ __forceinline__ Bits Look(const KeyOrder<Bits, kFloat>& order, Bits raw, Seen<Bits>* seen) {
  const Bits code = order.Encode(raw);
  seen->ones |= code;
  seen->zeros |= static_cast<Bits>(~code);
  return order.Rank(code);
}

/// Examines the vector of keys from `first` on, and writes it if `writes`. `behind`: the key after it, if `has_behind`.
/// Returns the breaks, as CountBreaks takes them.
template <typename Bits, bool kFloat>
__device__ __forceinline__ uint32_t ExamineVector(const ExamineArgs<Bits, kFloat>& args, const KeyVector<Bits>& vector,
                                                  int64_t first, bool has_behind, Bits behind, bool writes,
                                                  Seen<Bits>* seen) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  uint32_t breaks = 0;
  Bits ranks[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i) ranks[i] = Look(args.order, vector.keys[i], seen);
#pragma unroll
  for (int i = 0; i + 1 < kPer; ++i) {
    breaks |= static_cast<uint32_t>(IsBreak(args, vector.keys[i], ranks[i], vector.keys[i + 1], ranks[i + 1], seen))
              << i;
  }
  if (has_behind) {
    breaks |= static_cast<uint32_t>(
                  IsBreak(args, vector.keys[kPer - 1], ranks[kPer - 1], behind, args.order.RankOfRaw(behind), seen))
              << (kPer - 1);
  }
  if (writes) StoreVector(args, vector, first);
  return breaks;
}

/// Examines all whole vectors, which begin after `head` keys.
template <typename Bits, bool kFloat>
__device__ __forceinline__ void ExamineVectors(const ExamineArgs<Bits, kFloat>& args, int64_t head, int64_t vectors,
                                               Seen<Bits>* seen) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kVectors = Tuning::kVectors;
  const int64_t tiles = CeilDiv(vectors, Tuning::kThreads * kVectors);
  bool counts = true;  // whether breaks are counted; the same in all lanes of a warp
  for (int64_t tile = blockIdx.x; tile < tiles && (counts || args.reads_all); tile += gridDim.x) {
    const int64_t first_vector = tile * Tuning::kThreads * kVectors + threadIdx.x;
    KeyVector<Bits> loaded[kVectors] = {};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = first_vector + v * Tuning::kThreads;
      if (vector < vectors) loaded[v].Load(args.keys + head + vector * kPer);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = first_vector + v * Tuning::kThreads;
      const int64_t first = head + vector * kPer;
      const bool is_vector = vector < vectors;
      Bits behind = static_cast<Bits>(__shfl_down_sync(kAllLanes, loaded[v].keys[0], 1));
      const bool has_behind = is_vector && first + kPer < args.count;
      if (has_behind && (threadIdx.x % 32 == 31 || vector + 1 == vectors)) behind = args.keys[first + kPer];
      uint32_t breaks = 0;
      if (is_vector) {
        breaks = ExamineVector(args, loaded[v], first, has_behind, behind, args.out != nullptr && counts, seen);
      }
      if (counts) counts = CountBreaks(breaks, first, args.statistics);
    }
  }
}

/// Examines the few keys before and after the vectors, each with its successor. One warp calls it.
template <typename Bits, bool kFloat>
__device__ __forceinline__ void ExamineEnds(const ExamineArgs<Bits, kFloat>& args, int64_t head, int64_t vectors,
                                            Seen<Bits>* seen) {
  const int64_t lane = threadIdx.x;
  const int64_t tail = head + vectors * KeyVector<Bits>::kPer;
  const int64_t at = lane < head ? lane : tail + lane - head;
  uint32_t is_break = 0;
  if (at < args.count) {
    const Bits raw = args.keys[at];
    const Bits rank = Look(args.order, raw, seen);
    if (at + 1 < args.count) {
      is_break = IsBreak(args, raw, rank, args.keys[at + 1], args.order.RankOfRaw(args.keys[at + 1]), seen) ? 1 : 0;
    }
    const int64_t to = args.descends ? args.count - 1 - at : at;
    if (args.out != nullptr && to < args.result_count) args.out[to] = raw;
  }
  CountBreaks(is_break, at, args.statistics);
}

/// Adds the findings of the block to the statistics. The last block sends them. Contains barriers.
template <typename Bits>
__device__ __forceinline__ void AddFindings(const Seen<Bits>& seen, KeyStatistics* statistics,
                                            StatisticsLetter* letter) {
  __shared__ unsigned long long ones, zeros;
  if (threadIdx.x == 0) ones = zeros = 0;
  __syncthreads();
  OrOfWarp(&ones, seen.ones);
  OrOfWarp(&zeros, seen.zeros);
  const bool ties = __syncthreads_or(seen.ties);
  const bool differing_ties = __syncthreads_or(seen.differing_ties);
  if (threadIdx.x != 0) return;
  atomicOr(&statistics->ones, ones);
  atomicOr(&statistics->zeros, zeros);
  if (ties) statistics->ties = 1;
  if (differing_ties) statistics->differing_ties = 1;
  if (!IsLastBlock(&statistics->blocks_done)) return;
  KeyStatistics& sent = letter->statistics;
  sent.ones = statistics->ones;
  sent.zeros = statistics->zeros;
  sent.breaks = statistics->breaks;
  sent.ties = statistics->ties;
  sent.differing_ties = statistics->differing_ties;
  sent.listed = statistics->listed < kMaxListedRuns ? statistics->listed : kMaxListedRuns;
  for (uint32_t i = 0; i < sent.listed; ++i) sent.starts[i] = statistics->starts[i];
  SendLetter(letter);
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads) ExamineKernel(const ExamineArgs<Bits, kFloat> args) {
  const int64_t head = KeyVector<Bits>::CountBefore(args.keys, args.count);
  const int64_t vectors = (args.count - head) / KeyVector<Bits>::kPer;
  Seen<Bits> seen;
  ExamineVectors(args, head, vectors, &seen);
  if (blockIdx.x == 0 && threadIdx.x < 32) ExamineEnds(args, head, vectors, &seen);
  AddFindings(seen, args.statistics, args.letter);
}

template <typename Bits, bool kFloat>
cudaError_t Examine(const Examination& examination, const KeyOrder<Bits, kFloat>& order, KeyStatistics* d_statistics,
                    StatisticsLetter* h_letter, cudaStream_t stream) {
  ExamineArgs<Bits, kFloat> args{};
  args.order = order;
  args.keys = static_cast<const Bits*>(examination.d_keys_in);
  args.out = static_cast<Bits*>(examination.d_keys_out);
  args.count = examination.count;
  args.result_count = examination.result_count;
  args.descends = examination.descends;
  args.reads_all = examination.reads_all;
  args.statistics = d_statistics;
  args.letter = h_letter;
  const int64_t tile = int64_t{Tuning::kThreads} * Tuning::kVectors * KeyVector<Bits>::kPer;
  const unsigned blocks = LoopingGrid(examination.count, tile);
  ExamineKernel<<<blocks, Tuning::kThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace

cudaError_t SampleKeys(KeyType type, Order order, const void* d_keys, int64_t count, StatisticsScratch* d_scratch,
                       StatisticsLetter* h_letter, cudaStream_t stream) {
  return WithKeyOrder(type, order, [&](const auto& key_order) {
    using Bits = decltype(key_order.Encode(0));
    SampleKernel<<<1, Tuning::kSampleThreads, 0, stream>>>(key_order, static_cast<const Bits*>(d_keys), count,
                                                           d_scratch, h_letter);
    return cudaGetLastError();
  });
}

cudaError_t ExamineKeys(const Examination& examination, StatisticsScratch* d_scratch, StatisticsLetter* h_letter,
                        cudaStream_t stream) {
  return WithKeyOrder(examination.key_type, examination.order, [&](const auto& order) {
    return Examine(examination, order, &d_scratch->statistics, h_letter, stream);
  });
}

cudaError_t WaitForLetter(const StatisticsLetter* h_letter, cudaStream_t stream) {
  const volatile uint32_t* const arrived = &h_letter->arrived;
  // A sleeping thread wakes late, so it sleeps only through long waits, for earlier work of the stream.
  constexpr std::chrono::microseconds kAwake{300};
  constexpr std::chrono::microseconds kNap{50};
  const auto sleeps_from = std::chrono::steady_clock::now() + kAwake;
  while (*arrived == 0) {
    for (int i = 0; i < 10000 && *arrived == 0; ++i) continue;  // a query of the stream takes a microsecond
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) break;
    if (state != cudaErrorNotReady) return state;
    if (std::chrono::steady_clock::now() >= sleeps_from) std::this_thread::sleep_for(kNap);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return *arrived != 0 ? cudaSuccess : cudaErrorUnknown;
}

}  // namespace corank::cuda
