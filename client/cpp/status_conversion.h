// Turns the statuses of gRPC into those that the library returns.
#ifndef CORANK_CLIENT_CPP_STATUS_CONVERSION_H_
#define CORANK_CLIENT_CPP_STATUS_CONVERSION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corank/errors.h"
#include "grpcpp/support/status.h"

namespace corank::client {

/// An empty payload of the library's own: see WasUnconnected.
inline constexpr char kUnconnectedPayload[] = "corank.client/unconnected";

/// The same code, and the server's message. The message also names the refused field and the time to wait, if the
/// details hold them and the message does not. Every detail becomes a payload under its type URL.
absl::Status ToAbslStatus(const grpc::Status& status);

/// INVALID_ARGUMENT that names `field`, as the server makes it.
absl::Status RefuseField(absl::string_view field, absl::string_view message);

/// The same code and payloads with another message.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STATUS_CONVERSION_H_
