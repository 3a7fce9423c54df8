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
};

struct Task {
  std::unique_ptr<Operation> operation;
  TaskPriority priority = TaskPriority::kNormal;
  std::shared_ptr<const Caller> caller = AnonymousCaller();
  int64_t bytes = 0;  // of the request message
  Instant arrival;
  Instant deadline = kForever;
  const std::atomic<bool>* cancelled = nullptr;  // valid until Done
  Completion* completion = nullptr;              // valid until Done
  std::shared_ptr<const void> completion_owner;  // where the completion lives only as long as somebody holds it
  std::shared_ptr<void> batch;                   // whoever handed out the batch learns of its end by this

  /// OK, or why this task is not worth doing any more. The deadline comes first: gRPC cancels a call whose deadline
  /// passed.
  absl::Status CheckWanted(Instant now) const {
    if (now >= deadline) return DeadlinePassed();
    return cancelled->load(std::memory_order_acquire) ? CallerCancelled() : absl::OkStatus();
  }
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
  /// Waits for work. The tasks belong to the caller, who runs them one after the other on one lane. Empty: there will
  /// be no work any more.
  virtual std::vector<std::unique_ptr<Task>> Next() = 0;
};

/// Runs a task on the thread that brings it.
class DirectRunner {
 public:
  virtual ~DirectRunner() = default;
  /// Returns when the task has ended. One call at a time.
  virtual void RunDirectly(std::unique_ptr<Task> task) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_TASK_H_
