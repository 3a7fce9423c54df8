// The inputs of the sorting benchmarks. Each key is a pure function of its position, so that a kernel fills 2^30 keys
// in a millisecond and the host makes the same keys.
//
// The merge-path adversary follows K. Berney, N. Sitchinava, "Engineering Worst-Case Inputs for Pairwise Merge Sort on
// GPUs", IPDPS 2020: in every merge of every pass, every second or fourth thread of a warp starts in the same
// shared-memory bank.
#ifndef CORANK_BENCH_HARNESS_INPUTS_H_
#define CORANK_BENCH_HARNESS_INPUTS_H_

#include <cmath>
#include <cstdint>

#include "kernels/common/types.h"

namespace corank::bench {

enum class Distribution : int {
  kUniform,
  kSorted,          // ascending, distinct while n < 2^width
  kReversed,        // kSorted backwards
  kDisturbed,       // kSorted with 1 % of the keys replaced by random ones
  kAllEqual,        // one key
  kSixteenValues,   // 16 distinct keys, uniform
  kZipf,            // exponent 1 over 2^20 distinct keys
  kSixteenBits,     // 16 live bits, uniform, in the middle of the key
  kSixteenRuns,     // 16 ascending runs
  kSaw,             // 1000 ascending runs
  kMergeAdversary,  // bank conflicts in every merge
};

inline constexpr Distribution kAllDistributions[] = {
    Distribution::kUniform,     Distribution::kSorted,        Distribution::kReversed,      Distribution::kDisturbed,
    Distribution::kAllEqual,    Distribution::kSixteenValues, Distribution::kZipf,          Distribution::kSixteenBits,
    Distribution::kSixteenRuns, Distribution::kSaw,           Distribution::kMergeAdversary};

constexpr const char* DistributionName(Distribution distribution) {
  switch (distribution) {
    case Distribution::kUniform:
      return "uniform";
    case Distribution::kSorted:
      return "sorted";
    case Distribution::kReversed:
      return "reversed";
    case Distribution::kDisturbed:
      return "1% disturbed";
    case Distribution::kAllEqual:
      return "all equal";
    case Distribution::kSixteenValues:
      return "16 distinct";
    case Distribution::kZipf:
      return "zipf";
    case Distribution::kSixteenBits:
      return "16 live bits";
    case Distribution::kSixteenRuns:
      return "16 runs";
    case Distribution::kSaw:
      return "1000 runs";
    case Distribution::kMergeAdversary:
      return "adversary";
  }
  return "unknown";
}

/// The merge sort that the adversary attacks: its tile and its keys per thread.
struct AdversaryShape {
  int64_t tile = 512 * 17;
  int64_t keys_per_thread = 17;
};

/// One input: the key at position i is InputKey<Bits>(spec, i). A value type.
struct InputSpec {
  Distribution distribution = Distribution::kUniform;
  int64_t count = 0;
  uint64_t seed = 1;
  AdversaryShape adversary;
  int shift = 0;  // shift of uniform keys to the right: 2 makes them the bits of floats in [0, 2), in the same order
};

/// A bijection of 64 bits that looks random (the finaliser of SplitMix64).
CORANK_HOST_DEVICE uint64_t Scramble(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The key at position i of `count` ascending keys that span the whole width.
template <typename Bits>
CORANK_HOST_DEVICE Bits AscendingKey(uint64_t i, uint64_t count, uint64_t seed) {
  if constexpr (sizeof(Bits) < 4) return static_cast<Bits>((i << (8 * sizeof(Bits))) / (count > 0 ? count : 1));
  const uint64_t gap = static_cast<uint64_t>(static_cast<Bits>(~Bits{0})) / (count > 0 ? count : 1);
  return static_cast<Bits>(i * gap + (gap > 0 ? Scramble(i ^ seed) % gap : 0));
}

/// The rank of the adversary's key at position i in the sorted array. Undoes the merges from the last pass to the first
/// in closed form. Runs without a partner of full length stay as they are.
CORANK_HOST_DEVICE int64_t AdversaryRank(int64_t i, int64_t count, const AdversaryShape& shape) {
  constexpr int64_t kBanks = 32;
  int64_t threads = 1;
  while (threads * shape.keys_per_thread <= kBanks) threads *= 2;
  const int64_t period = threads * shape.keys_per_thread;  // kBanks keys from one run, the rest from the other
  const int64_t rest = period - kBanks;
  for (int64_t run = shape.tile; run < count; run *= 2) {
    const int64_t pair = i / (2 * run) * (2 * run);
    if (pair + 2 * run > count) continue;
    const bool second = i - pair >= run;
    const int64_t j = i - pair - (second ? run : 0);
    // The first half of the pair's outputs takes kBanks keys of each period from the first run, the second half takes
    // them from the second run. This uses up both runs except for the keys after the last whole period.
    const int64_t periods = run / period, half = periods * period;
    const int64_t here = second ? rest : kBanks;
    const int64_t there = period - here;
    int64_t output = 0;
    if (j >= half) {
      output = (second ? run : half) + j;
    } else if (j < here * periods) {
      output = j / here * period + (second ? kBanks : 0) + j % here;
    } else {
      const int64_t k = j - here * periods;
      output = half + k / there * period + (second ? 0 : kBanks) + k % there;
    }
    i = pair + output;
  }
  return i;
}

template <typename Bits>
CORANK_HOST_DEVICE Bits InputKey(const InputSpec& spec, int64_t position) {
  const uint64_t i = static_cast<uint64_t>(position);
  const uint64_t count = static_cast<uint64_t>(spec.count);
  const uint64_t random = Scramble(i + (spec.seed << 40));
  switch (spec.distribution) {
    case Distribution::kUniform:
      return static_cast<Bits>(static_cast<Bits>(random) >> spec.shift);
    case Distribution::kSorted:
      return AscendingKey<Bits>(i, count, spec.seed);
    case Distribution::kReversed:
      return AscendingKey<Bits>(count - 1 - i, count, spec.seed);
    case Distribution::kDisturbed:
      return Scramble(random) % 100 == 0 ? static_cast<Bits>(random) : AscendingKey<Bits>(i, count, spec.seed);
    case Distribution::kAllEqual:
      return static_cast<Bits>(0x5A5A5A5A5A5A5A5Au);
    case Distribution::kSixteenValues:
      return static_cast<Bits>(Scramble(spec.seed + random % 16));
    case Distribution::kZipf:
      return static_cast<Bits>(exp2f(20.0f * static_cast<float>(random >> 40) * (1.0f / 16777216.0f)));
    case Distribution::kSixteenBits:
      return sizeof(Bits) < 4 ? static_cast<Bits>(random)
                              : static_cast<Bits>((random & 0xFFFF) << (4 * sizeof(Bits) - 8));
    case Distribution::kSixteenRuns:
    case Distribution::kSaw: {
      const uint64_t runs = spec.distribution == Distribution::kSaw ? 1000 : 16;
      const uint64_t length = (count + runs - 1) / runs;
      return AscendingKey<Bits>(i % length, length, spec.seed + i / length);
    }
    case Distribution::kMergeAdversary:
      return AscendingKey<Bits>(static_cast<uint64_t>(AdversaryRank(position, spec.count, spec.adversary)), count,
                                spec.seed);
  }
  return Bits{0};
}

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_INPUTS_H_
