// How long a call is waited for.
#ifndef CORANK_CLIENT_CPP_PATIENCE_H_
#define CORANK_CLIENT_CPP_PATIENCE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corank/cancellation.h"

namespace corank::client {

/// gRPC ends no call of a connection whose bytes stand still in its socket, be the call out of time or cancelled. So
/// calls are not waited for until gRPC ends them, but a little longer than it should take. Not thread-safe.
class Patience {
 public:
  /// What gRPC gets to end a call that is out of time, cancelled or broken off.
  static constexpr absl::Duration kGrace = absl::Milliseconds(500);

  /// `cancellation` may be null.
  Patience(absl::Time deadline, const Cancellation* cancellation)
      : end_(deadline + kGrace), cancellation_(cancellation) {}

  /// Calls `wait`, which says whether the call has ended, and waits for that until the time that it is given, until the
  /// call has ended (true) or nothing more can be expected (false).
  bool Await(absl::FunctionRef<bool(absl::Time)> wait);

  /// What a call fails with that did not end: CANCELLED or DEADLINE_EXCEEDED.
  absl::Status error() const;

 private:
  absl::Time end_;
  const Cancellation* const cancellation_;
  bool is_cancelled_ = false;  // as Await saw it
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_PATIENCE_H_
