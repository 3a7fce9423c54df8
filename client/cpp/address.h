// What a gRPC target says of where the server is. Pure: nothing is looked up.
#ifndef CORANK_CLIENT_CPP_ADDRESS_H_
#define CORANK_CLIENT_CPP_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace corank::client {

/// Whether every address of the target is one of this host: a Unix socket, localhost, 127.0.0.0/8, ::1. A name that is
/// only known to mean this host by looking it up does not count.
bool IsThisHost(absl::string_view target);

/// INVALID_ARGUMENT if an address of the target has no port, or none from 1 to 65535: gRPC would go to port 443. A
/// target of a scheme that has no ports, or is unknown here, is taken as it is.
absl::Status CheckPorts(absl::string_view target);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_ADDRESS_H_
