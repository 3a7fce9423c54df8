// When a call that failed is tried again. Pure arithmetic, and a budget; Connection::Try does it.
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

/// Time and chance, as tests replace them. Thread-safe.
class RetryClock {
 public:
  virtual ~RetryClock() = default;
  virtual absl::Time Now() = 0;
  /// Waits; returns early, with false, once the cancellation, which may be null, is cancelled.
  virtual bool Sleep(Cancellation* cancellation, absl::Duration time) = 0;
  /// From [0, 1).
  virtual double Random() = 0;

  static std::shared_ptr<RetryClock> Real();
};

/// Which failures of a call may be followed by another try. What each call of the library is stands in README.md.
enum class Repeat : uint8_t {
  kNever,       // whatever the server says: its inputs may be overwritten. (What was never sent may still be sent.)
  kUnlessLost,  // where the server says that it failed; not where the answer was lost, and the work may be done
  kAlways,      // done twice is as good as done once
};

/// What a status says of a try.
enum class Failure : uint8_t {
  kFinal,    // it would fail again
  kNotSent,  // there was no connection
  kRefused,  // the server says when to come back
  kLost,     // the connection broke: nobody knows whether it was done
};

Failure FailureOf(const absl::Status& error);

/// Whether a call is tried again.
struct NextTry {
  std::optional<absl::Duration> delay;  // to wait before it; none: it is not
  std::string reason;                   // why it is not, for a person; empty where that goes without saying
};

/// After `error` of try number `attempt`, from 1, with `remaining` to the deadline. `random` is from [0, 1). The wait
/// is at least what the server asks for, and less than `remaining`.
NextTry AfterFailure(const RetryOptions& options, const absl::Status& error, Repeat repeat, int attempt,
                     absl::Duration remaining, double random);

/// The bucket of RetryOptions::budget_tokens. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(const RetryOptions& options)
      : most_(options.budget_tokens), refill_(options.budget_refill), tokens_(options.budget_tokens) {}

  /// Takes a token. False if there is nothing to be tried again with.
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
