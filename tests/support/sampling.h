// Reduces the cases of tests with many, for tools that make each case a hundred times slower.
#ifndef CORANK_TESTS_SUPPORT_SAMPLING_H_
#define CORANK_TESTS_SUPPORT_SAMPLING_H_

#include <cstdint>
#include <cstdlib>

namespace corank::testing {

/// Whether the next case of a test runs. By default every case runs. With CORANK_TEST_EVERY=n in the environment, the
/// first case of a process runs, and then about one in n, the same ones each time. Not thread-safe.
inline bool RunsNextCase() {
  static const uint64_t every = [] {
    const char* const text = std::getenv("CORANK_TEST_EVERY");
    const long long n = text == nullptr ? 1 : std::atoll(text);
    return n < 1 ? uint64_t{1} : static_cast<uint64_t>(n);
  }();
  static uint64_t cases = 0;
  // Not exactly every n-th: loops over algorithms and types would then reach only some of them. SplitMix64 (Steele et
  // al. 2014).
  uint64_t mixed = cases++ * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return (mixed ^ mixed >> 31) % every == 0;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_SAMPLING_H_
