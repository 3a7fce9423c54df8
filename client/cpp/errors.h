// The server's errors as absl::Status: the code, a message for a person, and google.rpc's details as payloads.
#ifndef CORANK_CLIENT_CPP_ERRORS_H_
#define CORANK_CLIENT_CPP_ERRORS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// Of the library's own, and empty: see WasUnconnected.
inline constexpr char kUnconnectedPayload[] = "corank.client/unconnected";

/// The same code; the server's message, with the violated field and the time to wait in words where the details hold
/// them and the message does not; every detail as a payload under its type URL.
absl::Status ToAbslStatus(const grpc::Status& status);

/// The field that BadRequest names, as `keys` or `values[2].count`; none if there is no such payload.
std::optional<std::string> ViolatedField(const absl::Status& status);

/// When to try again, from RetryInfo; none if there is no such payload.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

/// Whether the call met its deadline before there was a connection to a server.
bool WasUnconnected(const absl::Status& status);

/// The same status with another message.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_ERRORS_H_
