// Checks gRPC targets without looking anything up.
#ifndef CORANK_CLIENT_CPP_ADDRESS_H_
#define CORANK_CLIENT_CPP_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace corank::client {

/// Whether every address of the target is one of this host: a Unix socket, localhost, 127.0.0.0/8 or ::1. A name that
/// only a lookup would resolve to this host does not count.
bool IsThisHost(absl::string_view target);

/// Whether calls may reach several servers in turn: each connection then may find another one.
bool MayBeSeveral(absl::string_view target);

/// What gRPC takes for an address that CheckAddress lets pass.
std::string GrpcTarget(absl::string_view address);

/// INVALID_ARGUMENT, with an address to give instead, if the target is a URL such as http://host, holds a space, or has
/// an address without a host or without a port from 1 to 65535: gRPC would silently use port 443. A target whose scheme
/// has no ports or is unknown here passes. Several addresses, with commas, must be numeric and of one family, because
/// gRPC looks up one name only.
absl::Status CheckAddress(absl::string_view target);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_ADDRESS_H_
