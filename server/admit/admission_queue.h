// The bounded queue that every request passes.
#ifndef CORANK_SERVER_ADMIT_ADMISSION_QUEUE_H_
#define CORANK_SERVER_ADMIT_ADMISSION_QUEUE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/admit/drain_rate.h"
#include "server/batch/batcher.h"
#include "server/execute/task.h"
#include "server/observe/clock.h"
#include "server/observe/metrics.h"

namespace corank {

/// First in, first out within a priority; a higher priority goes first. Thread-safe. No call but Take waits, and Admit
/// for the work of a small request.
class AdmissionQueue final : public TaskSource {
 public:
  struct Options {
    /// Requests that may wait.
    int64_t max_requests = 1024;
    /// Bytes of the requests that may wait.
    int64_t max_bytes = int64_t{4} << 30;
    /// A request of at most this many bytes runs on the thread that brings it while nothing waits and no other does so:
    /// two changes of thread cost more than its work.
    int64_t direct_bytes = 16 << 10;
    /// Takers that may have small tasks, of at most this many bytes, at the same time: what arrives meanwhile becomes a
    /// batch. 0: all takers. For engines on which a batch costs hardly more than one of its members.
    int64_t small_bytes = 64 << 10;
    int small_takers = 0;
  };

  /// The pointees must outlive the queue.
  AdmissionQueue(const Options& options, const Clock* clock, Metrics* metrics);
  ~AdmissionQueue() override;

  /// Who runs small requests directly; to be called before the first Admit, with a runner that outlives the last.
  void SetDirectRunner(DirectRunner* runner) { direct_runner_ = runner; }

  /// The task is consumed if and only if this returns OK; its completion is then called exactly once.
  /// DEADLINE_EXCEEDED or CANCELLED: it is not wanted any more. RESOURCE_EXHAUSTED with RetryInfo: the queue is full.
  /// UNAVAILABLE with RetryInfo: the server drains or lost its device.
  [[nodiscard]] absl::Status Admit(std::unique_ptr<Task>&& task) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Ends the waiting tasks that were cancelled or whose deadline passed. To be called when a call is cancelled, which
  /// gRPC also does when its deadline passes.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Refuses new tasks with `refusal`; what waits is still handed out, then Take returns nothing.
  void Close(const absl::Status& refusal) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Close, and ends all that waits with `refusal` too.
  void Abort(const absl::Status& refusal) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<std::unique_ptr<Task>> Take(int max_tasks,
                                          absl::FunctionRef<bool(const Task& first, const Task& next)> joins) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t waiting_requests() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status Enqueue(std::unique_ptr<Task>& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  using Line = std::deque<std::unique_ptr<Task>>;

  std::unique_ptr<Task> Pop(Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The first line with a task.
  Line* Front() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsSmall(const Task& task) const { return task.bytes <= options_.small_bytes; }
  bool HasWorkOrClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndSmallBatch() ABSL_LOCKS_EXCLUDED(mutex_);
  void Count(int64_t requests, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const Clock* const clock_;
  Metrics* const metrics_;

  DirectRunner* direct_runner_ = nullptr;

  mutable absl::Mutex mutex_;
  std::array<Line, kTaskPriorities> lines_ ABSL_GUARDED_BY(mutex_);
  int64_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiting_takers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool runs_directly_ ABSL_GUARDED_BY(mutex_) = false;
  int small_batches_ ABSL_GUARDED_BY(mutex_) = 0;  // that takers have
  DrainRate rate_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // not OK: closed
};

}  // namespace corank

#endif  // CORANK_SERVER_ADMIT_ADMISSION_QUEUE_H_
