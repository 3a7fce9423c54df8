// AUTO's knowledge about keys, as plain data for kernels, host code and tests.
#ifndef CORANK_KERNELS_CUDA_SORT_KEY_STATISTICS_H_
#define CORANK_KERNELS_CUDA_SORT_KEY_STATISTICS_H_

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

struct StatisticsTuning {
  static constexpr int kSampleThreads = 1024;
  static constexpr int kSampleItems = 4;
  static constexpr int kSamples = kSampleThreads * kSampleItems;
  static constexpr int kThreads = 256;
  static constexpr int kVectors = 4;  // of 16 bytes, for each thread and tile
};

/// Most runs whose starts are listed.
inline constexpr int kMaxListedRuns = 32;
/// Most distinct keys that are counted.
inline constexpr int kMaxDistinctKeys = 256;

/// The look of a few thousand keys, spread over the array: a reason to read all keys, or not. It proves nothing but
/// disorder: each counted descent is one of the array.
struct KeySample {
  uint32_t near_descents = 0;  // samples whose successor in the array comes before them
  uint32_t near_ascents = 0;
  uint32_t far_descents = 0;  // samples that come before the previous sample
  uint32_t far_ascents = 0;
  uint32_t distinct = 0;    // kMaxDistinctKeys + 1: more, or equal keys that differ in their bits
  uint32_t singletons = 0;  // distinct keys that occurred once
  uint64_t varying = 0;     // bits of the codes that differ between samples
};

/// The look of all keys. A break is a place where the order is not that of the direction; a run ends there.
struct KeyStatistics {
  unsigned long long ones = 0;   // bits that are set in some code
  unsigned long long zeros = 0;  // bits that are clear in some code
  unsigned long long breaks = 0;
  uint32_t ties = 0;            // 1: some neighbours are equal
  uint32_t differing_ties = 0;  // 1: some equal neighbours have other bits (zeros, NaNs)
  uint32_t listed = 0;          // starts of runs in `starts`; at most kMaxListedRuns are valid; unordered
  uint32_t blocks_done = 0;
  int64_t starts[kMaxListedRuns] = {};
};

/// A request to examine all keys.
struct Examination {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  int64_t count = 0;         // > 0
  int64_t result_count = 0;  // the length of keys_out
  const void* d_keys_in = nullptr;
  void* d_keys_out = nullptr;  // not null: also copy the keys, backwards if `descends`
  bool descends = false;       // breaks are ascents, not descents
  /// Whether to read all keys for `ones` and `zeros`. Otherwise reading stops soon after kMaxListedRuns breaks. Breaks
  /// beyond that number are not all counted in either case.
  bool reads_all = false;
};

/// The distinct keys of a sample in sorted order, as a hash table with counters.
struct KeyDictionary {
  static constexpr int kSlotBits = 11;
  static constexpr int kSlots = 1 << kSlotBits;
  uint64_t keys[kMaxDistinctKeys];  // raw bits, sorted
  unsigned long long counts[kMaxDistinctKeys];
  uint64_t slot_keys[kSlots];  // a free slot holds keys[0] and rank 0
  uint8_t slot_ranks[kSlots];  // position in `keys`
  uint32_t size;
  uint32_t probes;   // slots to look at before a key counts as missing
  uint32_t missing;  // 1: a key is not in the table
  uint32_t blocks_done;

  /// The first slot of a key.
  static CORANK_HOST_DEVICE uint32_t SlotOf(uint64_t raw) {
    return static_cast<uint32_t>((raw * 0x9E3779B97F4A7C15u) >> (64 - kSlotBits));
  }
};

/// The statistics in device memory.
struct StatisticsScratch {
  KeyStatistics statistics;
  KeyDictionary dictionary;
};

/// The device's answer to the host, in pinned host memory that kernels write. The host reads it as soon as it arrives.
struct StatisticsLetter {
  uint32_t arrived;             // 0 before, 1 after
  uint32_t missing;             // of the dictionary
  unsigned long long selected;  // keys, by SelectKeys and SelectBand
  unsigned long long below;     // keys before them in sorted order, by SelectBand
  KeySample sample;
  KeyStatistics statistics;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_KEY_STATISTICS_H_
