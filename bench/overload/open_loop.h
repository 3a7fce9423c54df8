// A client that starts calls at random times, whether or not earlier ones were answered. This is the load that
// independent callers make.
#ifndef CORANK_BENCH_OVERLOAD_OPEN_LOOP_H_
#define CORANK_BENCH_OVERLOAD_OPEN_LOOP_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/service/light_client.h"

namespace corank::bench {

/// How one call ended for its caller.
enum class Ending : uint8_t {
  kInTime,   // the right answer, before the deadline
  kWrong,    // a wrong answer
  kRefused,  // before its deadline: the queue is full, or the deadline cannot be met
  kLate,     // the server accepted it, and the deadline passed
  kFailed,   // anything else
};
inline constexpr int kEndings = 5;

/// Classifies a call's status, `elapsed` after its start. `is_of_server`: the status came from the server, not from
/// this side. A deadline that the server reports in the second half of the time, without a RetryInfo, counts as passed.
Ending ReadEnding(const grpc::Status& status, bool is_of_server, absl::Duration elapsed, absl::Duration deadline);

/// Whether the status carries a google.rpc.RetryInfo.
bool CarriesRetryInfo(const grpc::Status& status);

/// One kind of request, to be sent repeatedly.
struct Request {
  LightRequest message;
  /// Whether this is the right answer. The client's threads call it concurrently.
  std::function<bool(grpc::ByteBuffer* response)> is_answer;
};

struct OpenLoop {
  double calls_per_second = 0;
  absl::Duration duration;
  absl::Duration deadline;  // of each call
  uint64_t seed = 1;        // of the intervals between calls and the choice of requests
};

struct OpenLoopResult {
  std::array<int64_t, kEndings> calls{};
  int64_t refused_without_retry_info = 0;
  std::string without_retry_info;     // the text of one of them
  double seconds = 0;                 // during which calls began; more than the loop's duration if the client was late
  std::vector<double> latency_us;     // of calls answered in time
  std::vector<std::string> failures;  // the text of the first few kFailed

  int64_t operator[](Ending ending) const { return calls[static_cast<size_t>(ending)]; }
  int64_t sent() const;
  /// Adds the outcome of a concurrent loop.
  void Add(const OpenLoopResult& other);
  /// Answers in time, per second.
  double Goodput() const { return seconds > 0 ? static_cast<double>((*this)[Ending::kInTime]) / seconds : 0; }
};

/// Sends randomly chosen requests at the times of a Poisson process, and returns once every call has ended. Each of the
/// client's threads has a process of its own, whose sum is the load. Calls follow the schedule, not the clock: a late
/// thread catches up, as independent callers would.
OpenLoopResult RunOpenLoop(LightClient& client, const std::vector<Request>& requests, const OpenLoop& loop);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_OPEN_LOOP_H_
