#include "server/respond/errors.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "google/protobuf/message.h"
#include "proto/error_details.h"

namespace corank {

absl::Status FieldError(absl::StatusCode code, absl::string_view field, absl::string_view description) {
  wire::v1::BadRequest detail;
  auto* violation = detail.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(std::string(description));
  absl::Status status(code, absl::StrCat(field, ": ", description));
  status.SetPayload(kBadRequestUrl, absl::Cord(detail.SerializeAsString()));
  return status;
}

absl::Status InvalidField(absl::string_view field, absl::string_view description) {
  return FieldError(absl::StatusCode::kInvalidArgument, field, description);
}

absl::Status UnimplementedField(absl::string_view field, absl::string_view description) {
  return FieldError(absl::StatusCode::kUnimplemented, field, description);
}

absl::Status MadeSmaller(absl::string_view field) {
  return FieldError(absl::StatusCode::kFailedPrecondition, field, "the shared memory shrank while the request ran");
}

absl::Status DeviceMemoryFull() {
  return RetryLater(absl::StatusCode::kResourceExhausted,
                    "the device's memory is full; retry later or send a smaller request", absl::Seconds(1));
}

absl::Status RetryLater(absl::StatusCode code, absl::string_view message, absl::Duration delay) {
  wire::v1::RetryInfo detail;
  const int64_t nanos = std::max<int64_t>(0, absl::ToInt64Nanoseconds(delay));
  detail.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
  detail.mutable_retry_delay()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  absl::Status status(code, message);
  status.SetPayload(kRetryInfoUrl, absl::Cord(detail.SerializeAsString()));
  return status;
}

bool HasRetryDelay(const absl::Status& status) { return status.GetPayload(kRetryInfoUrl).has_value(); }

absl::Status DeadlinePassed() { return absl::DeadlineExceededError("the deadline passed before the work was done"); }

absl::Status CallerCancelled() { return absl::CancelledError("the caller cancelled the call"); }

std::string NamedField(const absl::Status& status) {
  const auto payload = status.GetPayload(kBadRequestUrl);
  wire::v1::BadRequest detail;
  if (!payload || !detail.ParseFromString(std::string(*payload)) || detail.field_violations().empty()) return "";
  return detail.field_violations(0).field();
}

grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.raw_code());  // both use the numbers of google.rpc.Code
  if (status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown) {
    return grpc::Status(grpc::StatusCode::INTERNAL,
                        absl::StrCat("internal error; the server's log has details under request id ", request_id));
  }
  wire::v1::RpcStatus details;
  details.set_code(status.raw_code());
  details.set_message(std::string(status.message()));
  status.ForEachPayload([&details](absl::string_view url, const absl::Cord& payload) {
    auto* detail = details.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  return grpc::Status(code, std::string(status.message()),
                      details.details().empty() ? std::string() : details.SerializeAsString());
}

}  // namespace corank
