#include "proto/durations.h"

#include <algorithm>
#include <cstdint>

namespace corank {
namespace {

constexpr int64_t kMostSeconds = 315'576'000'000;  // as google/protobuf/duration.proto says
constexpr int32_t kMostNanos = 999'999'999;

}  // namespace

google::protobuf::Duration DurationToProto(absl::Duration duration) {
  const absl::Duration most = absl::Seconds(kMostSeconds);
  absl::Duration rest = std::clamp(duration, -most, most);
  google::protobuf::Duration message;
  message.set_seconds(absl::IDivDuration(rest, absl::Seconds(1), &rest));
  message.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return message;
}

std::optional<absl::Duration> DurationFromProto(const google::protobuf::Duration& message) {
  const int64_t seconds = message.seconds();
  const int32_t nanos = message.nanos();
  if (seconds < -kMostSeconds || seconds > kMostSeconds || nanos < -kMostNanos || nanos > kMostNanos) {
    return std::nullopt;
  }
  if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) return std::nullopt;
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

}  // namespace corank
