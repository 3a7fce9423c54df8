#include "server/addresses.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace corank {

std::string HostPort::ToString() const { return absl::StrCat(host, ":", port); }

absl::StatusOr<HostPort> ParseHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  HostPort parsed;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(absl::string_view(address.data() + colon + 1, address.size() - colon - 1), &parsed.port) ||
      parsed.port < 0 || parsed.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' is not HOST:PORT with a port of 0 to 65535"));
  }
  parsed.host = std::string(address.substr(0, colon));
  return parsed;
}

std::string WhyNotListening(const HostPort& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  absl::string_view host = address.host;
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(std::string(host).c_str(), std::to_string(address.port).c_str(), &hints, &found);
      error != 0) {
    return gai_strerror(error);
  }
  std::string reason;
  for (const addrinfo* a = found; a != nullptr && reason.empty(); a = a->ai_next) {
    const int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    const int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 1) != 0) {
      reason = std::strerror(errno);
    }
    if (fd >= 0) close(fd);
  }
  freeaddrinfo(found);
  return reason;
}

}  // namespace corank
