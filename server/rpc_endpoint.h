// The ports that serve gRPC, with their limits.
#ifndef CORANK_SERVER_RPC_ENDPOINT_H_
#define CORANK_SERVER_RPC_ENDPOINT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/observe/log.h"
#include "server/security/listener.h"
#include "server/security/tls_credentials.h"
#include "server/wire/server.h"

namespace corank {

/// Limits of a port for its peers, which apply before their messages are examined.
struct ConnectionLimits : wire::ConnectionLimits {
  int max_connections = 1024;
  /// Whether a connection over the limit closes the oldest one instead of being closed.
  bool oldest_gives_way = false;
  /// Most bytes of messages that have not come whole, beside the arrays in them, over all connections; a call whose
  /// message does not fit is refused. 0: four times `max_message_bytes`, and at least 256 MiB.
  int64_t max_buffered_bytes = 0;
  int64_t max_message_bytes = int64_t{512} << 20;
};

/// Most bytes of messages that have not come whole.
int64_t BufferedBytes(const ConnectionLimits& limits);

/// One port with its connections.
class RpcEndpoint {
 public:
  struct Options {
    ListenAddress listen;
    /// Null: plain text. Outlives the endpoint.
    const TlsCredentials* tls = nullptr;
    ConnectionLimits limits;
    /// Threads that serve connections.
    int loops = 1;
    /// Called on a loop's thread for each TLS handshake that fails.
    std::function<void()> on_failed_handshake;
  };

  /// Serves when this returns. What `router` makes outlives the endpoint. UNAVAILABLE, worded for an operator, if it
  /// cannot listen. `logger` outlives the endpoint.
  static absl::StatusOr<std::unique_ptr<RpcEndpoint>> Start(const Options& options, wire::Router router,
                                                            const Logger* logger);
  ~RpcEndpoint();

  /// Accepts no more connections, serves open ones for the time of `flush`, and then ends their calls with `status`.
  /// Returns when no call is left.
  void Stop(std::chrono::milliseconds flush, const CallStatus& status = kStopping);

  /// With the actual port.
  const std::string& address() const { return listener_->address(); }
  int max_connections() const { return max_connections_; }
  int open_connections() const { return server_.connections(); }
  /// Connections closed at once, or closed to admit another.
  int64_t refused_connections() const { return refused_.load(); }

 private:
  RpcEndpoint(const Options& options, wire::Router router, std::unique_ptr<Listener> listener, int max_connections,
              const Logger* logger);

  static const CallStatus kStopping;

  void Take(int fd, std::string peer);
  std::shared_ptr<const wire::TlsContext> Tls();
  void LogRefusal(absl::string_view reason);

  const Logger& logger_;
  const TlsCredentials* const tls_;
  const int max_connections_;
  const bool oldest_gives_way_;
  std::atomic<int64_t> refused_{0};
  // Of the listener's thread.
  Instant next_log_ = {};
  std::shared_ptr<const TlsMaterial> material_;
  std::shared_ptr<const wire::TlsContext> context_;  // of material_
  wire::Server server_;
  const std::unique_ptr<Listener> listener_;  // ends before the server that it hands connections to
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ENDPOINT_H_
