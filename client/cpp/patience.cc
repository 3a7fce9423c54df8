#include "client/cpp/patience.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace corank::client {
namespace {

/// How often Await polls for a cancellation, because a stuck call may never report it.
constexpr absl::Duration kLook = absl::Milliseconds(100);

}  // namespace

bool Patience::Await(absl::FunctionRef<bool(absl::Time)> wait) {
  for (;;) {
    const bool looks = cancellation_ != nullptr && !is_cancelled_;
    if (wait(looks ? std::min(end_, absl::Now() + kLook) : end_)) return true;
    const absl::Time now = absl::Now();
    if (now >= end_) return false;
    if (looks && cancellation_->cancelled()) {
      is_cancelled_ = true;
      end_ = std::min(end_, now + kGrace);
    }
  }
}

absl::Status Patience::error() const {
  return is_cancelled_ ? absl::CancelledError("cancelled while the connection stood still")
                       : absl::DeadlineExceededError(
                             "the deadline passed while the connection stood still: the server, or the network on the "
                             "way to it, takes no more bytes");
}

}  // namespace corank::client
