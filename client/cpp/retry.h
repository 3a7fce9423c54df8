// Decides whether a failed call is retried: pure arithmetic, and a budget. Connection::Try retries.
#ifndef CORANK_CLIENT_CPP_RETRY_H_
#define CORANK_CLIENT_CPP_RETRY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "corank/client_options.h"

namespace corank::client {

class Cancellation;

/// Time and chance, which tests replace. Thread-safe.
class RetryClock {
 public:
  virtual ~RetryClock() = default;
  virtual absl::Time Now() = 0;
  /// Waits for `time`. Returns false as soon as the cancellation, which may be null, is cancelled.
  virtual bool Sleep(Cancellation* cancellation, absl::Duration time) = 0;
  /// From [0, 1).
  virtual double Random() = 0;

  static std::shared_ptr<RetryClock> Real();
};

/// After which failures a call may repeat. docs/concepts/retries.md lists every call.
enum class Repeat : uint8_t {
  kNever,       // only if it was never sent: its inputs may be overwritten
  kUnlessLost,  // if the server says that it failed; not if the answer was lost, because the work may be done
  kAlways,      // after every failure: doing the work twice does no harm
};

/// How an attempt failed.
enum class Failure : uint8_t {
  kFinal,    // it would fail again
  kNotSent,  // there was no connection
  kRefused,  // the server says that it did not do the call, and that a retry may help
  kLost,     // the connection broke, and the work may be done
};

Failure FailureOf(const absl::Status& error);

/// Whether and when a call is retried.
struct NextTry {
  std::optional<absl::Duration> delay;  // the wait before the next attempt; none: no retry
  std::string reason;                   // why there is no retry, for a person; empty if that is obvious
};

/// Decides after `error` of attempt number `attempt`, from 1, with `remaining` until the deadline. `random` is in [0,
/// 1). The wait is at least the time that the server asks for, and less than `remaining`.
NextTry AfterFailure(const RetryOptions& options, const absl::Status& error, Repeat repeat, int attempt,
                     absl::Duration remaining, double random);

/// The bucket of RetryOptions::budget_tokens. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(const RetryOptions& options)
      : most_(options.budget_tokens), refill_(options.budget_refill), tokens_(options.budget_tokens) {}

  /// Takes a token. False if the budget is used up.
  bool Take();
  /// A call succeeded.
  void Refill();

 private:
  const double most_, refill_;
  absl::Mutex mutex_;
  double tokens_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RETRY_H_
