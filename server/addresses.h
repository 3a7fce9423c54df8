// HOST:PORT addresses.
#ifndef CORANK_SERVER_ADDRESSES_H_
#define CORANK_SERVER_ADDRESSES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace corank {

struct HostPort {
  std::string host;  // with brackets for IPv6
  int port = 0;

  std::string ToString() const;
};

/// INVALID_ARGUMENT unless it is HOST:PORT with a port of 0 to 65535.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view address);

/// The system's reason for not listening at this address, such as "Address already in use"; empty if it would listen.
std::string WhyNotListening(const HostPort& address);

}  // namespace corank

#endif  // CORANK_SERVER_ADDRESSES_H_
