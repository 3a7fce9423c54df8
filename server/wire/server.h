// A gRPC server on nghttp2: event loops with their connections.
#ifndef CORANK_SERVER_WIRE_SERVER_H_
#define CORANK_SERVER_WIRE_SERVER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/wire/connection.h"

namespace corank::wire {

/// Thread-safe. It does not listen: whoever accepts connections hands them over.
class Server {
 public:
  /// `loops`: number of threads, 1 or more.
  Server(int loops, const ConnectionLimits& limits, Router router);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves a connection, a socket that does not block, which the server owns from now on. `peer`: its address, for
  /// handlers. `tls`: null: plaintext.
  void Serve(int fd, std::string peer, std::shared_ptr<const TlsContext> tls = nullptr);

  /// Tells all peers to make further calls elsewhere. Connections end when they have no calls.
  void Drain();
  /// Drains, and ends what is left after `patience`. Returns when nothing is left. Takes no more connections.
  void Stop(std::chrono::milliseconds patience);

  int connections() const { return connections_.load(); }

 private:
  struct Shard {
    std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;  // of the loop's thread
    Loop loop;                                                                 // last: its thread ends first
  };

  const ConnectionLimits limits_;
  const Router router_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<unsigned> next_{0};
  std::atomic<int> connections_{0};
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_SERVER_H_
