#include "server/schedule/drain_rate.h"

#include <algorithm>

namespace corank {
namespace {

constexpr double kDecay = 0.98;
constexpr absl::Duration kUnknownDelay = absl::Milliseconds(100);
constexpr absl::Duration kLeastDelay = absl::Milliseconds(10);
constexpr absl::Duration kMostDelay = absl::Seconds(30);

}  // namespace

void DrainRate::Leave(double cost, Instant now, bool still_waiting) {
  if (measuring_) {
    decayed_cost_ = kDecay * decayed_cost_ + cost;
    decayed_seconds_ = kDecay * decayed_seconds_ + static_cast<double>(Nanoseconds(measured_from_, now)) * 1e-9;
  }
  measuring_ = still_waiting;
  measured_from_ = now;
}

absl::Duration DrainRate::Time(double cost) const {
  return decayed_cost_ <= 0 ? absl::ZeroDuration() : absl::Seconds(cost * decayed_seconds_ / decayed_cost_);
}

absl::Duration DrainRate::RetryDelay(double cost) const {
  return decayed_cost_ <= 0 ? kUnknownDelay : std::clamp(Time(cost), kLeastDelay, kMostDelay);
}

}  // namespace corank
