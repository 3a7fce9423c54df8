#include "tests/client/virtual_clock.h"

#include "corank/cancellation.h"

namespace corank::client {

absl::Time VirtualClock::Now() {
  absl::MutexLock lock(&mutex_);
  return start_ + passed_;
}

bool VirtualClock::Sleep(Cancellation* cancellation, absl::Duration time) {
  if (on_sleep) on_sleep();
  if (cancellation != nullptr && cancellation->cancelled()) return false;
  absl::MutexLock lock(&mutex_);
  passed_ += time;
  sleeps_.push_back(time);
  return true;
}

std::vector<absl::Duration> VirtualClock::sleeps() const {
  absl::MutexLock lock(&mutex_);
  return sleeps_;
}

}  // namespace corank::client
