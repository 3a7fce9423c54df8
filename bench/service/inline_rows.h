// The rows of service_bench whose arrays travel in one message each way: calls to corankd, and the same bytes to the
// echo server, in turn.
#ifndef CORANK_BENCH_SERVICE_INLINE_ROWS_H_
#define CORANK_BENCH_SERVICE_INLINE_ROWS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/harness/results.h"
#include "bench/service/inline_work.h"

namespace corank::bench {

/// The kind of a row's two figures.
enum class Figure {
  kCallsPerSecond,
  kGigabytesPerSecond,  // payload, each way
  kMedianLatency,       // microseconds
};

/// One line of the service table.
struct InlineLoad {
  std::string name;  // "Sort inline, 64 in flight"
  int64_t keys = 0;  // u32 keys in a call
  int in_flight = 1;
  Figure figure = Figure::kCallsPerSecond;
  double goal_ratio = 0;     // 0: none
  bool is_of_curve = false;  // one point of a curve, which a plot shows against keys or in_flight
  InlineOperator op = InlineOperator::kSort;
  double round_share = 1;  // share of the length of a round
};

/// The rows with goals, small calls of other operators, and two curves of Sort: throughput against the size of a call,
/// and latency against calls in flight.
std::vector<InlineLoad> InlineLoads();

struct LoadOptions {
  std::string corankd;  // addresses
  std::string echo;
  std::string held_echo;  // an echo with corankd's allocator that holds streams until their end and copies messages
  pid_t corankd_pid = 0;
  pid_t echo_pid = 0;
  pid_t held_echo_pid = 0;
  int max_channels = 8;  // connections to each server: one per call in flight, up to this
  int client_threads = 1;
  int rounds = 5;  // alternations; a figure is the median of its rounds
  absl::Duration round = absl::Seconds(2);
};

/// Checks one answer of each server, warms up, alternates between the servers and makes the row. The row's spread is
/// over rounds. Its details contain latencies, the stages that corankd's responses report, and the CPU time of a call
/// on each server and client; for large calls also the rate of an echo that copies each message once.
absl::StatusOr<Row> MeasureInlineLoad(const InlineLoad& load, const LoadOptions& options);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_INLINE_ROWS_H_
