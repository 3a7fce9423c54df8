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

/// Whether a job of several parts was aborted because the server lost one of them, or did not get all of them in time.
/// It has done nothing then, and may be run again as a whole.
bool MayRunJobAgain(const absl::Status& status);

/// The same error. Names the argument itself where the server names its path in a plan of one operation.
absl::Status NamingArgument(const absl::Status& status);

/// The same code and payloads with another message.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STATUS_CONVERSION_H_
