// Keys for tests and measurements, by distribution. A seed gives the same keys on every machine.
#ifndef CORANK_TESTS_SUPPORT_DISTRIBUTIONS_H_
#define CORANK_TESTS_SUPPORT_DISTRIBUTIONS_H_

#include <cstdint>
#include <vector>

#include "kernels/common/types.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

enum class Distribution : uint8_t {
  kUniform,       // every bit pattern equally often; for floats including NaNs and denormals
  kSorted,        // uniform numbers, sorted ascending
  kReversed,      // uniform numbers, sorted descending
  kNearlySorted,  // sorted, then 1 % of the keys replaced
  kAllEqual,
  kSixteenDistinct,
  kZipf,          // few keys very often, many keys rarely
  kSixteenBits,   // only the 16 lowest bits vary
  kRuns,          // a saw-tooth of ascending runs of 1000
  kSpecialFloats  // NaNs of many payloads, both zeros, both infinities, denormals; integers: extremes
};

inline constexpr Distribution kAllDistributions[] = {
    Distribution::kUniform,  Distribution::kSorted,       Distribution::kReversed,        Distribution::kNearlySorted,
    Distribution::kAllEqual, Distribution::kZipf,         Distribution::kSixteenDistinct, Distribution::kSixteenBits,
    Distribution::kRuns,     Distribution::kSpecialFloats};

const char* DistributionName(Distribution distribution);

/// `count` keys of `type`, determined by the seed.
Bytes MakeKeys(KeyType type, Distribution distribution, int64_t count, uint64_t seed);

/// Random bytes.
Bytes MakeBytes(int64_t count, uint64_t seed);

/// Offsets of segments of random lengths up to `longest`, of which the first, the last and some others are empty.
std::vector<int64_t> CutSegments(int64_t count, int64_t longest, uint64_t seed);

/// A generator with the same results on every machine (S. Vigna, splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// In [0, bound); bound > 0.
  int64_t Below(int64_t bound) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(bound)); }
  bool OneIn(int64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_DISTRIBUTIONS_H_
