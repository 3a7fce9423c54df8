#include "tests/client/stalling_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace corank::testing {
namespace {

constexpr int kBuffered = 16 << 10;
/// With small segments, the callers' kernels use small send buffers.
constexpr int kSegment = 536;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

StallingProxy::StallingProxy(const std::string& server) : server_(server), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
  // Connections inherit it. A window that was once larger would not shrink.
  setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &kBuffered, sizeof(kBuffered));
  setsockopt(listener_, IPPROTO_TCP, TCP_MAXSEG, &kSegment, sizeof(kSegment));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return;  // address() stays empty
  }
  address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  acceptor_ = std::thread([this] { Accept(); });
}

StallingProxy::~StallingProxy() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
    for (const auto& connection : connections_) {
      for (const int socket : connection->sockets) shutdown(socket, SHUT_RDWR);
    }
  }
  shutdown(listener_, SHUT_RDWR);
  if (acceptor_.joinable()) acceptor_.join();
  for (std::thread& carrier : carriers_) carrier.join();
  for (const auto& connection : connections_) {
    for (const int socket : connection->sockets) close(socket);
  }
  close(listener_);
}

void StallingProxy::StallAfter(int number, Direction direction, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  stalls_[number] = {direction, bytes};
}

int StallingProxy::connections() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(connections_.size());
}

int StallingProxy::stalled() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(std::count_if(connections_.begin(), connections_.end(),
                                        [](const auto& connection) { return connection->is_stalled; }));
}

void StallingProxy::Accept() {
  const size_t colon = server_.rfind(':');
  const sockaddr_in server = Loopback(std::atoi(server_.c_str() + colon + 1));
  for (;;) {
    const int caller = accept(listener_, nullptr, nullptr);
    if (caller < 0) return;
    auto made = std::make_unique<Connection>();
    Connection* connection = made.get();
    connection->sockets[kToCaller] = caller;
    connection->sockets[kToServer] = socket(AF_INET, SOCK_STREAM, 0);
    std::fill_n(connection->limits, 2, std::numeric_limits<int64_t>::max());
    if (connect(connection->sockets[kToServer], reinterpret_cast<const sockaddr*>(&server), sizeof(server)) != 0) {
      shutdown(caller, SHUT_RDWR);
    }
    {
      absl::MutexLock lock(&mutex_);
      const auto stall = stalls_.find(static_cast<int>(connections_.size()));
      if (stall != stalls_.end()) connection->limits[stall->second.first] = stall->second.second;
      connections_.push_back(std::move(made));
      if (ends_) return;
    }
    for (const Direction direction : {kToServer, kToCaller}) {
      carriers_.emplace_back([this, connection, direction] { Carry(connection, direction); });
    }
  }
}

bool StallingProxy::MayCarry(Connection* connection, Direction direction, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  connection->limits[direction] -= bytes;
  if (connection->limits[direction] <= 0) connection->is_stalled = true;
  const auto may_go_on = [this, connection] {
    mutex_.AssertReaderHeld();
    return ends_ || !connection->is_stalled;
  };
  mutex_.Await(absl::Condition(&may_go_on));
  return !ends_;
}

void StallingProxy::Carry(Connection* connection, Direction direction) {
  const int from = connection->sockets[1 - direction], to = connection->sockets[direction];
  char buffer[kBuffered];
  while (MayCarry(connection, direction, 0)) {
    const ssize_t count = recv(from, buffer, sizeof(buffer), 0);
    if (count <= 0 || !MayCarry(connection, direction, count)) break;
    for (ssize_t sent = 0; sent < count;) {
      const ssize_t more = send(to, buffer + sent, static_cast<size_t>(count - sent), MSG_NOSIGNAL);
      if (more <= 0) break;
      sent += more;
    }
  }
  shutdown(to, SHUT_WR);
}

}  // namespace corank::testing
