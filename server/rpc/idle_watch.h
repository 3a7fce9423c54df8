// Ends calls whose callers stall.
#ifndef CORANK_SERVER_RPC_IDLE_WATCH_H_
#define CORANK_SERVER_RPC_IDLE_WATCH_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"

namespace corank {

/// Watches one call, which waits for its caller from Wait to Resume. If that takes longer than the timeout, `on_idle`
/// is called, once, and ends the call. Resume then returns false, and its caller must leave the call alone.
/// Thread-safe.
class IdleWatch : public std::enable_shared_from_this<IdleWatch> {
 public:
  static std::shared_ptr<IdleWatch> Create(absl::Duration timeout, std::function<void()> on_idle) {
    return std::shared_ptr<IdleWatch>(new IdleWatch(timeout, std::move(on_idle)));
  }

  /// DEADLINE_EXCEEDED. `what`: "sent" or "taken".
  absl::Status Idle(absl::string_view what) const;

  /// Call this before starting the operation that waits for the caller.
  void Wait();
  bool Resume();
  /// The call is over; `on_idle` will not be called any more.
  void Stop();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  IdleWatch(absl::Duration timeout, std::function<void()> on_idle) : timeout_(timeout), on_idle_(std::move(on_idle)) {}
  void Arm(absl::Duration after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration timeout_;
  absl::Mutex mutex_;
  std::function<void()> on_idle_ ABSL_GUARDED_BY(mutex_);
  std::optional<SteadyTime> waits_since_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;  // by on_idle or otherwise
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_IDLE_WATCH_H_
