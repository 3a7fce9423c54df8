// Errors of the service. Every stage creates an absl::Status with these functions. ToCallStatus alone converts the
// status for the caller to what ends its call.
#ifndef CORANK_SERVER_BASE_ERRORS_H_
#define CORANK_SERVER_BASE_ERRORS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corank/v1/error_reason.pb.h"
#include "server/base/call_status.h"

namespace corank {

/// Further facts of an error for programs: the metadata of its google.rpc.ErrorInfo.
using ErrorFacts = std::vector<std::pair<absl::string_view, std::string>>;

/// The status code of a reason, as proto/corank/v1/error_reason.proto documents it.
absl::StatusCode CodeOf(v1::ErrorReason reason);

/// An error with its reason. Every function below attaches one too.
absl::Status Error(v1::ErrorReason reason, absl::string_view message, const ErrorFacts& facts = {});

/// The same with a google.rpc.BadRequest that names the field, such as "keys[2].inline_data".
absl::Status FieldError(v1::ErrorReason reason, absl::string_view field, absl::string_view description,
                        const ErrorFacts& facts = {});

/// INVALID_ARGUMENT, FIELD_INVALID.
absl::Status InvalidField(absl::string_view field, absl::string_view description);

/// INVALID_ARGUMENT, REQUEST_TOO_LARGE: more than the server ever gives to one request.
absl::Status TooLargeField(absl::string_view field, absl::string_view description);

/// FAILED_PRECONDITION: the field names shared memory that shrank while the request ran.
absl::Status MadeSmaller(absl::string_view field);

/// An error with a google.rpc.RetryInfo.
absl::Status RetryLater(v1::ErrorReason reason, absl::string_view message, absl::Duration delay);

/// RESOURCE_EXHAUSTED: the device has no memory for the request now.
absl::Status DeviceMemoryFull();

absl::Status DeadlinePassed();
absl::Status CallerCancelled();
/// CANCELLED: the message did not arrive completely.
absl::Status RequestIncomplete(absl::string_view message);
/// DEADLINE_EXCEEDED: the caller of a stream has `what` ("sent") nothing for this long.
absl::Status StreamIdle(absl::string_view what, absl::Duration timeout);

/// The reason of an error; UNSPECIFIED for an error that no stage has judged, such as one of the engine.
v1::ErrorReason ReasonOf(const absl::Status& status);

/// Whether the error carries a google.rpc.RetryInfo.
bool HasRetryDelay(const absl::Status& status);

/// The name of a reason as the caller sees it, such as "QUEUE_FULL".
std::string ReasonName(v1::ErrorReason reason);

/// The field that an error names; empty if it names none.
std::string NamedField(const absl::Status& status);

/// The same error, and also OK, for the field of this path. The message begins with it.
absl::Status AtField(const absl::Status& status, absl::string_view field);

/// The same error, and also OK. A field that it names gets `prefix` in front.
absl::Status UnderField(const absl::Status& status, absl::string_view prefix);

/// Passes the details on as a serialized google.rpc.Status. An error without a reason is a fault of the server, as are
/// INTERNAL and UNKNOWN: their text is for the log only, and the caller gets `request_id` to quote instead.
CallStatus ToCallStatus(const absl::Status& status, absl::string_view request_id);

}  // namespace corank

#endif  // CORANK_SERVER_BASE_ERRORS_H_
