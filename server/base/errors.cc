#include "server/base/errors.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "google/protobuf/message.h"
#include "proto/error_details.h"

namespace corank {
namespace {

constexpr absl::string_view kReasonPrefix = "ERROR_REASON_";

void SetReason(absl::Status* status, v1::ErrorReason reason, const ErrorFacts& facts) {
  wire::v1::ErrorInfo info;
  info.set_reason(ReasonName(reason));
  info.set_domain(kErrorDomain);
  for (const auto& [name, value] : facts) (*info.mutable_metadata())[std::string(name)] = value;
  status->SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
}

template <typename Detail>
Detail DetailOf(const absl::Status& status, const char* url) {
  Detail detail;
  if (const auto payload = status.GetPayload(url)) detail.ParseFromString(std::string(*payload));
  return detail;
}

// The same error for a field; `description` is the message without the field.
absl::Status WithField(const absl::Status& status, absl::string_view field, absl::string_view description) {
  absl::Status changed(status.code(), absl::StrCat(field, ": ", description));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { changed.SetPayload(url, payload); });
  wire::v1::BadRequest detail;
  auto* violation = detail.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(std::string(description));
  changed.SetPayload(kBadRequestUrl, absl::Cord(detail.SerializeAsString()));
  return changed;
}

CallStatus Serialized(const absl::Status& status) {
  wire::v1::RpcStatus details;
  details.set_code(status.raw_code());
  details.set_message(std::string(status.message()));
  status.ForEachPayload([&details](absl::string_view url, const absl::Cord& payload) {
    auto* detail = details.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  // Both use the numbers of google.rpc.Code.
  return {status.raw_code(), std::string(status.message()), details.SerializeAsString()};
}

}  // namespace

absl::StatusCode CodeOf(v1::ErrorReason reason) {
  switch (reason) {
    case v1::ERROR_REASON_FIELD_INVALID:
    case v1::ERROR_REASON_KEYS_NOT_SORTED:
    case v1::ERROR_REASON_INTERVALS_OVERLAP:
    case v1::ERROR_REASON_REQUEST_TOO_LARGE:
    case v1::ERROR_REASON_RESULT_TOO_LARGE:
    case v1::ERROR_REASON_PLACE_NOT_SUPPORTED:
    case v1::ERROR_REASON_JOB_PLANS_DIFFER:
    case v1::ERROR_REASON_TOO_MANY_ROWS:
      return absl::StatusCode::kInvalidArgument;
    case v1::ERROR_REASON_QUEUE_FULL:
    case v1::ERROR_REASON_MEMORY_FULL:
    case v1::ERROR_REASON_QUOTA_EXCEEDED:
    case v1::ERROR_REASON_TOO_MANY_OPEN:
      return absl::StatusCode::kResourceExhausted;
    case v1::ERROR_REASON_DRAINING:
    case v1::ERROR_REASON_DEVICE_LOST:
      return absl::StatusCode::kUnavailable;
    case v1::ERROR_REASON_DEADLINE_PASSED:
    case v1::ERROR_REASON_DEADLINE_UNREACHABLE:
    case v1::ERROR_REASON_STREAM_IDLE:
      return absl::StatusCode::kDeadlineExceeded;
    case v1::ERROR_REASON_CALLER_CANCELLED:
    case v1::ERROR_REASON_REQUEST_INCOMPLETE:
      return absl::StatusCode::kCancelled;
    case v1::ERROR_REASON_REGION_NOT_FOUND:
    case v1::ERROR_REASON_ARRAY_NOT_FOUND:
    case v1::ERROR_REASON_LEASE_NOT_FOUND:
    case v1::ERROR_REASON_MEMORY_NOT_FOUND:
    case v1::ERROR_REASON_SERVICE_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case v1::ERROR_REASON_REGION_EXISTS:
      return absl::StatusCode::kAlreadyExists;
    case v1::ERROR_REASON_IN_USE:
    case v1::ERROR_REASON_MEMORY_TRUNCATED:
    case v1::ERROR_REASON_DEVICE_NOT_USED:
      return absl::StatusCode::kFailedPrecondition;
    case v1::ERROR_REASON_CREDENTIALS_MISSING:
    case v1::ERROR_REASON_CREDENTIALS_UNKNOWN:
      return absl::StatusCode::kUnauthenticated;
    case v1::ERROR_REASON_NOT_PERMITTED:
      return absl::StatusCode::kPermissionDenied;
    case v1::ERROR_REASON_PLACE_DISABLED:
      return absl::StatusCode::kUnimplemented;
    case v1::ERROR_REASON_JOB_PART_LOST:
    case v1::ERROR_REASON_JOB_INCOMPLETE:
      return absl::StatusCode::kAborted;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status Error(v1::ErrorReason reason, absl::string_view message, const ErrorFacts& facts) {
  absl::Status status(CodeOf(reason), message);
  SetReason(&status, reason, facts);
  return status;
}

absl::Status FieldError(v1::ErrorReason reason, absl::string_view field, absl::string_view description,
                        const ErrorFacts& facts) {
  return WithField(Error(reason, description, facts), field, description);
}

absl::Status InvalidField(absl::string_view field, absl::string_view description) {
  return FieldError(v1::ERROR_REASON_FIELD_INVALID, field, description);
}

absl::Status TooLargeField(absl::string_view field, absl::string_view description) {
  return FieldError(v1::ERROR_REASON_REQUEST_TOO_LARGE, field, description);
}

absl::Status MadeSmaller(absl::string_view field) {
  return FieldError(v1::ERROR_REASON_MEMORY_TRUNCATED, field, "the shared memory shrank while the request ran");
}

absl::Status DeviceMemoryFull() {
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL, "the device's memory is full; retry later or send a smaller request",
                    absl::Seconds(1));
}

absl::Status RetryLater(v1::ErrorReason reason, absl::string_view message, absl::Duration delay) {
  wire::v1::RetryInfo detail;
  const int64_t nanos = std::max<int64_t>(0, absl::ToInt64Nanoseconds(delay));
  detail.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
  detail.mutable_retry_delay()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  absl::Status status = Error(reason, message);
  status.SetPayload(kRetryInfoUrl, absl::Cord(detail.SerializeAsString()));
  return status;
}

absl::Status DeadlinePassed() {
  return Error(v1::ERROR_REASON_DEADLINE_PASSED, "the deadline passed before the work was done");
}

absl::Status CallerCancelled() { return Error(v1::ERROR_REASON_CALLER_CANCELLED, "the caller cancelled the call"); }

absl::Status RequestIncomplete(absl::string_view message) {
  return Error(v1::ERROR_REASON_REQUEST_INCOMPLETE, message);
}

absl::Status StreamIdle(absl::string_view what, absl::Duration timeout) {
  return Error(v1::ERROR_REASON_STREAM_IDLE,
               absl::StrCat("the caller has ", what, " nothing for ", absl::FormatDuration(timeout)));
}

v1::ErrorReason ReasonOf(const absl::Status& status) {
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  const auto info = DetailOf<wire::v1::ErrorInfo>(status, kErrorInfoUrl);
  v1::ErrorReason_Parse(absl::StrCat(kReasonPrefix, info.reason()), &reason);
  return reason;
}

bool HasRetryDelay(const absl::Status& status) { return status.GetPayload(kRetryInfoUrl).has_value(); }

std::string ReasonName(v1::ErrorReason reason) {
  return std::string(absl::StripPrefix(v1::ErrorReason_Name(reason), kReasonPrefix));
}

std::string NamedField(const absl::Status& status) {
  const auto detail = DetailOf<wire::v1::BadRequest>(status, kBadRequestUrl);
  return detail.field_violations().empty() ? "" : detail.field_violations(0).field();
}

absl::Status AtField(const absl::Status& status, absl::string_view field) {
  return status.ok() ? status : WithField(status, field, status.message());
}

absl::Status UnderField(const absl::Status& status, absl::string_view prefix) {
  const auto detail = DetailOf<wire::v1::BadRequest>(status, kBadRequestUrl);
  if (detail.field_violations().empty()) return status;
  const auto& violation = detail.field_violations(0);
  return WithField(status, absl::StrCat(prefix, violation.field()), violation.description());
}

CallStatus ToCallStatus(const absl::Status& status, absl::string_view request_id) {
  if (status.ok()) return {};
  if (ReasonOf(status) == v1::ERROR_REASON_UNSPECIFIED || absl::IsInternal(status) || absl::IsUnknown(status)) {
    return Serialized(Error(v1::ERROR_REASON_INTERNAL,
                            absl::StrCat("internal error; the server's log has details under request id ", request_id),
                            {{"request_id", std::string(request_id)}}));
  }
  return Serialized(status);
}

}  // namespace corank
