// Time that passes only in waits, and randomness that a test chooses.
#ifndef CORANK_TESTS_CLIENT_VIRTUAL_CLOCK_H_
#define CORANK_TESTS_CLIENT_VIRTUAL_CLOCK_H_

#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cpp/retry.h"

namespace corank::client {

/// Thread-safe.
class VirtualClock final : public RetryClock {
 public:
  explicit VirtualClock(double random) : random_(random) {}

  absl::Time Now() override;
  bool Sleep(Cancellation* cancellation, absl::Duration time) override;
  double Random() override { return random_; }

  std::vector<absl::Duration> sleeps() const;
  /// Called in every Sleep, before it ends; set before the first call.
  std::function<void()> on_sleep;

 private:
  const double random_;
  mutable absl::Mutex mutex_;
  const absl::Time start_ = absl::Now();
  absl::Duration passed_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> sleeps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_VIRTUAL_CLOCK_H_
