// How fast a queue empties.
#ifndef CORANK_SERVER_ADMIT_DRAIN_RATE_H_
#define CORANK_SERVER_ADMIT_DRAIN_RATE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/observe/clock.h"

namespace corank {

/// Measures how much leaves a queue per second, the latest weighing most, while something waits: idle time says nothing
/// about the rate. Not thread-safe.
class DrainRate {
 public:
  /// Requests of `bytes` in all left at `now`; `still_waiting`: the queue is not empty after it.
  void Leave(int64_t requests, int64_t bytes, Instant now, bool still_waiting);
  /// How long these will take to leave, between 10 ms and 30 s; 100 ms where nothing was measured yet.
  absl::Duration Estimate(int64_t requests, int64_t bytes) const;

 private:
  double decayed_cost_ = 0;
  double decayed_seconds_ = 0;
  bool measuring_ = false;
  Instant measured_from_;
};

}  // namespace corank

#endif  // CORANK_SERVER_ADMIT_DRAIN_RATE_H_
