// How fast a queue empties.
#ifndef CORANK_SERVER_SCHEDULE_DRAIN_RATE_H_
#define CORANK_SERVER_SCHEDULE_DRAIN_RATE_H_

#include "absl/time/time.h"
#include "server/base/clock.h"

namespace corank {

/// Measures how much cost (request_cost.h) leaves a queue per second while something waits, with most weight on the
/// latest. Idle time says nothing about the rate. Not thread-safe.
class DrainRate {
 public:
  /// This much left at `now`. `still_waiting`: the queue is not empty after it.
  void Leave(double cost, Instant now, bool still_waiting);
  /// Time until this much has left; zero if nothing was measured yet.
  absl::Duration Time(double cost) const;
  /// The same as a retry delay for callers: 10 ms to 30 s; 100 ms if nothing was measured yet.
  absl::Duration RetryDelay(double cost) const;

 private:
  double decayed_cost_ = 0;
  double decayed_seconds_ = 0;
  bool measuring_ = false;
  Instant measured_from_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_DRAIN_RATE_H_
