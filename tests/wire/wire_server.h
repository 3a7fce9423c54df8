// A server of the wire with methods for tests.
#ifndef CORANK_TESTS_WIRE_WIRE_SERVER_H_
#define CORANK_TESTS_WIRE_WIRE_SERVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/wire/server.h"

namespace corank::wire::testing {

/// What the handlers of a server have seen. Thread-safe.
struct Seen {
  std::atomic<int> handlers{0};  // that are alive
  std::atomic<int> done{0};
  std::atomic<int64_t> received_bytes{0};
  absl::Notification blocked, unblock;  // of the one call of /test/Block

  void AddCancel(const CallStatus& status) ABSL_LOCKS_EXCLUDED(mutex) {
    absl::MutexLock lock(&mutex);
    cancels.push_back(status);
  }
  /// The next cancellation; code -1 if none came within 10 seconds.
  CallStatus AwaitCancel() ABSL_LOCKS_EXCLUDED(mutex);
  /// Whether all handlers were deleted within 10 seconds.
  bool AwaitNoHandlers() const;

  absl::Mutex mutex;
  std::vector<CallStatus> cancels ABSL_GUARDED_BY(mutex);
  std::vector<std::string> paths ABSL_GUARDED_BY(mutex);  // of calls, in the order of their heads
};

/// Listens on a port of its own. "tenant" in the metadata names the tenant. The methods:
///   /test/Echo    answers the message with itself
///   /test/Total   answers the end of the messages with the number of their bytes, as text
///   /test/Later   the same, but it reads one message in a round of its loop
///   /test/Copies  answers "N" with N messages of 64 KiB, one after the other
///   /test/Hang    reads one message, and never answers
///   /test/Late    refuses at the head, with the status of a deadline
///   /test/Hold    reads nothing until Release
///   /test/Fail    status 9 with a message, details and trailing metadata
///   /test/Names   answers with the names of the peer's certificate
class WireServer {
 public:
  explicit WireServer(const ConnectionLimits& limits = {}, std::shared_ptr<const TlsContext> tls = nullptr);
  ~WireServer();
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  int port() const { return port_; }
  Server& server() { return *server_; }
  Seen& seen() { return seen_; }
  /// Lets the calls of /test/Hold read.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::shared_ptr<Handler> Route(const std::shared_ptr<Call>& call) ABSL_LOCKS_EXCLUDED(mutex_);

  Seen seen_;
  int listener_ = -1;
  int port_ = 0;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Call>> held_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace corank::wire::testing

#endif  // CORANK_TESTS_WIRE_WIRE_SERVER_H_
