// Runs corank::cuda::Merge and corank::cuda::Search on arrays in host memory.
#ifndef CORANK_TESTS_CUDA_MERGE_MERGE_RUNNER_H_
#define CORANK_TESTS_CUDA_MERGE_MERGE_RUNNER_H_

#include <cstdint>
#include <vector>

#include "kernels/common/operators.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

struct MergeProblem {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  std::vector<Bytes> keys;
  std::vector<Bytes> values;
  int value_bytes = 0;
  bool check_sorted = true;
  int shift = 0;  // elements between a 256-byte boundary and the start of every array
};

struct MergeAnswer {
  OperatorReport report;
  Bytes keys;
  Bytes values;
};

/// Failures of the run, and writes outside of outputs and workspace, are test failures.
MergeAnswer RunMerge(const MergeProblem& problem);

struct SearchProblem {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  SearchBound bound = SearchBound::kLower;
  Bytes haystack;
  Bytes needles;
  bool check_sorted = true;
};

struct SearchAnswer {
  OperatorReport report;
  Bytes positions;
};

SearchAnswer RunSearch(const SearchProblem& problem);

/// `count` sorted keys of a distribution.
Bytes SortedKeys(KeyType type, Order order, int64_t count, int distribution, uint64_t seed);

}  // namespace corank::testing

#endif  // CORANK_TESTS_CUDA_MERGE_MERGE_RUNNER_H_
