// Decides when AUTO looks at keys, and what to look for after a sample. Host arithmetic only.
#ifndef CORANK_KERNELS_CUDA_SORT_STRUCTURE_RULES_H_
#define CORANK_KERNELS_CUDA_SORT_STRUCTURE_RULES_H_

#include <algorithm>
#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/key_statistics.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

/// Whether AUTO looks at the data for these arguments, if it does so for arrays of look_count keys or more.
inline bool LooksAtData(const SortArgs& args, int64_t look_count) {
  return args.algorithm == SortAlgorithm::kAuto && args.segment_offsets == nullptr && args.ResultCount() > 0 &&
         args.count >= std::max<int64_t>(look_count, 3);
}

/// Whether AUTO uses MERGESORT for these arguments if their keys look random.
inline bool MergesRandomKeys(const SortArgs& args) {
  const bool moves_values = args.value_bytes == 0 || args.value_bytes == 4 || args.value_bytes == 8;
  const bool takes_indices = args.indices_out != nullptr || !moves_values;
  const int payload_bytes = takes_indices ? IndexBytes(args.count - 1) : args.value_bytes;
  return args.count <= AutoMergesortCount(KeyBytes(args.key_type), payload_bytes);
}

/// The passes of the radix sort over whole bytes. It skips bytes that are the same in all keys.
inline int LiveBytes(uint64_t live_bits) {
  int bytes = 0;
  for (; live_bits != 0; live_bits >>= 8) bytes += (live_bits & 0xFF) != 0 ? 1 : 0;
  return bytes;
}

/// Its passes if it knows the live bits in advance: digits of 8 bits then start at live bits.
inline int LiveDigits(uint64_t live_bits) {
  int digits = 0;
  for (; live_bits != 0; ++digits) {
    while ((live_bits & 1) == 0) live_bits >>= 1;
    live_bits >>= 8;
  }
  return digits;
}

/// The structures that a sample suggests.
struct Suspicion {
  bool sorted, reversed, few_runs, few_distinct, few_bits;

  bool Any() const { return sorted || reversed || few_runs || few_distinct || few_bits; }
};

inline Suspicion Suspect(const SortArgs& args, const KeySample& sample) {
  Suspicion suspicion{};
  suspicion.sorted = sample.near_descents == 0 && sample.far_descents == 0;
  suspicion.reversed = sample.near_ascents == 0 && sample.far_ascents == 0;
  // Samples are thousands of keys apart, so two descents next to samples stand for thousands in the array.
  suspicion.few_runs = sample.near_descents <= 1 && sample.far_descents < kMaxListedRuns;
  // If a key occurs once in the sample, the array probably has keys that the sample missed.
  suspicion.few_distinct = sample.distinct <= kMaxDistinctKeys && sample.singletons == 0 && KeyBytes(args.key_type) > 1;
  suspicion.few_bits = !IsFloat(args.key_type) && LiveDigits(sample.varying) < LiveBytes(sample.varying);
  return suspicion;
}

/// Whether keys without suspicions are unordered and vary in all bytes. MERGESORT takes longer if runs do not
/// interleave, and RADIX skips bytes that do not vary.
inline bool LooksRandom(const SortArgs& args, const KeySample& sample) {
  constexpr uint32_t kLeast = StatisticsTuning::kSamples / 8 * 3;
  return std::min({sample.near_descents, sample.near_ascents, sample.far_descents, sample.far_ascents}) >= kLeast &&
         LiveBytes(sample.varying) == KeyBytes(args.key_type);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STRUCTURE_RULES_H_
