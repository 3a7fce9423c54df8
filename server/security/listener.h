// Listening sockets: their addresses, and a thread that accepts.
#ifndef CORANK_SERVER_SECURITY_LISTENER_H_
#define CORANK_SERVER_SECURITY_LISTENER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/observe/log.h"

namespace corank {

/// An address to listen on: HOST:PORT, with brackets around an IPv6 address, or unix:PATH for a socket in the file
/// system.
struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;
  std::string path;  // of a UNIX-domain socket, which has no host

  /// INVALID_ARGUMENT, worded for an operator.
  static absl::StatusOr<ListenAddress> Parse(absl::string_view address);
  /// Whether only processes of this host can connect.
  bool IsLocal() const;
  std::string ToString() const;
};

/// Accepts connections on a thread of its own.
class Listener {
 public:
  /// Takes over a connection, a non-blocking socket, on the listener's thread. `peer`: its address, such as
  /// ipv4:127.0.0.1:40000.
  using Taker = std::function<void(int fd, std::string peer)>;

  /// Listens; connections wait until Start. `user_timeout_ms`: the system closes a connection whose data was not
  /// acknowledged for this long; 0: the system's own time. UNAVAILABLE with the system's reason. `logger` outlives the
  /// listener.
  static absl::StatusOr<std::unique_ptr<Listener>> Create(const ListenAddress& address, int user_timeout_ms,
                                                          const Logger* logger);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void Start(Taker taker);
  /// Accepts no more connections when it returns.
  void Stop();

  /// With the actual port.
  const std::string& address() const { return address_; }

 private:
  Listener(int user_timeout_ms, const Logger* logger) : user_timeout_ms_(user_timeout_ms), logger_(*logger) {}

  absl::Status ListenOnHost(const ListenAddress& address);
  absl::Status ListenOnPath(const std::string& path);
  void Run(const Taker& taker);
  void AcceptAll(int listener_fd, const Taker& taker);

  const int user_timeout_ms_;
  const Logger& logger_;
  std::string address_;
  std::string path_;  // to remove at the end; empty: none
  std::vector<int> sockets_;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_LISTENER_H_
