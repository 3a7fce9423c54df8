// Reads what a failed call says beyond its code and message.
//
//   if (const auto field = corank::client::ViolatedField(status)) FixArgument(*field);
#ifndef CORANK_ERRORS_H_
#define CORANK_ERRORS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace corank::client {

/// The argument that the server refused, such as `keys` or `values[2].count`: from google.rpc.BadRequest. None if the
/// status names no argument.
std::optional<std::string> ViolatedField(const absl::Status& status);

/// How long the server asks callers to wait before they retry: from google.rpc.RetryInfo. None if the server does not
/// say. The client has already retried within the deadline where a retry does no harm.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

/// Whether the deadline passed before the client had a connection to the server.
bool WasUnconnected(const absl::Status& status);

}  // namespace corank::client

#endif  // CORANK_ERRORS_H_
