// Runs Sort on the GPU for one case and compares every output with the oracle.
#ifndef CORANK_TESTS_CUDA_SORT_DEVICE_SORT_H_
#define CORANK_TESTS_CUDA_SORT_DEVICE_SORT_H_

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/common/operators.h"
#include "kernels/cuda/sort/tuning.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"

namespace corank::testing {

/// Keys, and the permutation that sorts them by the oracle: made once, sorted in many ways.
struct SortInput {
  KeyType type;
  Order order;
  Distribution distribution;
  uint64_t seed;
  std::vector<int64_t> segment_offsets;
  Bytes keys;
  std::vector<int64_t> expected;

  SortInput(KeyType type, Order order, Distribution distribution, int64_t count, uint64_t seed,
            std::vector<int64_t> segment_offsets = {});
  /// Uses the keys of the test. Distribution and seed are unused.
  SortInput(KeyType type, Order order, Bytes keys, std::vector<int64_t> segment_offsets = {});
  int64_t count() const { return static_cast<int64_t>(keys.size()) / KeyBytes(type); }
};

/// Keys of two given bit patterns in random order.
Bytes TwoPatterns(int key_bytes, uint64_t one, uint64_t other, int64_t count);

/// The parameters of a sort.
struct SortRequest {
  SortAlgorithm algorithm = SortAlgorithm::kMergesort;
  bool keys = true;
  bool indices = false;
  int value_bytes = 0;
  int64_t limit = -1;
  int64_t offset = 0;
  /// Arrays start this many elements after an aligned address.
  int skew = 0;
  /// AUTO looks at the data from this count on.
  int64_t look_count = cuda::kAutoLookCount;
};

/// Sorts on the GPU, with guard zones around every output and the workspace. Compares the outputs with the oracle and
/// checks that the inputs are unchanged. *taken: the reported algorithm.
::testing::AssertionResult SortsRight(const SortInput& input, const SortRequest& request,
                                      SortAlgorithm* taken = nullptr);

}  // namespace corank::testing

#endif  // CORANK_TESTS_CUDA_SORT_DEVICE_SORT_H_
