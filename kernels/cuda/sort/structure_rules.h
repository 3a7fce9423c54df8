// When AUTO looks at keys, and what a sample of them gives reason to look for. Host arithmetic only.
#ifndef CORANK_KERNELS_CUDA_SORT_STRUCTURE_RULES_H_
#define CORANK_KERNELS_CUDA_SORT_STRUCTURE_RULES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/key_statistics.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

/// Whether AUTO looks at the data for these arguments, if it does so for arrays of look_count keys and more.
inline bool LooksAtData(const SortArgs& args, int64_t look_count) {
  return args.algorithm == SortAlgorithm::kAuto && args.segment_offsets == nullptr && args.ResultCount() > 0 &&
         args.count >= std::max<int64_t>(look_count, 3);
}

/// Whether AUTO takes MERGESORT for these arguments, if their keys look random.
inline bool MergesRandomKeys(const SortArgs& args) {
  const bool moves_values = args.value_bytes == 0 || args.value_bytes == 4 || args.value_bytes == 8;
  const bool takes_indices = args.indices_out != nullptr || !moves_values;
  const int payload_bytes = takes_indices ? IndexBytes(args.count - 1) : args.value_bytes;
  return args.count <= AutoMergesortCount(KeyBytes(args.key_type), payload_bytes);
}

/// Passes of the radix sort over whole bytes, of which it skips those that are the same in all keys.
inline int LiveBytes(uint64_t live_bits) {
  int bytes = 0;
  for (; live_bits != 0; live_bits >>= 8) bytes += (live_bits & 0xFF) != 0 ? 1 : 0;
  return bytes;
}

/// Its passes if it is told the live bits before: digits of 8 bits then start where the live ones do.
inline int LiveDigits(uint64_t live_bits) {
  int digits = 0;
  for (; live_bits != 0; ++digits) {
    while ((live_bits & 1) == 0) live_bits >>= 1;
    live_bits >>= 8;
  }
  return digits;
}

/// What the sample gives reason to look for.
struct Suspicion {
  bool sorted, reversed, few_runs, few_distinct, few_bits;

  bool Any() const { return sorted || reversed || few_runs || few_distinct || few_bits; }
};

inline Suspicion Suspect(const SortArgs& args, const KeySample& sample) {
  Suspicion suspicion{};
  suspicion.sorted = sample.near_descents == 0 && sample.far_descents == 0;
  suspicion.reversed = sample.near_ascents == 0 && sample.far_ascents == 0;
  // Samples are thousands of keys apart: two descents next to one stand for thousands in the array.
  suspicion.few_runs = sample.near_descents <= 1 && sample.far_descents < kMaxListedRuns;
  // A key that was met once has others beside it that were not met.
  suspicion.few_distinct = sample.distinct <= kMaxDistinctKeys && sample.singletons == 0 && KeyBytes(args.key_type) > 1;
  suspicion.few_bits = !IsFloat(args.key_type) && LiveDigits(sample.varying) < LiveBytes(sample.varying);
  return suspicion;
}

/// Whether keys of whose sample nothing is suspected are in no order, and vary in all bytes: MERGESORT takes longer
/// where runs do not interleave, RADIX skips what does not vary.
inline bool LooksRandom(const SortArgs& args, const KeySample& sample) {
  constexpr uint32_t kLeast = StatisticsTuning::kSamples / 8 * 3;
  return std::min({sample.near_descents, sample.near_ascents, sample.far_descents, sample.far_ascents}) >= kLeast &&
         LiveBytes(sample.varying) == KeyBytes(args.key_type);
}

/// Most keys that are selected from: 0 where so many results are wanted that all keys are sorted.
inline int64_t SelectCapacity(const SortArgs& args) {
  constexpr int64_t kLeastPart = 64;  // of the keys that are results
  constexpr int64_t kPart = 16;       // of the keys that are selected
  return KeyBytes(args.key_type) > 1 && args.ResultCount() <= args.count / kLeastPart ? args.count / kPart : 0;
}

/// The sample that comes after the results with near certainty: as many are expected before it as there are results in
/// proportion, and five standard deviations more. 0: no selection.
inline int ThresholdNumber(const SortArgs& args) {
  if (SelectCapacity(args) == 0) return 0;
  const double expected = static_cast<double>(args.ResultCount()) / static_cast<double>(args.count) *
                          static_cast<double>(StatisticsTuning::kSamples);
  return static_cast<int>(expected + 5 * std::sqrt(expected)) + 8;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STRUCTURE_RULES_H_
