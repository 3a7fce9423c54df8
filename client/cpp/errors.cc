#include "corank/errors.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cpp/status_conversion.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "proto/error_details.h"

namespace corank::client {
namespace {

template <typename Message>
std::optional<Message> Payload(const absl::Status& status, const char* type_url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(type_url);
  Message message;
  if (!payload.has_value() || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  return message;
}

}  // namespace

bool MayRunJobAgain(const absl::Status& status) {
  const auto info = Payload<wire::v1::ErrorInfo>(status, kErrorInfoUrl);
  if (!absl::IsAborted(status) || !info.has_value() || info->domain() != kErrorDomain) return false;
  if (info->reason() == "JOB_INCOMPLETE") return true;
  const auto cause = info->metadata().find("cause");
  // A part whose caller went away. Any other cause would come again.
  return cause != info->metadata().end() &&
         (cause->second == "CALLER_CANCELLED" || cause->second == "REQUEST_INCOMPLETE");
}

absl::Status NamingArgument(const absl::Status& status) {
  constexpr absl::string_view kOnlyOperation = "plan.operations[0].";
  if (status.ok()) return status;
  absl::Status named = WithMessage(status, absl::StrReplaceAll(status.message(), {{kOnlyOperation, ""}}));
  auto bad_request = Payload<wire::v1::BadRequest>(status, kBadRequestUrl);
  if (!bad_request.has_value()) return named;
  for (auto& violation : *bad_request->mutable_field_violations()) {
    violation.set_field(std::string(absl::StripPrefix(violation.field(), kOnlyOperation)));
  }
  named.SetPayload(kBadRequestUrl, absl::Cord(bad_request->SerializeAsString()));
  return named;
}

std::optional<std::string> ViolatedField(const absl::Status& status) {
  const auto bad_request = Payload<wire::v1::BadRequest>(status, kBadRequestUrl);
  if (!bad_request.has_value() || bad_request->field_violations().empty()) return std::nullopt;
  return bad_request->field_violations(0).field();
}

std::optional<std::string> ErrorReason(const absl::Status& status) {
  const auto info = Payload<wire::v1::ErrorInfo>(status, kErrorInfoUrl);
  if (!info.has_value() || info->domain() != kErrorDomain) return std::nullopt;
  return info->reason();
}

std::optional<int64_t> NeededRows(const absl::Status& status) {
  const auto info = Payload<wire::v1::ErrorInfo>(status, kErrorInfoUrl);
  if (!info.has_value() || info->domain() != kErrorDomain || info->reason() != "TOO_MANY_ROWS") return std::nullopt;
  const auto rows = info->metadata().find("rows");
  int64_t number = 0;
  if (rows == info->metadata().end() || !absl::SimpleAtoi(rows->second, &number) || number < 0) return std::nullopt;
  return number;
}

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const auto retry_info = Payload<wire::v1::RetryInfo>(status, kRetryInfoUrl);
  if (!retry_info.has_value()) return std::nullopt;
  return absl::Seconds(retry_info->retry_delay().seconds()) + absl::Nanoseconds(retry_info->retry_delay().nanos());
}

bool WasUnconnected(const absl::Status& status) { return status.GetPayload(kUnconnectedPayload).has_value(); }

absl::Status RefuseField(absl::string_view field, absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(field, ": ", message));
  wire::v1::BadRequest bad_request;
  wire::v1::BadRequest::FieldViolation* violation = bad_request.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(std::string(message));
  status.SetPayload(kBadRequestUrl, absl::Cord(bad_request.SerializeAsString()));
  return status;
}

absl::Status WithMessage(const absl::Status& status, absl::string_view message) {
  absl::Status changed(status.code(), message);
  status.ForEachPayload(
      [&changed](absl::string_view type_url, const absl::Cord& payload) { changed.SetPayload(type_url, payload); });
  return changed;
}

absl::Status ToAbslStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status converted(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  wire::v1::RpcStatus details;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      converted.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  std::string message = status.error_message();
  if (const auto field = ViolatedField(converted); field.has_value() && !absl::StrContains(message, *field)) {
    message = absl::StrCat(*field, ": ", message);
  }
  if (const auto delay = RetryDelay(converted); delay.has_value()) {
    absl::StrAppend(&message, " (try again in ", absl::FormatDuration(*delay), ")");
  }
  return WithMessage(converted, message);
}

}  // namespace corank::client
