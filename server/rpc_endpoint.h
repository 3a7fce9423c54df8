// The ports that serve gRPC: what listens, what it lets in, and what that may cost.
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

/// What a peer may take before anybody has looked at what it sends.
struct ConnectionLimits {
  int max_connections = 1024;
  /// Whether the oldest connection ends for one over the limit, which is closed otherwise.
  bool oldest_gives_way = false;
  /// Calls of one connection at the same time; a client that keeps to the protocol waits with more.
  int max_streams = 256;
  /// Of the metadata of a call.
  int64_t max_header_bytes = 16 << 10;
  /// Of a message, before gRPC cuts it off.
  int64_t max_message_bytes = int64_t{512} << 20;
  /// What gRPC holds of messages that have not come in whole; beyond it, calls are ended. 0: four of the longest
  /// messages, and 256 MiB at least.
  int64_t max_buffered_bytes = 0;
  /// From the connection to the end of TLS's and HTTP/2's greetings.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  /// A client that pings more often is hung up on.
  std::chrono::milliseconds min_ping_interval = std::chrono::seconds(10);
  /// A peer from which nothing came for so long is pinged, and given up where it does not answer within the timeout.
  std::chrono::milliseconds keepalive_interval = std::chrono::seconds(30);
  std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(10);
  /// A connection without a call for so long is closed; clients connect again with their next call.
  std::chrono::milliseconds max_idle = std::chrono::minutes(10);
  /// A connection that is older, give or take a tenth, takes no more calls, and has `age_grace` for those that run; a
  /// call that is open then gets UNAVAILABLE. Clients connect again. 0: at any age.
  std::chrono::milliseconds max_age = std::chrono::milliseconds(0);
  std::chrono::milliseconds age_grace = std::chrono::seconds(5);
};

/// What gRPC holds at most of messages that have not come in whole.
int64_t BufferedBytes(const ConnectionLimits& limits);

/// One port with its gRPC server.
class RpcEndpoint {
 public:
  struct Options {
    ListenAddress listen;
    std::shared_ptr<grpc::ServerCredentials> credentials;  // outlives the endpoint where it has to
    ConnectionLimits limits;
    bool reflection = false;
  };

  /// Serves when this returns. The services outlive the endpoint. UNAVAILABLE, in words for an operator, where it
  /// cannot listen. `logger` outlives the endpoint.
  static absl::StatusOr<std::unique_ptr<RpcEndpoint>> Start(const Options& options,
                                                            const std::vector<grpc::Service*>& services,
                                                            const Logger* logger);
  ~RpcEndpoint();

  /// Takes no more connections; serves those that are open for the time of `flush`, and ends them then, which callers
  /// who still wait see as UNAVAILABLE. Returns when no call is left.
  void Stop(std::chrono::milliseconds flush);

  /// With the port that was taken.
  const std::string& address() const { return listener_->address(); }
  Listener& listener() const { return *listener_; }

 private:
  RpcEndpoint(std::unique_ptr<Listener> listener, std::shared_ptr<grpc::ServerCredentials> credentials)
      : credentials_(std::move(credentials)), listener_(std::move(listener)) {}

  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<Listener> listener_;  // ends before what it hands connections to
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_ENDPOINT_H_
