#include "server/schedule/work_times.h"

#include <algorithm>
#include <cmath>

namespace corank {
namespace {

constexpr int64_t kEnoughSamples = 5;
constexpr std::chrono::seconds kForget{10};
constexpr double kFirstStep = 0.5, kLeastStep = 0.03, kMostStep = 1.0;
constexpr double kLeastSeconds = 1e-7;

}  // namespace

int WorkTimes::ClassOf(int64_t bytes) {
  int index = 0;
  for (int64_t bound = 1024; bound < bytes && index < kClasses - 1; bound *= 4) ++index;
  return index;
}

void WorkTimes::Learn(Operator op, int64_t bytes, absl::Duration time, Instant now) {
  Class& known = classes_[static_cast<size_t>(op)][static_cast<size_t>(ClassOf(bytes))];
  const double seconds = std::max(kLeastSeconds, absl::ToDoubleSeconds(time));
  known.learned = now;
  if (known.samples++ == 0) {
    known.bytes = static_cast<double>(bytes);
    known.seconds = seconds;
    known.step = kFirstStep;
    return;
  }
  known.bytes += (static_cast<double>(bytes) - known.bytes) / 8;
  const double off = std::log(seconds / known.seconds);
  const bool rises = off > 0;
  // Steps grow while samples lie far off on one side, and shrink while they lie around the median.
  const bool far = std::abs(off) > known.step;
  known.step = std::clamp(far && rises == known.rose ? known.step * 1.3 : known.step / 2, kLeastStep, kMostStep);
  known.rose = rises;
  known.seconds *= std::exp(std::clamp(off, -known.step, known.step));
}

std::optional<absl::Duration> WorkTimes::Estimate(Operator op, int64_t bytes, Instant now) const {
  const auto& classes = classes_[static_cast<size_t>(op)];
  const Class& known = classes[static_cast<size_t>(ClassOf(bytes))];
  if (known.samples < kEnoughSamples || now - known.learned > kForget) return std::nullopt;
  const auto smallest =
      std::find_if(classes.begin(), classes.end(), [](const Class& one) { return one.samples >= kEnoughSamples; });
  const double fixed = std::min(smallest->seconds, known.seconds);
  const double share = known.bytes > 0 ? static_cast<double>(bytes) / known.bytes : 1;
  return absl::Seconds(fixed + (known.seconds - fixed) * share);
}

double WorkTimes::BytesPerSecond(Operator op) const {
  const auto& classes = classes_[static_cast<size_t>(op)];
  const auto largest =
      std::find_if(classes.rbegin(), classes.rend(), [](const Class& one) { return one.samples >= kEnoughSamples; });
  return largest == classes.rend() ? 0 : largest->bytes / largest->seconds;
}

}  // namespace corank
