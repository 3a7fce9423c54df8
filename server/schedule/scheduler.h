// The bounded queue that every request passes, and what lanes get from it.
#ifndef CORANK_SERVER_SCHEDULE_SCHEDULER_H_
#define CORANK_SERVER_SCHEDULE_SCHEDULER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/memory/device_set.h"
#include "server/observe/metrics.h"
#include "server/run/task.h"
#include "server/schedule/caution.h"
#include "server/schedule/device_memory.h"
#include "server/schedule/drain_rate.h"
#include "server/schedule/fair_line.h"
#include "server/schedule/work_times.h"

namespace corank {

/// Higher priorities go first. Within a priority, tenants share by the bytes of their arrays (fair_line.h), and within
/// a tenant the order is first come, first served. Work leaves the queue only when the device memory and the pinned
/// memory that it needs are free, so it cannot fail for lack of them later. A request that needs much memory is not
/// overtaken by another such request. Small requests of one operator leave as a batch, so a burst of them costs one
/// hand-off instead of one each. Thread-safe. Only NextBatch waits, and Submit while it runs a small request.
class Scheduler final : public WorkSource {
 public:
  struct Options {
    /// Limit of waiting requests. Normal and low priority together may take seven eighths of it and of max_bytes, low
    /// priority alone a half (but always one request): a flood of one priority never refuses more urgent ones.
    int64_t max_requests = 1024;
    /// Most bytes of waiting requests.
    int64_t max_bytes = int64_t{4} << 30;
    /// The same limits for one tenant; 0: only the next limit applies.
    int64_t tenant_max_requests = 0;
    int64_t tenant_max_bytes = 0;
    /// A named tenant may have this many times the space that is still free, so that others always find room (dynamic
    /// thresholds: Choudhury and Hahne 1998). Anonymous callers count as one party, which may have all of it.
    int64_t tenant_share_of_free = 7;
    /// Whether a named tenant with long work on some takers leaves the last idle taker to others. Small work that does
    /// not wait for its caller is not long.
    bool leaves_a_taker = false;
    /// Shares of tenants by name; the default is 1.
    FairLine::Weights weights;
    /// A request of at most this many bytes runs on the thread that submits it if nothing waits and no other request
    /// does so: two thread hand-offs cost more than its work. With several devices, as many requests as devices may do
    /// so.
    int64_t direct_bytes = 16 << 10;
    /// Most takers of a device that may have small tasks at the same time; small tasks that arrive meanwhile form a
    /// batch. 0: all takers. For engines on which a batch costs hardly more than one member.
    int small_takers = 0;
    /// Most requests in one batch.
    int batch_requests = 64;
    /// Most bytes of all messages in a batch together; a single request may exceed it.
    int64_t batch_bytes = int64_t{1} << 20;
    /// How long a small request may wait for others while a lane is free; 0: not at all.
    absl::Duration batch_delay = absl::ZeroDuration();
  };
  /// Runs a task on the calling thread, and returns when the task has ended.
  using Runner = std::function<void(std::unique_ptr<Task> task)>;

  /// With a null `memory`, no work waits for memory. With null `devices`, `memory` must be null too, and there is one
  /// device, which is never lost. The pointees must outlive the queue.
  Scheduler(const Options& options, const Clock* clock, Metrics* metrics, DeviceMemory* memory = nullptr,
            const DeviceSet* devices = nullptr);
  ~Scheduler() override;

  /// Sets the runner of small direct requests on a device. Call it before the first Submit. What it captures must
  /// outlive the last.
  void SetDirectRunner(Runner runner, int device = 0) {
    direct_runners_[static_cast<size_t>(device)] = std::move(runner);
    has_direct_runner_ = true;
  }

  /// Sets the runner of requests for the host (Strategy::kHost), which runs any number at a time, ahead of all waiting
  /// work; otherwise like SetDirectRunner. Priorities, fair shares, queue limits and deadline estimates do not apply to
  /// these requests: a refusal would receive their message all the same, which is most of their cost.
  void SetHostRunner(Runner runner) { host_runner_ = std::move(runner); }

  /// Consumes the task if and only if it returns OK. The completion is then called exactly once, with DEADLINE_EXCEEDED
  /// as soon as the deadline passes during the wait. Errors: DEADLINE_EXCEEDED or CANCELLED: the task is no longer
  /// wanted. DEADLINE_EXCEEDED with RetryInfo: the task is expected to end too late, but not after that delay if
  /// nothing else arrives. RESOURCE_EXHAUSTED with RetryInfo: the queue, or the tenant's part of it, is full.
  /// INVALID_ARGUMENT: the task needs more device memory than the budget of any device, or more pinned memory than all
  /// running requests together may have. UNAVAILABLE with RetryInfo: the server is draining or has lost the devices
  /// that may run the task.
  [[nodiscard]] absl::Status Submit(std::unique_ptr<Task>&& task) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Before a message of `bytes` is read, which tells its priority: whether the queue has room for it if it is urgent.
  /// RESOURCE_EXHAUSTED with RetryInfo: it has none, or the tenant's part of it is full. The delay is that of the
  /// lowest priority, because the message may have any.
  [[nodiscard]] absl::Status CheckRoom(absl::string_view tenant, int64_t bytes) const ABSL_LOCKS_EXCLUDED(mutex_);

  /// Ends waiting tasks that were cancelled or whose deadline passed. Call it when a call is cancelled; the queue
  /// handles deadlines itself.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Refuses new tasks with `refusal`, counted as `reason`. Waiting tasks are still handed out; then NextBatch
  /// returns nothing.
  void Close(const absl::Status& refusal, Refusal reason = Refusal::kDraining) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Close, and also ends all waiting tasks with `refusal`.
  void Abort(const absl::Status& refusal, Refusal reason = Refusal::kDraining) ABSL_LOCKS_EXCLUDED(mutex_);

  /// A device was lost, failed or recovered: ends tasks that only lost devices may run with UNAVAILABLE, and releases
  /// the takers of lost devices.
  void DevicesChanged() ABSL_LOCKS_EXCLUDED(mutex_);

  /// The next task that `device` may run, with directly following small ones of the same operator if it is small. Waits
  /// for a second task only as long as the options allow, and leaves work for other waiting takers.
  std::vector<std::unique_ptr<Task>> NextBatch(int device, bool is_spare) override ABSL_LOCKS_EXCLUDED(mutex_);

  /// The devices with no work of this queue; none while requests wait.
  uint64_t IdleDevices() const ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t waiting_requests() const ABSL_LOCKS_EXCLUDED(mutex_);
  /// How long the oldest request of a priority has waited; 0 if none waits.
  double AgeSeconds(TaskPriority priority) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// The learned rate of an operator; 0 if unknown.
  double EstimatedBytesPerSecond(Operator op) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A batch that a taker holds.
  class Batch;
  // The state of a waiting taker.
  struct Taker;

  absl::Status Refuse(Refusal reason, absl::Status status) const;
  // Sets what counts of the task's need, and removes devices whose budget is smaller.
  absl::Status FindMemory(Task& task) const;
  void SetRefusal(const absl::Status& refusal, Refusal reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the queue accepts tasks of this kind at all.
  absl::Status CheckOpen(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RunOnHost(std::unique_ptr<Task>& task) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Enqueue(std::unique_ptr<Task>& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a request takes of the queue.
  struct Demand {
    TaskPriority priority;
    int64_t bytes;
    absl::string_view tenant;
    TaskPriority waits_as = priority;  // whose line decides how long it waits
  };
  static Demand DemandOf(const Task& task) {
    return {task.request.priority, task.request.bytes, task.request.caller->tenant};
  }
  absl::Status CheckRoom(const Demand& demand) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTenantRoom(const Demand& demand, int64_t free_requests, int64_t free_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckInTime(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Cost of the tasks ahead of a task like this one.
  double CostAhead(const Demand& demand) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Estimated time until the first batch on these devices ends.
  absl::Duration SoonestEnd(uint64_t devices, Instant now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FairLine& LineOf(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lines_[static_cast<size_t>(task.request.priority)];
  }
  // Whether the task leaves its taker soon; always true without leaves_a_taker.
  bool IsBrief(const Task& task) const {
    return !options_.leaves_a_taker || (task.plan.is_small() && !task.plan.operation->waits_for_caller());
  }
  int device_count() const { return devices_ == nullptr ? 1 : devices_->size(); }
  uint64_t live() const { return devices_ == nullptr ? ~uint64_t{0} : devices_->live(); }
  bool ShouldRun(int device, uint64_t devices) const {
    return devices_ == nullptr ? (devices >> device & 1) != 0 : devices_->ShouldRun(device, devices);
  }
  // Whether no device is lost that the task cannot do without. `live`: the others.
  static bool CanRun(const Task& task, uint64_t live) {
    return (task.plan.devices & live) != 0 && (task.plan.shard_devices & ~live) == 0;
  }
  // The device with the least work in progress that can run the task on this thread; -1: none.
  int DirectDevice(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int WaitingTakers(uint64_t devices) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the tenant of a task may have one more taker for it.
  bool MayHave(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Further batches of small tasks that takers of these devices may have.
  int FreeSmallTakers(uint64_t devices) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task that the device runs next; none if no waiting task may run on it now.
  FairLine::Place Next(int device, FairLine** line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOver(int device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for companions of the first task if the options allow. False if it did wait: everything may have changed.
  bool Gather(const Task& first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t MostForOne(const Task& first) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountBatch(uint64_t devices, int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndBatch(Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the waiting tasks that `is_taken` names out of the queue. The caller drops them without the lock.
  std::vector<std::unique_ptr<Task>> TakeOut(absl::FunctionRef<bool(const Task&)> is_taken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(int64_t requests, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sweeps at every deadline of a waiting task.
  void WatchDeadlines() ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const Clock* const clock_;
  Metrics* const metrics_;
  DeviceMemory* const memory_;
  const DeviceSet* const devices_;

  template <typename T>
  using PerDevice = std::array<T, DeviceSet::kMaxDevices>;
  PerDevice<Runner> direct_runners_{};
  bool has_direct_runner_ = false;
  Runner host_runner_;

  mutable absl::Mutex mutex_;
  std::vector<FairLine> lines_ ABSL_GUARDED_BY(mutex_);  // by priority
  int64_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t small_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t small_request_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  PerDevice<std::vector<const Taker*>> waiting_takers_ ABSL_GUARDED_BY(mutex_);  // spares after the others
  uint64_t direct_devices_ ABSL_GUARDED_BY(mutex_) = 0;                          // devices that run a request directly
  PerDevice<int> small_batches_ ABSL_GUARDED_BY(mutex_){};                       // held by takers
  PerDevice<int> batch_counts_ ABSL_GUARDED_BY(mutex_){};                        // of all sizes
  std::vector<const Batch*> batches_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> held_ ABSL_GUARDED_BY(mutex_);  // long-running batches by tenant
  DrainRate rate_ ABSL_GUARDED_BY(mutex_);
  Caution caution_ ABSL_GUARDED_BY(mutex_);
  WorkTimes times_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // not OK: closed
  std::atomic<bool> is_open_{true};               // while refusal_ is OK
  Refusal refusal_reason_ ABSL_GUARDED_BY(mutex_) = Refusal::kDraining;
  // No waiting task has an earlier deadline. The timer sleeps until then.
  Instant wake_ ABSL_GUARDED_BY(mutex_) = kForever;
  bool wake_changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread timer_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_SCHEDULER_H_
