// Moves many short intervals to scattered destinations, through bins of the destination.
//
// If the destination is larger than the cache, every partly written 32-byte sector costs an H200 48 to 62 ps: it stores
// only 16 to 20 scattered words a nanosecond. So words travel twice, in whole sectors.
//
// Algorithm: (1) A survey of a few thousand intervals finds the written part of the destination, and whether bins pay.
//            (2) A block sorts the words of a tile by bin in shared memory, together with the destination of each word.
//            It reserves room in each bin with one atomic addition and writes the run of each bin, filled up to whole
//            sectors. (3) A block collects a part of a bin in shared memory and writes the words in it as whole lines.
//            Step (2) moves an interval directly if it lies in two bins or none, and also the words that do not fit
//            into a full bin. Long intervals of this kind go to a list, for the kernels of move.cu.
// Work: O(n + words), and for each bin once for each of its parts.
// Memory: one read of counts and offsets, one read of the elements, about 1.2 writes and reads of records of twice
//         their size, one write of the elements.
// Workspace: 10 to 11 bytes for each word of the elements, and 24 bytes for every 33 words.
#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/intervals/interval_bins.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/move_bins.h"

namespace corank::cuda {
namespace {

using Tuning = BinTuning;

/// MoveArgs in words. A kernel argument.
struct WordMove {
  const uint32_t* source;
  uint32_t* destination;
  const int64_t* source_offsets;  // counted in elements
  const int64_t* destination_offsets;
  const int64_t* counts;
  int64_t count;
  int64_t element_words;
  int64_t words;
  int tile;  // intervals of a block

  __device__ __forceinline__ int64_t Words(int64_t i) const { return counts[i] * element_words; }
  __device__ __forceinline__ const uint32_t* From(int64_t i) const {
    return source + source_offsets[i] * element_words;
  }
  __device__ __forceinline__ int64_t To(int64_t i) const { return destination_offsets[i] * element_words; }
};

__global__ void __launch_bounds__(Tuning::kThreads) SurveyKernel(const WordMove move, BinState* d_state) {
  __shared__ long long low, high;
  __shared__ int taken, near;
  if (threadIdx.x == 0) {
    low = INT64_MAX;
    high = 0;
    taken = near = 0;
  }
  __syncthreads();
  long long own_low = INT64_MAX, own_high = 0;
  int own_taken = 0, own_near = 0;
#pragma unroll
  for (int k = 0; k < Tuning::kSamples; ++k) {
    // Samples all intervals, at irregular distances.
    uint64_t random = (uint64_t{threadIdx.x} * Tuning::kSamples + k + 1) * 0x9E3779B97F4A7C15u;
    random = (random ^ random >> 29) * 0xBF58476D1CE4E5B9u;
    const auto i = static_cast<int64_t>(__umul64hi(random, static_cast<uint64_t>(move.count - 1)));
    const int64_t words = move.Words(i), to = move.To(i), gap = move.To(i + 1) - to - words;
    if (words == 0) continue;
    own_low = min(own_low, static_cast<long long>(to));
    own_high = max(own_high, static_cast<long long>(to + words));
    ++own_taken;
    own_near += -Tuning::kNearWords < gap && gap < Tuning::kNearWords ? 1 : 0;
  }
  atomicMin(&low, own_low);
  atomicMax(&high, own_high);
  atomicAdd(&taken, own_taken);
  atomicAdd(&near, own_near);
  __syncthreads();
  if (threadIdx.x != 0 || taken == 0) return;
  // The sample misses a little at both ends. No bin reaches the number of a filler.
  const int64_t margin = (high - low) / 1024 + 64;
  const int64_t first = max(int64_t{0}, static_cast<int64_t>(low) - margin);
  const int64_t extent = min(static_cast<int64_t>(high) + margin - first, int64_t{INT32_MAX});
  d_state->low = first;
  d_state->extent = static_cast<uint32_t>(max(extent, int64_t{2 * Tuning::kBins}));
  d_state->scale = BinScale(d_state->extent, Tuning::kBins);
  constexpr int kAllSamples = Tuning::kThreads * Tuning::kSamples;
  const bool is_short = move.words / Tuning::kLongMean * kAllSamples < move.count * int64_t{taken};
  d_state->is_taken = is_short && near < taken / 4 ? 1 : 0;
}

struct ToBinsShared {
  static constexpr int kRoom = Tuning::kRecords + (Tuning::kSectorRecords - 1) * Tuning::kBins;
  alignas(16) BinRecord records[kRoom];
  uint32_t places[Tuning::kBins];  // words of the tile for the bin, then the start of its run
  uint32_t delta[Tuning::kBins];   // from there to its place in the bin
  typename cub::BlockScan<uint32_t, Tuning::kThreads>::TempStorage scan;
};

/// Marks a record without a word.
constexpr uint32_t kFiller = UINT32_MAX;

/// Moves an interval that does not go to a bin.
__device__ void MoveAlone(const WordMove& move, int64_t i, const BinArrays& bins) {
  const int64_t words = move.Words(i);
  if (words > Tuning::kMostWords) {
    const auto at = static_cast<int64_t>(atomicAdd(&bins.d_state->left, 1ull));
    if (at < bins.left_capacity) {
      bins.d_left_counts[at] = move.counts[i];
      bins.d_left_sources[at] = move.source_offsets[i];
      bins.d_left_destinations[at] = move.destination_offsets[i];
      return;
    }
  }
  const uint32_t* const from = move.From(i);
  uint32_t* const to = move.destination + move.To(i);
  for (int64_t j = 0; j < words; ++j) to[j] = from[j];
}

/// One tile for each block, up to kSlots intervals for each thread. Each interval has kWords words in flight together.
template <int kSlots, int kWords>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    ToBinsKernel(const WordMove move, const BinArrays bins) {
  constexpr int kThreads = Tuning::kThreads, kBins = Tuning::kBins, kOwnBins = (kBins + kThreads - 1) / kThreads;
  constexpr uint32_t kPad = Tuning::kSectorRecords;
  constexpr int kRankBits = 26;
  static_assert(Tuning::kMostWords < 1 << (32 - kRankBits), "a length and a rank are one word");
  static_assert(int64_t{kSlots} * kThreads * Tuning::kMostWords < int64_t{1} << kRankBits, "of all the tile's words");
  extern __shared__ char raw_shared[];
  auto& shared = *reinterpret_cast<ToBinsShared*>(raw_shared);
  if (bins.d_state->is_taken == 0) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t low = bins.d_state->low;
  const uint32_t extent = bins.d_state->extent, scale = bins.d_state->scale;
  uint32_t* const destination = move.destination + low;
  const int64_t first = int64_t{blockIdx.x} * move.tile;
  const int n = static_cast<int>(min(int64_t{move.tile}, move.count - first));
  for (int bin = thread; bin < kBins; bin += kThreads) shared.places[bin] = 0;
  __syncthreads();

  // Counts the words of each bin.
  uint32_t to[kSlots], tally[kSlots];  // tally: the length of the interval, then its rank in its bin
#pragma unroll
  for (int k = 0; k < kSlots; ++k) {
    const int item = k * kThreads + thread;
    tally[k] = item < n ? static_cast<uint32_t>(min(move.Words(first + item), int64_t{Tuning::kMostWords + 1})) : 0;
  }
#pragma unroll
  for (int k = 0; k < kSlots; ++k) {
    to[k] = 0;
    if (tally[k] == 0) continue;
    const int64_t interval = first + k * kThreads + thread;
    const int64_t word = move.To(interval) - low;
    const uint32_t words = tally[k];
    const uint32_t bin = BinOf(static_cast<uint32_t>(word), scale);
    if (words <= Tuning::kMostWords && word >= 0 && word + words <= extent &&
        bin == BinOf(static_cast<uint32_t>(word) + words - 1, scale)) {
      to[k] = static_cast<uint32_t>(word);
      tally[k] = words << kRankBits | atomicAdd(shared.places + bin, words);
    } else {
      tally[k] = 0;
      MoveAlone(move, interval, bins);
    }
  }
  __syncthreads();

  // Places each run in shared memory and reserves its room in the bin.
  uint32_t counts[kOwnBins];
  uint32_t sum = 0, place = 0, total = 0;
#pragma unroll
  for (int i = 0; i < kOwnBins; ++i) {
    const int bin = thread * kOwnBins + i;
    counts[i] = bin < kBins ? shared.places[bin] : 0;
    sum += (counts[i] + kPad - 1) / kPad * kPad;
  }
  cub::BlockScan<uint32_t, kThreads>(shared.scan).ExclusiveSum(sum, place, total);
  const bool fits = total <= ToBinsShared::kRoom;
#pragma unroll
  for (int i = 0; i < kOwnBins; ++i) {
    const int bin = thread * kOwnBins + i;
    if (bin >= kBins) break;
    const uint32_t padded = (counts[i] + kPad - 1) / kPad * kPad;
    shared.delta[bin] = (fits && padded > 0 ? atomicAdd(bins.d_filled + bin, padded) : 0) - place;
    shared.places[bin] = place;
    for (uint32_t j = counts[i]; fits && j < padded; ++j) shared.records[place + j] = {kFiller, 0};
    place += padded;
  }
  __syncthreads();

  // Copies words into their runs.
  constexpr int kTogether = kWords == 1 ? 8 : 4;
#pragma unroll
  for (int base = 0; base < kSlots; base += kTogether) {
    const uint32_t* from[kTogether];
    uint32_t at[kTogether];
    int most = 0;
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int words = static_cast<int>(tally[base + k] >> kRankBits);
      from[k] = words > 0 ? move.From(first + (base + k) * kThreads + thread) : nullptr;
      at[k] = shared.places[BinOf(to[base + k], scale)] + (tally[base + k] & ((1u << kRankBits) - 1));
      most = max(most, words);
    }
    most = __reduce_max_sync(0xFFFFFFFFu, most);
    for (int j = 0; j < most; j += kWords) {
      uint32_t words[kTogether][kWords];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
#pragma unroll
        for (int i = 0; i < kWords; ++i) {
          if (j + i < static_cast<int>(tally[base + k] >> kRankBits)) words[k][i] = __ldg(from[k] + j + i);
        }
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
#pragma unroll
        for (int i = 0; i < kWords; ++i) {
          if (j + i >= static_cast<int>(tally[base + k] >> kRankBits)) continue;
          const uint32_t word = to[base + k] + j + i;
          if (fits) {
            shared.records[at[k] + j + i] = {word, words[k][i]};
          } else {
            destination[word] = words[k][i];
          }
        }
      }
    }
  }
  if (!fits) return;
  __syncthreads();

  // Copies runs into their bins, two records for each thread.
#pragma unroll 4
  for (uint32_t i = 2 * threadIdx.x; i < total; i += 2 * kThreads) {
    const uint4 two = *reinterpret_cast<const uint4*>(shared.records + i);
    // The first record of a sector is never a filler.
    const uint32_t bin = BinOf(shared.records[i / kPad * kPad].to, scale);
    const uint32_t at = shared.delta[bin] + i;
    if (at < bins.capacity) {
      *reinterpret_cast<uint4*>(bins.d_records + int64_t{bin} * bins.capacity + at) = two;
      continue;
    }
    if (two.x != kFiller) destination[two.x] = two.y;
    if (two.z != kFiller) destination[two.z] = two.w;
  }
}

struct FromBinsShared {
  static constexpr int kWords = Tuning::kPartWords + 32;  // the line in which a part starts may begin before it
  uint32_t words[kWords];
  uint32_t present[kWords / 32];
};

/// One part of a bin for each block. Adjacent blocks take the parts of one bin, so that its records come from memory
/// once.
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    FromBinsKernel(const BinArrays bins, uint32_t* destination) {
  constexpr int kThreads = Tuning::kThreads, kBatch = 4;
  extern __shared__ char raw_shared[];
  auto& shared = *reinterpret_cast<FromBinsShared*>(raw_shared);
  if (bins.d_state->is_taken == 0) return;
  const int64_t low = bins.d_state->low;
  const uint32_t scale = bins.d_state->scale, thread = threadIdx.x;
  const auto parts = static_cast<uint32_t>(CeilDiv(MostBinWords(scale), Tuning::kPartWords));
  for (uint32_t item = blockIdx.x; item < Tuning::kBins * parts; item += gridDim.x) {
    const uint32_t bin = item / parts;
    const uint32_t filled = min(bins.d_filled[bin], bins.capacity);
    const uint64_t begin = BinBegin(bin, scale) + uint64_t{item % parts} * Tuning::kPartWords;
    const uint64_t end = BinBegin(bin + 1, scale);
    if (filled == 0 || begin >= end) continue;
    const auto size = static_cast<uint32_t>(min(end - begin, uint64_t{Tuning::kPartWords}));
    const auto part = static_cast<uint32_t>(begin);
    uint32_t* const out = destination + low + begin;
    const uint32_t phase = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(out) / sizeof(uint32_t)) % 32;
    for (uint32_t i = thread; i < FromBinsShared::kWords / 32; i += kThreads) shared.present[i] = 0;
    __syncthreads();
    const auto* const pairs = reinterpret_cast<const uint4*>(bins.d_records + int64_t{bin} * bins.capacity);
    const auto collect = [&](uint32_t to, uint32_t word) {
      if (to - part >= size) return;  // drops fillers too, because no bin reaches that far
      const uint32_t at = to - part + phase;
      shared.words[at] = word;
      atomicOr(shared.present + at / 32, 1u << (at % 32));
    };
    for (uint32_t i = thread; i < filled / 2; i += kThreads * kBatch) {
      uint4 two[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (i + j * kThreads < filled / 2) two[j] = pairs[i + j * kThreads];
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (i + j * kThreads >= filled / 2) continue;
        collect(two[j].x, two[j].y);
        collect(two[j].z, two[j].w);
      }
    }
    __syncthreads();
    for (uint32_t i = thread; i < size + phase; i += kThreads) {
      if ((shared.present[i / 32] >> (i % 32) & 1) != 0) out[static_cast<int64_t>(i) - phase] = shared.words[i];
    }
    __syncthreads();
  }
}

int64_t WordsOf(const MoveArgs& args) { return args.total * (args.element_bytes / int64_t{sizeof(uint32_t)}); }

/// Whether most intervals have one word.
bool TakesSingles(const MoveArgs& args) { return 2 * WordsOf(args) < 3 * args.interval_count; }

/// The number of intervals that have about as many words as a block has room for.
int TileOf(const MoveArgs& args) {
  const int64_t words = WordsOf(args);
  const int slots = TakesSingles(args) ? Tuning::kSingleSlots : Tuning::kSlots;
  // A tile of one-word intervals fills all records. Others vary.
  const int64_t records = words == args.interval_count ? Tuning::kRecords : Tuning::kRecords / 16 * 15;
  return static_cast<int>(Clamp(records * args.interval_count / words, 1, int64_t{slots} * Tuning::kThreads));
}

bool BlocksHaveRoom() {
  DeviceTraits device;
  return GetDeviceTraits(&device) == cudaSuccess &&
         device.block_bytes >= static_cast<int>(std::max(sizeof(ToBinsShared), sizeof(FromBinsShared)));
}

template <typename Kernel>
cudaError_t AllowShared(Kernel* kernel, size_t bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

template <int kSlots, int kWords>
cudaError_t ToBins(const WordMove& move, const BinArrays& bins, cudaStream_t stream) {
  const auto kernel = &ToBinsKernel<kSlots, kWords>;
  CORANK_RETURN_IF_CUDA_ERROR(AllowShared(kernel, sizeof(ToBinsShared)));
  const auto blocks = static_cast<unsigned>(CeilDiv(move.count, move.tile));
  kernel<<<blocks, Tuning::kThreads, sizeof(ToBinsShared), stream>>>(move, bins);
  return cudaGetLastError();
}

}  // namespace

BinArrays CarveBins(const MoveArgs& args, Workspace& workspace) {
  BinArrays bins{};
  const bool pays = args.element_bytes % int{sizeof(uint32_t)} == 0 && args.source_offsets != nullptr &&
                    args.destination_offsets != nullptr && WordsOf(args) >= Tuning::kLeastWords &&
                    WordsOf(args) <= Tuning::kMostAllWords && WordsOf(args) < args.interval_count * Tuning::kLongMean;
  if (!pays || !BlocksHaveRoom()) return bins;
  const int64_t words = WordsOf(args), tiles = CeilDiv(args.interval_count, TileOf(args));
  constexpr int kBins = Tuning::kBins;
  // Disjoint intervals put no more words into a bin than it has. Each tile adds fillers: on average half of the room of
  // a sector beyond one record.
  const int64_t capacity = words / kBins * 17 / 16 + tiles * (Tuning::kSectorRecords - 1) / 2 * 17 / 16 + 64;
  bins.capacity = static_cast<uint32_t>(CeilDiv(capacity, Tuning::kSectorRecords) * Tuning::kSectorRecords);
  bins.left_capacity = words / (Tuning::kMostWords + 1) + 1;
  static_assert(sizeof(BinState) % sizeof(uint32_t) == 0, "d_filled follows it");
  bins.d_state = static_cast<BinState*>(workspace.CarveBytes(sizeof(BinState) + kBins * sizeof(uint32_t)));
  bins.d_filled = reinterpret_cast<uint32_t*>(bins.d_state + 1);
  bins.d_records = workspace.Carve<BinRecord>(kBins * int64_t{bins.capacity});
  bins.d_left_counts = workspace.Carve<int64_t>(bins.left_capacity);
  bins.d_left_sources = workspace.Carve<int64_t>(bins.left_capacity);
  bins.d_left_destinations = workspace.Carve<int64_t>(bins.left_capacity);
  return bins;
}

cudaError_t MoveThroughBins(const MoveArgs& args, const BinArrays& bins, cudaStream_t stream) {
  if (bins.d_state == nullptr) return cudaSuccess;
  WordMove move;
  move.source = static_cast<const uint32_t*>(args.source);
  move.destination = static_cast<uint32_t*>(args.destination);
  move.source_offsets = args.source_offsets;
  move.destination_offsets = args.destination_offsets;
  move.counts = args.counts;
  move.count = args.interval_count;
  move.element_words = args.element_bytes / int64_t{sizeof(uint32_t)};
  move.words = WordsOf(args);
  move.tile = TileOf(args);
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(bins.d_state, 0, sizeof(BinState) + Tuning::kBins * sizeof(uint32_t), stream));
  SurveyKernel<<<1, Tuning::kThreads, 0, stream>>>(move, bins.d_state);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  CORANK_RETURN_IF_CUDA_ERROR(TakesSingles(args) ? (ToBins<Tuning::kSingleSlots, 1>(move, bins, stream))
                                                 : (ToBins<Tuning::kSlots, 2>(move, bins, stream)));
  CORANK_RETURN_IF_CUDA_ERROR(AllowShared(&FromBinsKernel, sizeof(FromBinsShared)));
  FromBinsKernel<<<Tuning::kFromBlocks, Tuning::kThreads, sizeof(FromBinsShared), stream>>>(bins, move.destination);
  return cudaGetLastError();
}

}  // namespace corank::cuda
