#include "server/admit/drain_rate.h"

#include <algorithm>

namespace corank {
namespace {

constexpr double kDecay = 0.9;
constexpr absl::Duration kUnknown = absl::Milliseconds(100);
constexpr absl::Duration kLeast = absl::Milliseconds(10);
constexpr absl::Duration kMost = absl::Seconds(30);

// In bytes: a request costs something beside its payload.
double Cost(int64_t requests, int64_t bytes) {
  constexpr double kRequestBytes = 4096;
  return static_cast<double>(bytes) + kRequestBytes * static_cast<double>(requests);
}

}  // namespace

void DrainRate::Leave(int64_t requests, int64_t bytes, Instant now, bool still_waiting) {
  if (measuring_) {
    decayed_cost_ = kDecay * decayed_cost_ + Cost(requests, bytes);
    decayed_seconds_ = kDecay * decayed_seconds_ + static_cast<double>(Nanoseconds(measured_from_, now)) * 1e-9;
  }
  measuring_ = still_waiting;
  measured_from_ = now;
}

absl::Duration DrainRate::Estimate(int64_t requests, int64_t bytes) const {
  if (decayed_cost_ <= 0) return kUnknown;
  const double seconds = Cost(requests, bytes) * decayed_seconds_ / decayed_cost_;
  return std::clamp(absl::Seconds(seconds), kLeast, kMost);
}

}  // namespace corank
