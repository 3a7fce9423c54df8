// What is left of a service's answers when it is asked for more than it can do.
#ifndef CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_
#define CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/harness/results.h"

namespace corank::bench {

struct OverloadOptions {
  std::string address;  // of corankd, which keeps arrays
  int channels = 8;
  int arrays = 8;        // that are sorted
  int64_t keys = 0;      // of each
  int in_flight = 32;    // calls at a time that find the capacity
  absl::Duration phase;  // length of each load
  /// Of each call; zero: the time of 50 calls at capacity, 20 ms or more.
  absl::Duration deadline;
  std::vector<double> loads = {0.5, 0.8, 1, 1.5, 2, 3};  // multiples of the capacity
  uint64_t seed = 1;
};

/// Finds the capacity with calls that wait for each other, then sends each load as a Poisson process. One row a load:
/// its goodput, answers in time a second, beside the capacity; the last one, of the greatest load, beside the peak of
/// all. Then of the greatest load: the share of accepted calls that were answered in time, of refusals with RetryInfo,
/// of right answers.
absl::StatusOr<std::vector<Row>> MeasureOverload(const OverloadOptions& options);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_
