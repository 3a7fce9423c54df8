// What is left of a service's answers when it is asked for more than it can do.
#ifndef CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_
#define CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/harness/results.h"
#include "bench/overload/open_loop.h"

namespace corank::bench {

/// What is asked for, too often.
struct OverloadWork {
  std::string name;  // of its rows: "Open loop"
  std::string type;  // of the keys
  int64_t keys = 0;  // of each array
  std::vector<Request> requests;
  int in_flight = 32;         // calls at a time that find the capacity
  std::vector<double> loads;  // multiples of the capacity
};

struct OverloadOptions {
  std::string address, metrics_address;  // of corankd
  pid_t corankd_pid = 0;
  int channels = 8;
  int senders = 1;       // of OpenLoop
  absl::Duration phase;  // length of each load
  /// Of each call; zero: the time of 50 calls at capacity, 20 ms or more.
  absl::Duration deadline;
  uint64_t seed = 1;
};

/// Finds the capacity with calls that wait for each other, then sends each load as a Poisson process. One row a load:
/// its goodput, answers in time a second, beside the capacity; the last one, of the greatest load, beside the peak of
/// all. Then of the greatest load: the share of accepted calls that were answered in time, of refusals with RetryInfo,
/// of right answers. Where the client could not make the greatest load, or it did not come through to the server, the
/// rows say so in their notes and have no goals; where it turned out to be less than it is called, no goal is met.
absl::StatusOr<std::vector<Row>> MeasureOverload(const OverloadWork& work, const OverloadOptions& options);

/// Why a load was none for the server, of so many calls a second offered; empty: it was. `seconds`, `sent`: of the
/// loop that was to last `duration`; `arrived`: of its calls, at the server.
std::string WhyNoLoad(double offered_per_s, absl::Duration duration, double seconds, int64_t sent, int64_t arrived);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_
