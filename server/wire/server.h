// A gRPC server on nghttp2: event loops with their connections.
#ifndef CORANK_SERVER_WIRE_SERVER_H_
#define CORANK_SERVER_WIRE_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/wire/connection.h"

namespace corank::wire {

/// Thread-safe. It does not listen: whoever accepts connections hands them over.
class Server {
 public:
  /// `loops`: number of threads, 1 or more.
  Server(int loops, const ConnectionLimits& limits, Router router,
         std::function<void(const Peer&)> on_failed_handshake = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves a connection, a socket that does not block, which the server owns from now on. `peer`: its address, for
  /// handlers. `tls`: null: plaintext.
  void Serve(int fd, std::string peer, std::shared_ptr<const TlsContext> tls = nullptr);

  /// Ends the connection that has been open for the longest time, with its calls. It is no longer among connections().
  void CloseOldest() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Tells all peers to make further calls elsewhere. Connections end when they have no calls.
  void Drain();
  /// Drains, ends the calls that are left after `patience` with `status`, and gives callers `farewell` to receive their
  /// answers. Returns when nothing is left; it waits for handlers that have not finished their calls. Takes no more
  /// connections.
  void Stop(std::chrono::milliseconds patience,
            const CallStatus& status = {kUnavailable, "the server is shutting down", ""},
            std::chrono::milliseconds farewell = std::chrono::milliseconds(0));

  int connections() const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Calls whose handlers have not finished them, or have not been told of their end.
  int open_calls() const { return open_calls_.load(); }

 private:
  struct Shard {
    std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;  // of the loop's thread
    std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  };

  // Runs `task` for all connections, each on its own loop.
  void ForEach(const std::function<void(Connection&)>& task);
  void Forget(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  bool AwaitNone(std::chrono::milliseconds most) const;

  const ConnectionLimits limits_;
  const Router router_;
  const std::function<void(const Peer&)> on_failed_handshake_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<int> open_connections_{0};  // that are not deleted, also those that CloseOldest ends
  std::atomic<int> open_calls_{0};
  UnreadAnswers unread_answers_{limits_.max_unread_answer_bytes};
  mutable absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  struct Entry {
    Shard* shard = nullptr;
    std::weak_ptr<Connection> connection;
  };
  std::map<int64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by age
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_SERVER_H_
