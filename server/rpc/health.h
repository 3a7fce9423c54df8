// grpc.health.v1: the server's health, and the service that reports it.
#ifndef CORANK_SERVER_RPC_HEALTH_H_
#define CORANK_SERVER_RPC_HEALTH_H_

#include <chrono>
#include <list>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "server/rpc/methods.h"

namespace corank {

class HealthWatch;

/// The status of each service by name. Any number of ports may report it. Thread-safe.
class HealthBoard {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  /// Most open watches; further ones are refused.
  static constexpr int kMaxWatches = 1024;

  /// A watch ends after `most_watch_time`, and its caller opens another one: anybody may watch, and connections need
  /// not end.
  explicit HealthBoard(std::chrono::nanoseconds most_watch_time = std::chrono::hours(1))
      : most_watch_time_(most_watch_time) {}

  /// Sets the status of a service, which is known from now on, and notifies its watches.
  void Set(absl::string_view service, bool serving) ABSL_LOCKS_EXCLUDED(mutex_);
  /// SERVICE_UNKNOWN for a name that was never set.
  Status Get(absl::string_view service) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Sends each watch its last status, ends it, and refuses new ones: the server is stopping.
  void EndWatches() ABSL_LOCKS_EXCLUDED(mutex_);

  int watches() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class HealthWatch;

  Status Find(absl::string_view service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::nanoseconds most_watch_time_;
  mutable absl::Mutex mutex_;
  std::map<std::string, bool, std::less<>> services_ ABSL_GUARDED_BY(mutex_);
  std::list<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

/// The methods of grpc.health.v1, which anybody may call. The board outlives them.
void AddHealth(HealthBoard* board, Methods* methods);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_HEALTH_H_
