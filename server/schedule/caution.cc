#include "server/schedule/caution.h"

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"

namespace corank {
namespace {

constexpr double kRise = 1.15;
constexpr double kMostFactor = 4;
constexpr absl::Duration kFall = absl::Seconds(10);  // until the excess over 1 has fallen to 1/e
constexpr absl::Duration kTogether = absl::Milliseconds(10);

}  // namespace

void Caution::Late(Instant now) {
  if (changed_ != Instant() && absl::Nanoseconds(Nanoseconds(changed_, now)) < kTogether) return;
  factor_ = std::min(kMostFactor, Factor(now) * kRise);
  changed_ = now;
}

double Caution::Factor(Instant now) const {
  if (changed_ == Instant()) return factor_;
  const absl::Duration since = absl::Nanoseconds(Nanoseconds(changed_, now));
  return 1 + (factor_ - 1) * std::exp(-absl::FDivDuration(since, kFall));
}

}  // namespace corank
