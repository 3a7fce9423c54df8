// A listening socket that counts its open connections.
#ifndef CORANK_SERVER_SECURITY_LISTENER_H_
#define CORANK_SERVER_SECURITY_LISTENER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/observe/log.h"

namespace corank {

/// An address to listen on: HOST:PORT, or unix:PATH for a socket in the file system.
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

/// gRPC 1.51 accepts every connection. This class accepts connections in its place and limits them.
class Listener {
 public:
  struct Options {
    int max_connections = 1024;
    /// The system closes a connection whose data was not acknowledged for this long; 0: the system's own time.
    int user_timeout_ms = 0;
    /// How to handle a connection over the limit: end the oldest one, which suits short calls that anybody may make, or
    /// close the new one at once.
    bool oldest_gives_way = false;
  };
  /// Takes over a connection, a non-blocking socket, on the listener's thread.
  using Taker = std::function<void(int listener_fd, int fd)>;

  /// Listens; connections wait until Start. UNAVAILABLE with the system's reason. `logger` outlives the listener.
  static absl::StatusOr<std::unique_ptr<Listener>> Create(const ListenAddress& address, const Options& options,
                                                          const Logger* logger);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void Start(Taker taker);
  /// Accepts no more connections when it returns. Open ones continue.
  void Stop();
  /// Waits, at most that long, until the system has sent everything that was written to open connections.
  void AwaitSent(absl::Duration most) ABSL_LOCKS_EXCLUDED(mutex_);
  /// After Stop: ends the open connections as if the peer hung up. Data written to them is still sent, unless unread
  /// data has arrived from the peer.
  void EndConnections() ABSL_LOCKS_EXCLUDED(mutex_);

  /// With the actual port.
  const std::string& address() const { return address_; }
  int max_connections() const { return options_.max_connections; }
  int open_connections() ABSL_LOCKS_EXCLUDED(mutex_);
  /// Connections closed at once, or closed to admit another.
  int64_t refused_connections() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // gRPC owns an open connection and does not tell when it closes one. A descriptor that belongs to another socket, or
  // to none, is a closed connection.
  struct Connection {
    int fd;
    ino_t inode;
    bool is_ending = false;
  };

  Listener(const Options& options, const Logger* logger) : options_(options), logger_(*logger) {}

  absl::Status ListenOnHost(const ListenAddress& address);
  absl::Status ListenOnPath(const std::string& path);
  void Run(const Taker& taker);
  void AcceptAll(int listener_fd, const Taker& taker);
  enum class Admission { kTaken, kTakenForAnother, kRefused };
  Admission Admit(int fd) ABSL_LOCKS_EXCLUDED(mutex_);
  static bool IsOpen(const Connection& connection, int fd);
  // False if it is already closed.
  static bool End(const Connection& connection);
  // Makes room in a full list; false if no connection can be ended.
  bool EndOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Number of connections that are ending. They are the first ones in the list.
  size_t EndingConnections() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogRefusal(absl::string_view reason);

  const Options options_;
  const Logger& logger_;
  std::string address_;
  std::string path_;  // to remove at the end; empty: none
  std::vector<int> sockets_;
  int wake_ = -1;
  std::thread thread_;
  int64_t next_log_ns_ = 0;  // used by the thread
  mutable absl::Mutex mutex_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_LISTENER_H_
