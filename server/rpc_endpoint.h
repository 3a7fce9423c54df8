// The ports that serve gRPC, with their limits.
#ifndef CORANK_SERVER_RPC_ENDPOINT_H_
#define CORANK_SERVER_RPC_ENDPOINT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/observe/log.h"
#include "server/security/listener.h"

namespace corank {

/// Limits for peers, which apply before their messages are examined.
struct ConnectionLimits {
  int max_connections = 1024;
  /// Whether a connection over the limit closes the oldest one instead of being closed.
  bool oldest_gives_way = false;
  /// Concurrent calls of one connection. A client that follows the protocol delays further calls.
  int max_streams = 256;
  /// Most bytes of a call's metadata.
  int64_t max_header_bytes = 16 << 10;
  /// Most bytes of a message before gRPC cuts it off.
  int64_t max_message_bytes = int64_t{512} << 20;
  /// Most bytes of incomplete messages that gRPC holds; beyond it, calls are ended. 0: four of the longest messages,
  /// and at least 256 MiB.
  int64_t max_buffered_bytes = 0;
  /// From the connection to the end of the TLS and HTTP/2 handshakes.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  /// The server closes the connection of a client that pings more often.
  std::chrono::milliseconds min_ping_interval = std::chrono::seconds(10);
  /// A peer that was silent for this long is pinged. The server closes its connection if it does not answer within
  /// keepalive_timeout.
  std::chrono::milliseconds keepalive_interval = std::chrono::seconds(30);
  std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(10);
  /// A connection without calls is closed after this long. Clients reconnect with their next call.
  std::chrono::milliseconds max_idle = std::chrono::minutes(10);
  /// A connection older than this, give or take a tenth, accepts no more calls, and running calls have `age_grace` to
  /// end; calls still open then get UNAVAILABLE. Clients reconnect. 0: no limit.
  std::chrono::milliseconds max_age = std::chrono::milliseconds(0);
  std::chrono::milliseconds age_grace = std::chrono::seconds(5);
};

/// Most bytes of incomplete messages that gRPC holds.
int64_t BufferedBytes(const ConnectionLimits& limits);

/// One port with its gRPC server.
class RpcEndpoint {
 public:
  struct Options {
    ListenAddress listen;
    std::shared_ptr<grpc::ServerCredentials> credentials;  // must outlive the endpoint if they have state
    ConnectionLimits limits;
    bool reflection = false;
  };

  /// Serves when this returns. The services outlive the endpoint. UNAVAILABLE, worded for an operator, if it cannot
  /// listen. `logger` outlives the endpoint.
  static absl::StatusOr<std::unique_ptr<RpcEndpoint>> Start(const Options& options,
                                                            const std::vector<grpc::Service*>& services,
                                                            const Logger* logger);
  ~RpcEndpoint();

  /// Accepts no more connections, serves open ones for the time of `flush`, and then ends them; callers that still wait
  /// get UNAVAILABLE. Returns when no call is left.
  void Stop(std::chrono::milliseconds flush);

  /// With the actual port.
  const std::string& address() const { return listener_->address(); }
  Listener& listener() const { return *listener_; }

 private:
  RpcEndpoint(std::unique_ptr<Listener> listener, std::shared_ptr<grpc::ServerCredentials> credentials)
      : credentials_(std::move(credentials)), listener_(std::move(listener)) {}

  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<Listener> listener_;  // ends before the server that it hands connections to
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ENDPOINT_H_
