// A listening socket that knows how many of its connections are open.
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

/// Where to listen: HOST:PORT, or unix:PATH for a socket in the file system.
struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;
  std::string path;  // of a UNIX-domain socket; then there is no host

  /// INVALID_ARGUMENT, in words for an operator.
  static absl::StatusOr<ListenAddress> Parse(absl::string_view address);
  /// Whether only processes of this host can connect.
  bool IsLocal() const;
  std::string ToString() const;
};

/// gRPC 1.51 accepts all connections that come. This accepts for it, and keeps to a limit.
class Listener {
 public:
  struct Options {
    int max_connections = 1024;
    /// After this time without an answer to data that was sent, the system gives a connection up; 0: its own time.
    int user_timeout_ms = 0;
    /// What a connection over the limit costs: the oldest one its end, for short calls that anybody may make; otherwise
    /// it is closed itself, at once.
    bool oldest_gives_way = false;
  };
  /// Takes over a connection: a non-blocking socket. On the listener's thread.
  using Taker = std::function<void(int listener_fd, int fd)>;

  /// Listens; connections wait until Start. UNAVAILABLE with the system's reason. `logger` outlives the listener.
  static absl::StatusOr<std::unique_ptr<Listener>> Create(const ListenAddress& address, const Options& options,
                                                          const Logger* logger);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void Start(Taker taker);
  /// Takes no more connections when it returns. Those that were taken live on.
  void Stop();
  /// Waits, at most so long, until the system has sent all that was written to them.
  void AwaitSent(absl::Duration most) ABSL_LOCKS_EXCLUDED(mutex_);
  /// After Stop: ends those that are open, as a peer that hangs up does. What was written to them still goes out,
  /// unless more has come from the peer than was read.
  void EndConnections() ABSL_LOCKS_EXCLUDED(mutex_);

  /// With the port that was taken.
  const std::string& address() const { return address_; }
  int max_connections() const { return options_.max_connections; }
  int open_connections() ABSL_LOCKS_EXCLUDED(mutex_);
  /// Closed at once, or to let another in.
  int64_t refused_connections() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // An open connection belongs to gRPC, which does not say when it closes one. A number that names another socket, or
  // none, is a connection that was closed.
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
  // False where it is closed already.
  static bool End(const Connection& connection);
  // Of a full list; false where none can be ended.
  bool EndOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // They are the first ones.
  size_t EndingConnections() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogRefusal(absl::string_view reason);

  const Options options_;
  const Logger& logger_;
  std::string address_;
  std::string path_;  // to be removed; empty: none
  std::vector<int> sockets_;
  int wake_ = -1;
  std::thread thread_;
  int64_t next_log_ns_ = 0;  // of the thread
  mutable absl::Mutex mutex_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_LISTENER_H_
