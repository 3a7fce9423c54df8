// A request, whatever it asks for: who wants it, until when, and who hears of its end.
#ifndef CORANK_SERVER_RUN_REQUEST_H_
#define CORANK_SERVER_RUN_REQUEST_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/model/outcome.h"
#include "server/security/caller.h"

namespace corank {

/// Order in which waiting requests run.
enum class TaskPriority : uint8_t { kHigh, kNormal, kLow };
inline constexpr int kTaskPriorities = 3;

/// Receives the end of a task.
class Completion {
 public:
  virtual ~Completion() = default;
  /// Called exactly once for every admitted task, on any thread; must not block. Results in the outcome are valid
  /// during the call only. The completion may be destroyed when this returns.
  virtual void Done(const absl::Status& status, Outcome& outcome) = 0;
  /// The lane of the task may never return, so the caller gets an error now. Called at most once and before Done, which
  /// still follows and then only releases what the lane has used. Must not block.
  virtual void Abandon(const absl::Status& status) = 0;
};

struct Request {
  std::shared_ptr<const Caller> caller = AnonymousCaller();
  TaskPriority priority = TaskPriority::kNormal;
  int64_t bytes = 0;  // of the message
  Instant arrival;
  Instant deadline = kForever;
  const std::atomic<bool>* cancelled = nullptr;  // valid until Done
  Completion* completion = nullptr;              // valid until Done
  std::shared_ptr<const void> completion_owner;  // set if the completion's lifetime depends on its owners

  /// OK, or the reason why this request is no longer worth doing. The deadline is checked first, because a call whose
  /// deadline passes is cancelled too.
  absl::Status CheckWanted(Instant now) const {
    if (now >= deadline) return DeadlinePassed();
    return cancelled->load(std::memory_order_acquire) ? CallerCancelled() : absl::OkStatus();
  }
  /// Whether a request that was not done by `now` was too late for its caller.
  bool IsLate(Instant now) const { return IsShortBefore(deadline, arrival, now); }
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_REQUEST_H_
