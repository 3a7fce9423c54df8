// Errors of the service. Every stage creates an absl::Status with these functions. ToGrpcStatus alone converts the
// status for the caller to a gRPC status.
#ifndef CORANK_SERVER_RESPOND_ERRORS_H_
#define CORANK_SERVER_RESPOND_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace corank {

/// INVALID_ARGUMENT with a google.rpc.BadRequest that names the field, such as "keys[2].inline_data".
absl::Status InvalidField(absl::string_view field, absl::string_view description);

/// UNIMPLEMENTED, with the field named in the same way.
absl::Status UnimplementedField(absl::string_view field, absl::string_view description);

/// The same with another code, for an error that the caller can fix: NOT_FOUND, FAILED_PRECONDITION, ALREADY_EXISTS,
/// PERMISSION_DENIED.
absl::Status FieldError(absl::StatusCode code, absl::string_view field, absl::string_view description);

/// FAILED_PRECONDITION: the field names shared memory that shrank while the request ran.
absl::Status MadeSmaller(absl::string_view field);

/// RESOURCE_EXHAUSTED, UNAVAILABLE or DEADLINE_EXCEEDED (an immediate refusal) with a google.rpc.RetryInfo.
absl::Status RetryLater(absl::StatusCode code, absl::string_view message, absl::Duration delay);

/// RESOURCE_EXHAUSTED: the device has no memory for the request now.
absl::Status DeviceMemoryFull();

/// Whether the status carries a google.rpc.RetryInfo.
bool HasRetryDelay(const absl::Status& status);

absl::Status DeadlinePassed();
absl::Status CallerCancelled();

/// The field that an InvalidField or UnimplementedField names; empty for every other status.
std::string NamedField(const absl::Status& status);

/// Passes the details on as a serialized google.rpc.Status. The text of an INTERNAL or UNKNOWN error is for the log
/// only; the caller gets `request_id` to quote instead.
grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view request_id);

}  // namespace corank

#endif  // CORANK_SERVER_RESPOND_ERRORS_H_
