// A client whose calls begin at random times, whether or not earlier ones were answered: what a service sees whose
// callers do not know of each other.
#ifndef CORANK_BENCH_OVERLOAD_OPEN_LOOP_H_
#define CORANK_BENCH_OVERLOAD_OPEN_LOOP_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace corank::bench {

/// How one call ended, as its caller saw it.
enum class Ending : uint8_t {
  kInTime,   // the right answer, before the deadline
  kWrong,    // an answer that is not the right one
  kRefused,  // at once or while it waited, before its deadline: the queue is full, or the deadline cannot be met
  kLate,     // the deadline passed: it had been accepted in vain
  kFailed,   // anything else
};
inline constexpr int kEndings = 5;

/// What a call's status says, `elapsed` after its start. `is_of_server`: it has come from the server, not from gRPC on
/// this side. gRPC reckons deadlines on another clock, and on a busy host they come milliseconds early: one that the
/// server says has passed in the second half of the time, without a RetryInfo, has.
Ending ReadEnding(const grpc::Status& status, bool is_of_server, absl::Duration elapsed, absl::Duration deadline);

/// Whether the status carries a google.rpc.RetryInfo.
bool CarriesRetryInfo(const grpc::Status& status);

/// One kind of request, sent again and again.
struct Request {
  grpc::ByteBuffer message;
  /// Whether this is its answer. Called on gRPC's threads, at the same time.
  std::function<bool(grpc::ByteBuffer* response)> is_answer;
};

struct OpenLoop {
  std::string method;
  double calls_per_second = 0;
  absl::Duration duration;
  absl::Duration deadline;  // of each call
  uint64_t seed = 1;        // of the intervals between calls and of who is asked what
  int senders = 1;          // threads that begin calls: Poisson processes of which the load is the sum
};

struct OpenLoopResult {
  std::array<int64_t, kEndings> calls{};
  int64_t refused_without_retry_info = 0;
  std::string without_retry_info;     // one of these, in words
  double seconds = 0;                 // in which calls began: more than the loop's duration where the client was late
  std::vector<double> latency_us;     // of those in time
  std::vector<std::string> failures;  // the first few of kFailed, in words

  int64_t operator[](Ending ending) const { return calls[static_cast<size_t>(ending)]; }
  int64_t sent() const;
  /// Adds what another loop at the same time gave.
  void Add(const OpenLoopResult& other);
  /// Answers in time, per second.
  double Goodput() const { return seconds > 0 ? static_cast<double>((*this)[Ending::kInTime]) / seconds : 0; }
};

/// Sends one of the requests, chosen at random, at the times of a Poisson process, on the channels in turn, and returns
/// when every call has ended. Calls begin by the schedule, not by the clock: a sender that was late catches up, as the
/// callers would.
OpenLoopResult RunOpenLoop(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                           const std::vector<Request>& requests, const OpenLoop& loop);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_OPEN_LOOP_H_
