// When a refused call is tried again. Pure arithmetic: the caller reads the clock, draws the jitter and waits.
#ifndef CORANK_CLIENT_CPP_RETRY_H_
#define CORANK_CLIENT_CPP_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace corank::client {

/// Every operator of corank is idempotent, so that trying again is always safe.
struct RetryOptions {
  bool enabled = true;
  /// Calls in all, the first one included.
  int max_attempts = 6;
  /// The wait doubles with each attempt up to this, but is never shorter than what the server asks for.
  absl::Duration max_delay = absl::Seconds(5);
};

/// The wait before attempt number `attempt` + 1, or none if `error` of attempt number `attempt` (from 1) is final.
///
/// Only UNAVAILABLE and RESOURCE_EXHAUSTED with RetryInfo are tried again: then a server has answered and has said
/// when. A server that cannot be reached at all is reported at once. The wait is the server's delay, doubled for each
/// attempt after the first, lengthened by up to a quarter (`jitter` from 0 to 1) so that refused callers do not return
/// together; if it would end at or after `remaining`, the time left to the deadline, the error is final.
std::optional<absl::Duration> NextRetry(const RetryOptions& options, const absl::Status& error, int attempt,
                                        absl::Duration remaining, double jitter);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RETRY_H_
