// A validated request on its way through admit, batch and execute.
#ifndef CORANK_SERVER_EXECUTE_TASK_H_
#define CORANK_SERVER_EXECUTE_TASK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/execute/operation.h"
#include "server/observe/clock.h"
#include "server/respond/errors.h"
#include "server/respond/outcome.h"
#include "server/security/caller.h"

namespace corank {

/// What is taken first when requests wait.
enum class TaskPriority : uint8_t { kHigh, kNormal, kLow };
inline constexpr int kTaskPriorities = 3;

/// Who waits for a task.
class Completion {
 public:
  virtual ~Completion() = default;
  /// Called exactly once for every task that admit took, on any thread; must not block. Results in the outcome are
  /// valid during the call only. The completion may be gone when this returns.
  virtual void Done(const absl::Status& status, Outcome& outcome) = 0;
  /// The lane that works on the task may not come back: whoever waits is answered now, with an error. Called once at
  /// most and before Done, which is still to come and then only lets go of what the lane has used. Must not block.
  virtual void Abandon(const absl::Status& status) = 0;
};

/// What whoever handed out a batch learns of it: the batch's tasks share one, and the last of them to go ends it.
class Lease {
 public:
  virtual ~Lease() = default;
  /// A task of the batch was done to its end.
  void CountServed() { served_.fetch_add(1, std::memory_order_relaxed); }
  int served() const { return served_.load(std::memory_order_relaxed); }
  /// The deadline of a task of the batch passed before it was done.
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
  bool is_inline = false;           // all its arrays come in the request message and go in the response
  // Set by the queue that takes the task.
  int64_t work_bytes = 0;    // of its arrays, wherever they are, or of the message where that is more
  int64_t device_bytes = 0;  // what it needs of the device's memory beside what every lane has
  int64_t host_bytes = 0;    // the same of pinned memory
  Instant queued;

  Instant arrival;
  Instant deadline = kForever;
  const std::atomic<bool>* cancelled = nullptr;  // valid until Done
  Completion* completion = nullptr;              // valid until Done
  std::shared_ptr<const void> completion_owner;  // where the completion lives only as long as somebody holds it
  std::shared_ptr<Lease> lease;                  // of the batch; null where nobody asks
  bool abandoned = false;                        // the completion's Abandon was called; the lanes' to read and write

  /// Whether it has to wait until memory is free.
  bool is_heavy() const { return device_bytes > 0 || host_bytes > 0; }
  /// OK, or why this task is not worth doing any more. The deadline comes first: gRPC cancels a call whose deadline
  /// passed.
  absl::Status CheckWanted(Instant now) const {
    if (now >= deadline) return DeadlinePassed();
    return cancelled->load(std::memory_order_acquire) ? CallerCancelled() : absl::OkStatus();
  }
  /// Whether work that was not done by `now` came too late for its caller.
  bool IsLate(Instant now) const { return IsShortBefore(deadline, arrival, now); }
  /// Ends a task that no lane took up.
  void Drop(const absl::Status& status) const {
    Outcome outcome;
    completion->Done(status, outcome);
  }
};

/// Where lanes get their work. Thread-safe.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// Waits for work that `device`, 0 to 63, may do. The tasks belong to the caller, who runs them on one lane. Empty:
  /// there will be no work any more.
  virtual std::vector<std::unique_ptr<Task>> Next(int device) = 0;
};

/// Runs a task on the thread that brings it.
class DirectRunner {
 public:
  virtual ~DirectRunner() = default;
  /// Returns when the task has ended.
  virtual void RunDirectly(std::unique_ptr<Task> task) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_TASK_H_
