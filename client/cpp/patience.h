// Limits how long the client waits for a call.
#ifndef CORANK_CLIENT_CPP_PATIENCE_H_
#define CORANK_CLIENT_CPP_PATIENCE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corank/cancellation.h"

namespace corank::client {

/// gRPC never ends a call, even after its deadline or a cancellation, while the connection's bytes are stuck in the
/// socket. So the client waits only a little longer than gRPC should take. Not thread-safe.
class Patience {
 public:
  /// The time that gRPC gets to end a call after its deadline, a cancellation or an error.
  static constexpr absl::Duration kGrace = absl::Milliseconds(500);

  /// `cancellation` may be null.
  Patience(absl::Time deadline, const Cancellation* cancellation)
      : end_(deadline + kGrace), cancellation_(cancellation) {}

  /// Calls `wait` repeatedly. `wait` waits for the end of the call until a given time, and returns whether the call has
  /// ended. Await returns true when it has, and false when the client should give the call up.
  bool Await(absl::FunctionRef<bool(absl::Time)> wait);

  /// The error of a call that did not end: CANCELLED or DEADLINE_EXCEEDED.
  absl::Status error() const;

 private:
  absl::Time end_;
  const Cancellation* const cancellation_;
  bool is_cancelled_ = false;  // seen by Await
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_PATIENCE_H_
