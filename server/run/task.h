// A validated request on its way through admit, batch and execute.
#ifndef CORANK_SERVER_RUN_TASK_H_
#define CORANK_SERVER_RUN_TASK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/model/outcome.h"
#include "server/run/operation.h"
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

/// Reports on a batch to its source. The batch's tasks share one, and the last of them ends it.
class Lease {
 public:
  virtual ~Lease() = default;
  /// A task of the batch ran to its end.
  void CountServed() { served_.fetch_add(1, std::memory_order_relaxed); }
  int served() const { return served_.load(std::memory_order_relaxed); }
  /// The deadline of a task of the batch passed before its end.
  void NoteLate() { was_late_.store(true, std::memory_order_relaxed); }
  bool was_late() const { return was_late_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> served_{0};
  std::atomic<bool> was_late_{false};
};

struct Task {
  std::unique_ptr<Operation> operation;
  TaskPriority priority = TaskPriority::kNormal;
  std::shared_ptr<const Caller> caller = AnonymousCaller();
  int64_t bytes = 0;                // of the request message
  uint64_t devices = ~uint64_t{0};  // bit i: device i may run it
  bool is_inline = false;           // all its arrays and results are inline
  // Set by the queue that admits the task.
  int64_t work_bytes = 0;    // bytes of its arrays, wherever they are, or of the message if that is more
  int64_t device_bytes = 0;  // device memory that it needs beside every lane's own
  int64_t host_bytes = 0;    // pinned memory, likewise
  Instant queued;

  Instant arrival;
  Instant deadline = kForever;
  const std::atomic<bool>* cancelled = nullptr;  // valid until Done
  Completion* completion = nullptr;              // valid until Done
  std::shared_ptr<const void> completion_owner;  // set if the completion's lifetime depends on its owners
  std::shared_ptr<Lease> lease;                  // of the batch; null if nobody listens
  bool abandoned = false;                        // the completion's Abandon was called; for lanes only

  /// Whether it must wait until memory is free.
  bool is_heavy() const { return device_bytes > 0 || host_bytes > 0; }
  /// OK, or the reason why this task is no longer worth doing. The deadline is checked first, because gRPC cancels a
  /// call whose deadline passes.
  absl::Status CheckWanted(Instant now) const {
    if (now >= deadline) return DeadlinePassed();
    return cancelled->load(std::memory_order_acquire) ? CallerCancelled() : absl::OkStatus();
  }
  /// Whether a task that was not done by `now` was too late for its caller.
  bool IsLate(Instant now) const { return IsShortBefore(deadline, arrival, now); }
  /// Ends a task that no lane ran.
  void Drop(const absl::Status& status) const {
    Outcome outcome;
    completion->Done(status, outcome);
  }
};

/// Where lanes get their work. Thread-safe.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// Waits for work that `device`, 0 to 63, may do. The caller owns the tasks and runs them on one lane. Empty: there
  /// will be no more work.
  virtual std::vector<std::unique_ptr<Task>> Next(int device) = 0;
};

/// Runs a task on the thread that submits it.
class DirectRunner {
 public:
  virtual ~DirectRunner() = default;
  /// Returns when the task has ended.
  virtual void RunDirectly(std::unique_ptr<Task> task) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TASK_H_
