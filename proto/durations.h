// Spans of time in messages.
#ifndef CORANK_PROTO_DURATIONS_H_
#define CORANK_PROTO_DURATIONS_H_

#include <optional>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace corank {

/// Cuts what the message cannot hold: fractions of a nanosecond, and more than 10,000 years.
google::protobuf::Duration DurationToProto(absl::Duration duration);

/// nullopt if the message is no valid google.protobuf.Duration: out of its range, or with parts of different signs.
std::optional<absl::Duration> DurationFromProto(const google::protobuf::Duration& message);

}  // namespace corank

#endif  // CORANK_PROTO_DURATIONS_H_
