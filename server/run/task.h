// A request with its plan, on its way through the queue and a lane.
#ifndef CORANK_SERVER_RUN_TASK_H_
#define CORANK_SERVER_RUN_TASK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/run/plan.h"
#include "server/run/request.h"

namespace corank {

/// Reports on a batch to its source. The batch's tasks share one, and the last of them ends it.
class BatchReport {
 public:
  virtual ~BatchReport() = default;
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
  Request request;
  Plan plan;
  // Set by the queue that admits the task.
  int64_t device_bytes = 0;  // the need on the devices that may run it, beside every lane's own memory
  int64_t host_bytes = 0;    // likewise, pinned
  Instant queued;
  std::shared_ptr<BatchReport> batch;  // null if nobody listens
  bool abandoned = false;              // the completion's Abandon was called; for lanes only

  /// Whether it must wait until memory is free.
  bool is_heavy() const { return device_bytes > 0 || host_bytes > 0; }
  /// Ends a task that no lane ran.
  void Drop(const absl::Status& status) const {
    Outcome outcome;
    request.completion->Done(status, outcome);
  }
};

/// Where lanes get their work. Thread-safe.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// Waits for work that `device`, 0 to 63, may do. The caller owns the tasks and runs them on one lane. Empty: there
  /// will be no more work. Of several that wait, spares go first, because they may end afterwards, and then the one
  /// that came last.
  virtual std::vector<std::unique_ptr<Task>> NextBatch(int device, bool is_spare) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TASK_H_
