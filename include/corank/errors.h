// Reads what a failed call says beyond its code and message.
//
//   if (const auto field = corank::client::ViolatedField(status)) FixArgument(*field);
#ifndef CORANK_ERRORS_H_
#define CORANK_ERRORS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace corank::client {

/// The argument that the server refused, such as `keys` or `values[2].count`: from google.rpc.BadRequest. None if the
/// status names no argument.
std::optional<std::string> ViolatedField(const absl::Status& status);

/// The server's reason, such as "QUEUE_FULL": a value of corank.v1.ErrorReason (proto/corank/v1/error_reason.proto)
/// without its prefix, from google.rpc.ErrorInfo. None if the server gave no reason, or did not answer. A later server
/// may have reasons that this library does not know.
std::optional<std::string> ErrorReason(const absl::Status& status);

/// The rows of a join for which the request had no room: the metadata of the reason TOO_MANY_ROWS. None for another
/// error. A Join with this max_rows succeeds.
std::optional<int64_t> NeededRows(const absl::Status& status);

/// How long the server asks callers to wait before they retry: from google.rpc.RetryInfo. None if the server does not
/// say. The client has already retried within the deadline where a retry does no harm.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

/// Whether the deadline passed before the client had a connection to the server.
bool WasUnconnected(const absl::Status& status);

}  // namespace corank::client

#endif  // CORANK_ERRORS_H_
