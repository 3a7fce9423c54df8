// The bounded queue that every request passes.
#ifndef CORANK_SERVER_ADMIT_ADMISSION_QUEUE_H_
#define CORANK_SERVER_ADMIT_ADMISSION_QUEUE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/admit/caution.h"
#include "server/admit/device_memory.h"
#include "server/admit/drain_rate.h"
#include "server/admit/fair_line.h"
#include "server/admit/work_times.h"
#include "server/batch/batcher.h"
#include "server/execute/task.h"
#include "server/memory/device_set.h"
#include "server/observe/clock.h"
#include "server/observe/metrics.h"

namespace corank {

/// A higher priority goes first; within a priority, tenants share by the bytes of their arrays (fair_line.h), and
/// within a tenant the first comes first. Work leaves the queue only when the device memory and the pinned memory
/// that it needs are free, so that none fails for lack of them later; a request that needs much of them is not passed
/// by another such one. Thread-safe. No call but Take waits, and Admit for the work of a small request.
class AdmissionQueue final : public TaskSource {
 public:
  struct Options {
    /// Requests that may wait. Of this and of max_bytes, normal and low priority together may take seven eighths, low
    /// priority alone a half (one request may in any case): a flood of one never refuses what is more urgent.
    int64_t max_requests = 1024;
    /// Bytes of the requests that may wait.
    int64_t max_bytes = int64_t{4} << 30;
    /// The same for one tenant; 0: no other limit than the next one.
    int64_t tenant_max_requests = 0;
    int64_t tenant_max_bytes = 0;
    /// A tenant with a name may have this many times what is still free, so that others always find room (dynamic
    /// thresholds: Choudhury and Hahne 1998). Callers without a name are one party that may have it all.
    int64_t tenant_share_of_free = 7;
    /// Whether a tenant with a name, of whom takers have work that is not brief, leaves the last taker that is idle to
    /// others. Brief is what is small and waits for no caller.
    bool leaves_a_taker = false;
    /// Shares of tenants by name; 1 where none is given.
    FairLine::Weights weights;
    /// A request of at most this many bytes runs on the thread that brings it while nothing waits and no other does so:
    /// two changes of thread cost more than its work. With several devices, as many as there are do so.
    int64_t direct_bytes = 16 << 10;
    /// A request whose arrays and results, all of them in its messages, are at most this many bytes, or twice as many
    /// where the work is light, is for the host runner: at once, on the thread that brings it, any number at a time,
    /// past all that waits. 0: none is. Priorities, fair shares, the bounds of the queue and estimates of deadlines are
    /// not for these: to refuse one takes its message all the same, and that is most of its cost.
    int64_t host_bytes = 0;
    /// Takers of a device that may have small tasks, with arrays of at most this many bytes, at the same time: what
    /// arrives meanwhile becomes a batch. 0: all takers. For engines on which a batch costs hardly more than one of its
    /// members.
    int64_t small_bytes = 64 << 10;
    int small_takers = 0;
  };

  /// Where `memory` is null, no work is held back for it; where `devices` is, `memory` is too, and there
  /// is one device, which is never lost. The pointees must outlive the queue.
  AdmissionQueue(const Options& options, const Clock* clock, Metrics* metrics, DeviceMemory* memory = nullptr,
                 const DeviceSet* devices = nullptr);
  ~AdmissionQueue() override;

  /// Who runs small requests directly on a device; to be called before the first Admit, with a runner that outlives the
  /// last.
  void SetDirectRunner(DirectRunner* runner, int device = 0) {
    direct_runners_[static_cast<size_t>(device)] = runner;
    has_direct_runner_ = true;
  }

  /// Who runs requests of up to `host_bytes`, several at a time; else as SetDirectRunner.
  void SetHostRunner(DirectRunner* runner) { host_runner_ = runner; }

  /// The task is consumed if and only if this returns OK; its completion is then called exactly once, DEADLINE_EXCEEDED
  /// as soon as its deadline passes while it waits.
  /// DEADLINE_EXCEEDED or CANCELLED: it is not wanted any more. DEADLINE_EXCEEDED with RetryInfo: it is estimated to
  /// end too late, and would not be after that delay if nothing else came. RESOURCE_EXHAUSTED with RetryInfo: the
  /// queue, or the tenant's part of it, is full. INVALID_ARGUMENT: it needs more device memory than any device
  /// has. UNAVAILABLE with RetryInfo: the server drains or lost the devices that may run it.
  [[nodiscard]] absl::Status Admit(std::unique_ptr<Task>&& task) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Ends the waiting tasks that were cancelled or whose deadline passed. To be called when a call is cancelled; the
  /// queue itself does it at deadlines.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Refuses new tasks with `refusal`, counted as `reason`; what waits is still handed out, then Take returns nothing.
  void Close(const absl::Status& refusal, Refusal reason = Refusal::kDraining) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Close, and ends all that waits with `refusal` too.
  void Abort(const absl::Status& refusal, Refusal reason = Refusal::kDraining) ABSL_LOCKS_EXCLUDED(mutex_);

  /// A device was lost, or does its work well again or not: ends what only lost devices may run with UNAVAILABLE, and
  /// sends the takers of lost devices home.
  void DevicesChanged() ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<std::unique_ptr<Task>> Take(int device, const BatchRule& rule,
                                          absl::FunctionRef<bool(const Task& first, const Task& next)> joins) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t waiting_requests() const ABSL_LOCKS_EXCLUDED(mutex_);
  /// How long the oldest request of a priority has waited; 0 where none does.
  double AgeSeconds(TaskPriority priority) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// What is learned of an operator; 0 where nothing is.
  double EstimatedBytesPerSecond(Operator op) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A batch that a taker has.
  class Batch;
  // What a taker waits for.
  struct Taker;

  absl::Status Refuse(Refusal reason, absl::Status status) const;
  // Says what the task needs of device memory, and leaves it the devices that have as much.
  absl::Status FindMemory(Task& task) const;
  void SetRefusal(const absl::Status& refusal, Refusal reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the queue takes tasks of its kind at all.
  absl::Status CheckOpen(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RunOnHost(std::unique_ptr<Task>& task) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Enqueue(std::unique_ptr<Task>& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoom(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTenantRoom(const Task& task, int64_t free_requests, int64_t free_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckInTime(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Cost of what goes before a task like this.
  double CostAhead(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until the first of the batches that takers of these devices have ends, as far as it can be told.
  absl::Duration SoonestEnd(uint64_t devices, Instant now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FairLine& LineOf(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lines_[static_cast<size_t>(task.priority)];
  }
  const FairLine& LineOf(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lines_[static_cast<size_t>(task.priority)];
  }
  bool IsSmall(const Task& task) const { return task.work_bytes <= options_.small_bytes; }
  // It leaves its taker soon, or takers are shared by no such rule.
  bool IsBrief(const Task& task) const {
    return !options_.leaves_a_taker || (IsSmall(task) && !task.operation->waits_for_caller());
  }
  int device_count() const { return devices_ == nullptr ? 1 : devices_->size(); }
  uint64_t live() const { return devices_ == nullptr ? ~uint64_t{0} : devices_->live(); }
  bool ShouldRun(int device, uint64_t devices) const {
    return devices_ == nullptr ? (devices >> device & 1) != 0 : devices_->ShouldRun(device, devices);
  }
  // The device with least work in progress that runs the task on this thread; -1: none does.
  int DirectDevice(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int WaitingTakers(uint64_t devices) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the tenant of a task may have one more taker for it.
  bool MayHave(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // More batches of small tasks that takers of these devices may have.
  int FreeSmallTakers(uint64_t devices) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task that the device takes next; none where none waits that it may take now.
  FairLine::Place Next(int device, FairLine** line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOver(int device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for companions of the first task, where the rule says so; false where it did wait, and all may be different.
  bool Gather(const Task& first, const BatchRule& rule) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFull(const BatchRule& rule) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t MostForOne(const Task& first, const BatchRule& rule) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<Task> Pop(FairLine& line, const FairLine::Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndBatch(Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  void Learn(Operator op, int tasks, int64_t bytes, absl::Duration time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(int64_t requests, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sweeps at every deadline of a task that waits.
  void WatchDeadlines() ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const Clock* const clock_;
  Metrics* const metrics_;
  DeviceMemory* const memory_;
  const DeviceSet* const devices_;

  template <typename T>
  using PerDevice = std::array<T, DeviceSet::kMaxDevices>;
  PerDevice<DirectRunner*> direct_runners_{};
  bool has_direct_runner_ = false;
  DirectRunner* host_runner_ = nullptr;

  mutable absl::Mutex mutex_;
  std::vector<FairLine> lines_ ABSL_GUARDED_BY(mutex_);  // by priority
  int64_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t small_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t small_request_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  PerDevice<int> waiting_takers_ ABSL_GUARDED_BY(mutex_){};
  uint64_t direct_devices_ ABSL_GUARDED_BY(mutex_) = 0;     // those that run a request directly
  PerDevice<int> small_batches_ ABSL_GUARDED_BY(mutex_){};  // that takers have
  PerDevice<int> batch_counts_ ABSL_GUARDED_BY(mutex_){};   // of all sizes
  std::vector<const Batch*> batches_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> held_ ABSL_GUARDED_BY(mutex_);  // batches of tenants that are not brief
  DrainRate rate_ ABSL_GUARDED_BY(mutex_);
  Caution caution_ ABSL_GUARDED_BY(mutex_);
  WorkTimes times_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // not OK: closed
  std::atomic<bool> is_open_{true};               // while it is OK
  Refusal refusal_reason_ ABSL_GUARDED_BY(mutex_) = Refusal::kDraining;
  // No task that waits has an earlier deadline; the timer sleeps until then.
  Instant wake_ ABSL_GUARDED_BY(mutex_) = kForever;
  bool wake_changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread timer_;
};

}  // namespace corank

#endif  // CORANK_SERVER_ADMIT_ADMISSION_QUEUE_H_
