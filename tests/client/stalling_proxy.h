// A network that swallows everything: a TCP proxy whose connections can be stalled.
#ifndef CORANK_TESTS_CLIENT_STALLING_PROXY_H_
#define CORANK_TESTS_CLIENT_STALLING_PROXY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace corank::testing {

/// Forwards bytes between its callers and one server of this host until a connection stalls. From then on, it neither
/// reads nor forwards bytes of that connection, and closes nothing. Buffers are small, so that a caller soon cannot
/// send. Thread-safe.
class StallingProxy {
 public:
  enum Direction { kToServer, kToCaller };

  /// `server` is host:port with a numeric host.
  explicit StallingProxy(const std::string& server);
  /// Closes all connections.
  ~StallingProxy();
  StallingProxy(const StallingProxy&) = delete;
  StallingProxy& operator=(const StallingProxy&) = delete;

  /// host:port.
  const std::string& address() const { return address_; }
  /// Connection `number`, counted from 0 by arrival, stalls in both directions once it has carried `bytes` bytes in
  /// this direction. Call it before the connection arrives.
  void StallAfter(int number, Direction direction, int64_t bytes);
  /// The number of connections so far, and how many of them are stalled.
  int connections() const;
  int stalled() const;

 private:
  struct Connection {
    int sockets[2] = {-1, -1};  // to the server and to the caller, in the order of Direction
    int64_t limits[2];          // bytes still to carry
    bool is_stalled = false;
  };

  void Accept();
  void Carry(Connection* connection, Direction direction);
  /// Waits while the connection is stalled. Returns false when the proxy ends.
  bool MayCarry(Connection* connection, Direction direction, int64_t bytes);

  std::string server_;
  std::string address_;
  int listener_ = -1;
  mutable absl::Mutex mutex_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int, std::pair<Direction, int64_t>> stalls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> carriers_;  // made by acceptor_
  std::thread acceptor_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_CLIENT_STALLING_PROXY_H_
