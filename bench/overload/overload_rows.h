// How many answers a service still gives under more load than it can serve.
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

/// An offered load.
struct OverloadLoad {
  double of_capacity;  // calls a second, as a multiple of the capacity
  double goal = 0;     // least goodput, as a part of what row.reference is; 0: none
};

/// The requests of an overload.
struct OverloadWork {
  std::string name;  // the name of its rows: "Open loop"
  std::string type;  // of the keys
  int64_t keys = 0;  // of each array
  std::vector<Request> requests;
  int in_flight = 32;  // concurrent calls by which the capacity is measured
  std::vector<OverloadLoad> loads;
};

struct OverloadOptions {
  std::string address, metrics_address;  // of corankd
  pid_t corankd_pid = 0;
  int connections = 64;
  int client_threads = 1;
  absl::Duration phase;  // length of each load
  /// Of each call; zero: the time of 50 calls at capacity, 20 ms or more.
  absl::Duration deadline;
  uint64_t seed = 1;
};

/// Measures the capacity with a closed loop, then sends each load as a Poisson process. Makes one row per load: its
/// goodput (answers in time a second) beside what was offered up to 0.9 of the capacity, and beyond beside the best
/// goodput of all loads. Further rows of the greatest load: the share of accepted calls answered in time, of refusals
/// with RetryInfo, and of right answers. If the client could not make the greatest load, or it did not reach the
/// server, the rows say so in their notes and have no goals. If the load fell short of its name, no goal is met.
absl::StatusOr<std::vector<Row>> MeasureOverload(const OverloadWork& work, const OverloadOptions& options);

/// Why an offered load of calls a second did not load the server; empty if it did. `seconds`, `sent`: of the loop,
/// which should last `duration`; `arrived`: how many of its calls reached the server.
std::string WhyNoLoad(double offered_per_s, absl::Duration duration, double seconds, int64_t sent, int64_t arrived);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_OVERLOAD_ROWS_H_
