#include "server/security/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace corank {
namespace {

constexpr int kPauseMs = 100;  // when the system has no more descriptors or memory

absl::Status Cannot(const std::string& address, absl::string_view reason) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", reason));
}

bool IsWildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// -1, with errno, if it cannot listen.
int ListenOn(const sockaddr* address, socklen_t size, bool both_families) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int only_6 = both_families ? 0 : 1;
  const bool is_6 = address->sa_family == AF_INET6;
  if ((address->sa_family == AF_UNIX || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0) &&
      (!is_6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_6, sizeof(only_6)) == 0) &&
      bind(fd, address, size) == 0 && listen(fd, SOMAXCONN) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Holds other servers off the folder of a path while this one looks at what has the path, and takes it. Where nobody
// may lock the folder, or somebody has it for a second, there is no lock.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& path)
      : fd_(open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int i = 0; i < 100 && fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const int fd_;
};

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::string NameOf(const sockaddr_storage& peer) {
  char host[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(peer);
    inet_ntop(AF_INET, &four.sin_addr, host, sizeof(host));
    return absl::StrCat("ipv4:", host, ":", ntohs(four.sin_port));
  }
  if (peer.ss_family != AF_INET6) return "unix:";
  const auto& six = reinterpret_cast<const sockaddr_in6&>(peer);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    inet_ntop(AF_INET, &six.sin6_addr.s6_addr[12], host, sizeof(host));
    return absl::StrCat("ipv4:", host, ":", ntohs(six.sin6_port));
  }
  inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof(host));
  return absl::StrCat("ipv6:[", host, "]:", ntohs(six.sin6_port));
}

}  // namespace

absl::StatusOr<ListenAddress> ListenAddress::Parse(absl::string_view address) {
  ListenAddress parsed;
  absl::string_view rest = address;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    if (rest.empty() || rest.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::InvalidArgumentError(absl::StrCat("'", address, "' is not unix:PATH with a path of 1 to ",
                                                     sizeof(sockaddr_un::sun_path) - 1, " characters"));
    }
    parsed.path = std::string(rest);
    return parsed;
  }
  const size_t colon = address.rfind(':');
  absl::string_view host = address.substr(0, colon);
  const bool has_brackets = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  const auto names_a_host = [has_brackets](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_' || (has_brackets && (c == ':' || c == '%'));
  };
  const absl::string_view port = colon == absl::string_view::npos ? "" : address.substr(colon + 1);
  if (host.empty() || !std::all_of(host.begin(), host.end(), names_a_host) ||
      !std::all_of(port.begin(), port.end(), absl::ascii_isdigit) || !absl::SimpleAtoi(port, &parsed.port) ||
      parsed.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is not HOST:PORT (IPv6: [HOST]:PORT) with a port of 0 to 65535, nor unix:PATH"));
  }
  parsed.host = std::string(host);
  return parsed;
}

bool ListenAddress::IsLocal() const {
  if (!path.empty() || host == "localhost") return true;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

std::string ListenAddress::ToString() const {
  if (!path.empty()) return absl::StrCat("unix:", path);
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Create(const ListenAddress& address, int user_timeout_ms,
                                                           const Logger* logger) {
  std::unique_ptr<Listener> listener(new Listener(user_timeout_ms, logger));
  const absl::Status status =
      address.path.empty() ? listener->ListenOnHost(address) : listener->ListenOnPath(address.path);
  if (!status.ok()) return status;
  listener->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener->wake_ < 0) return Cannot(address.ToString(), std::strerror(errno));
  return listener;
}

Listener::~Listener() {
  Stop();
  // Before the socket ends: a successor would take over the path of a dead one, and lose its own socket here.
  if (!path_.empty()) unlink(path_.c_str());
  for (const int fd : sockets_) close(fd);
  if (wake_ >= 0) close(wake_);
}

absl::Status Listener::ListenOnHost(const ListenAddress& address) {
  ListenAddress taken = address;
  if (IsWildcard(address.host)) {
    sockaddr_in6 all{};
    all.sin6_family = AF_INET6;
    all.sin6_port = htons(static_cast<uint16_t>(address.port));
    // Either wildcard means all addresses of both families; without IPv6, those of IPv4.
    if (const int fd = ListenOn(reinterpret_cast<const sockaddr*>(&all), sizeof(all), true); fd >= 0) {
      sockets_.push_back(fd);
      taken.port = PortOf(fd);
      address_ = taken.ToString();
      return absl::OkStatus();
    }
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
      error != 0) {
    return Cannot(address.ToString(), gai_strerror(error));
  }
  std::string reason = "the host has no address";
  for (addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const uint16_t port = htons(static_cast<uint16_t>(taken.port));  // port 0: the port of the first address
    if (a->ai_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(a->ai_addr)->sin6_port = port;
    if (a->ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(a->ai_addr)->sin_port = port;
    const int fd = ListenOn(a->ai_addr, a->ai_addrlen, false);
    if (fd < 0) {
      reason = std::strerror(errno);
      continue;
    }
    sockets_.push_back(fd);
    taken.port = PortOf(fd);
  }
  freeaddrinfo(found);
  if (sockets_.empty()) return Cannot(address.ToString(), reason);
  address_ = taken.ToString();
  return absl::OkStatus();
}

absl::Status Listener::ListenOnPath(const std::string& path) {
  const std::string name = absl::StrCat("unix:", path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  const FolderLock lock(path);
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return Cannot(name, "the path exists and is not a socket");
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int error = connect(probe, generic, sizeof(address)) == 0 || errno == EAGAIN ? EADDRINUSE : errno;
    close(probe);
    // ENOENT, here and below: a server that stops has removed it meanwhile.
    if (error != ECONNREFUSED && error != ENOENT) return Cannot(name, std::strerror(error));
    // Left behind by a killed server.
    if (error == ECONNREFUSED && unlink(path.c_str()) != 0 && errno != ENOENT) {
      return Cannot(
          name, absl::StrCat("a socket without a server has this name, and cannot be removed: ", std::strerror(errno)));
    }
  }
  const int fd = ListenOn(generic, sizeof(address), false);
  if (fd < 0) return Cannot(name, std::strerror(errno));
  sockets_.push_back(fd);
  path_ = path;
  address_ = name;
  return absl::OkStatus();
}

void Listener::Start(Taker taker) {
  thread_ = std::thread([this, taker = std::move(taker)] { Run(taker); });
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  thread_.join();
}

void Listener::Run(const Taker& taker) {
  std::vector<pollfd> waits = {{wake_, POLLIN, 0}};
  for (const int fd : sockets_) waits.push_back({fd, POLLIN, 0});
  for (;;) {
    poll(waits.data(), waits.size(), -1);
    if (waits[0].revents != 0) return;
    for (size_t i = 1; i < waits.size(); ++i) {
      if (waits[i].revents != 0) AcceptAll(waits[i].fd, taker);
    }
  }
}

void Listener::AcceptAll(int listener_fd, const Taker& taker) {
  for (;;) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    const int fd = accept4(listener_fd, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      logger_.Log(LogLevel::kWarning, "connections_refused",
                  {{"listen", address_}, {"message", std::string(std::strerror(errno))}});
      pollfd wake = {wake_, POLLIN, 0};
      poll(&wake, 1, kPauseMs);
      return;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof(on));  // fails for a UNIX-domain socket, which does not need it
    if (user_timeout_ms_ > 0) {
      setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms_, sizeof(user_timeout_ms_));
    }
    taker(fd, NameOf(peer));
  }
}

}  // namespace corank
