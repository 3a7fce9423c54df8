#include "server/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/base/steady_wait.h"
#include "server/run/device_watch.h"
#include "server/schedule/request_cost.h"

namespace corank {
namespace {

// The part of a limit that requests of this priority and of lower ones may take together.
int64_t ShareOf(TaskPriority priority, int64_t bound) {
  if (priority == TaskPriority::kHigh) return bound;
  return priority == TaskPriority::kNormal ? bound - bound / 8 : bound - bound / 2;
}

const char* PriorityName(TaskPriority priority) {
  constexpr const char* kNames[kTaskPriorities] = {"high", "normal", "low"};
  return kNames[static_cast<int>(priority)];
}

// Names the full part of the queue to callers of this priority.
std::string Full(TaskPriority priority) {
  return priority == TaskPriority::kHigh
             ? "the queue is full: "
             : absl::StrCat("the queue is full for requests of ", PriorityName(priority), " priority: ");
}

}  // namespace

Scheduler::Scheduler(const Options& options, const Clock* clock, Metrics* metrics, DeviceMemory* memory,
                     const DeviceSet* devices)
    : options_(options), clock_(clock), metrics_(metrics), memory_(memory), devices_(devices), timer_([this] {
        WatchDeadlines();
      }) {
  {
    absl::MutexLock lock(&mutex_);
    for (int i = 0; i < kTaskPriorities; ++i) lines_.emplace_back(&options_.weights);
  }
  // Takers check again when the lock is released.
  if (memory_ != nullptr) memory_->Listen(this, [this] { absl::MutexLock look_again(&mutex_); });
}

Scheduler::~Scheduler() {
  Abort(RetryLater(v1::ERROR_REASON_DRAINING, "the server ended", absl::ZeroDuration()));
  if (memory_ != nullptr) memory_->StopListening(this);
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  timer_.join();
}

absl::Status Scheduler::Submit(std::unique_ptr<Task>&& task) {
  const Instant now = clock_->Now();
  CORANK_RETURN_IF_ERROR(task->request.CheckWanted(now));
  const Operator op = task->plan.operation->op();
  if (task->plan.strategy == Strategy::kHost && host_runner_ != nullptr) return RunOnHost(task);
  const bool is_tiny = has_direct_runner_ && task->plan.is_small() && task->request.bytes <= options_.direct_bytes;
  if (memory_ != nullptr) {
    if (absl::Status found = FindMemory(*task); !found.ok()) return Refuse(Refusal::kMemory, std::move(found));
  }
  const int64_t work_bytes = task->plan.work_bytes;
  int device = -1;
  {
    absl::MutexLock lock(&mutex_);
    CORANK_RETURN_IF_ERROR(CheckOpen(*task));
    if (absl::Status in_time = CheckInTime(*task); !in_time.ok()) return Refuse(Refusal::kLate, std::move(in_time));
    if (requests_ == 0 && is_tiny) device = DirectDevice(*task);
    if (device < 0) return Enqueue(task);
    direct_devices_ |= DeviceSet::Only(device);
  }
  metrics_->ObserveBatch(op, 1, task->request.bytes);
  direct_runners_[static_cast<size_t>(device)](std::move(task));
  absl::MutexLock lock(&mutex_);
  direct_devices_ &= ~DeviceSet::Only(device);
  const Instant ended = clock_->Now();
  times_.Learn(op, work_bytes, absl::Nanoseconds(Nanoseconds(now, ended)), ended);
  return absl::OkStatus();
}

absl::Status Scheduler::CheckOpen(const Task& task) const {
  if (!refusal_.ok()) return Refuse(refusal_reason_, refusal_);
  if (!CanRun(task, live())) return Refuse(Refusal::kDeviceLost, DeviceLost(live() != 0));
  return absl::OkStatus();
}

absl::Status Scheduler::RunOnHost(std::unique_ptr<Task>& task) {
  // Checked without the lock, because releasing the lock makes every taker check whether it may continue.
  if (!is_open_.load(std::memory_order_acquire) || (task->plan.devices & live()) == 0) {
    absl::MutexLock lock(&mutex_);
    CORANK_RETURN_IF_ERROR(CheckOpen(*task));
  }
  metrics_->CountHostRequest(task->plan.operation->op());
  host_runner_(std::move(task));
  return absl::OkStatus();
}

absl::Status Scheduler::FindMemory(Task& task) const {
  const uint64_t candidates = (task.plan.devices | task.plan.shard_devices) & live();
  const auto& plan_needs = task.plan.need.device_bytes;
  if (!CanRun(task, live())) return absl::OkStatus();  // the caller is told elsewhere
  if (plan_needs.empty() && task.plan.need.host_bytes == 0) return absl::OkStatus();
  absl::InlinedVector<int64_t, 1> needs(static_cast<size_t>(device_count()));
  int64_t most = 0;
  uint64_t devices = 0;
  for (int i = 0; i < device_count(); ++i) {
    if ((candidates & DeviceSet::Only(i)) == 0) continue;
    int64_t& need = needs[static_cast<size_t>(i)];
    if (!plan_needs.empty()) need = memory_->Counted(plan_needs[static_cast<size_t>(i)]);
    most = std::max(most, memory_->limit_bytes(i));
    if (need <= memory_->limit_bytes(i)) devices |= DeviceSet::Only(i);
  }
  // One need for all devices: drop devices whose limit is below the largest remaining need.
  int64_t need = 0;
  for (uint64_t before = 0; before != devices;) {
    before = devices;
    need = 0;
    for (int i = 0; i < device_count(); ++i) {
      if ((devices & DeviceSet::Only(i)) != 0) need = std::max(need, needs[static_cast<size_t>(i)]);
    }
    for (int i = 0; i < device_count(); ++i) {
      if (memory_->limit_bytes(i) < need) devices &= ~DeviceSet::Only(i);
    }
  }
  if ((task.plan.devices & devices) == 0 || (task.plan.shard_devices & ~devices) != 0) {
    need = *std::max_element(needs.begin(), needs.end());
    // Do not advise a stream to use a stream.
    const bool gathers = task.plan.shard_devices != 0 && task.plan.strategy == Strategy::kDevice;
    const char* advice = task.plan.operation->waits_for_caller() ? "" : ", or use a stream (Execute)";
    if (gathers) {
      advice =
          "; one device brings sharded arrays together: fetch them, or keep all results sharded if the operator is a "
          "sort, a merge or one on intervals";
    }
    return TooLargeField("request",
                         absl::StrCat("needs ", need, " bytes of device memory, but --device-budget-bytes is ", most,
                                      "; send less at a time", advice));
  }
  const int64_t host_need = memory_->Counted(task.plan.need.host_bytes);
  if (host_need > memory_->host_limit_bytes()) {
    return TooLargeField(
        "request", absl::StrCat("needs ", host_need, " bytes of pinned memory, but all running ",
                                "requests together may have ", memory_->host_limit_bytes(), "; send less at a time"));
  }
  task.plan.devices &= devices;
  task.device_bytes = need;
  task.host_bytes = host_need;
  return absl::OkStatus();
}

int Scheduler::DirectDevice(const Task& task) const {
  int best = -1;
  for (int i = 0; i < device_count(); ++i) {
    const auto index = static_cast<size_t>(i);
    if (direct_runners_[index] == nullptr || (direct_devices_ & DeviceSet::Only(i)) != 0) continue;
    if (!ShouldRun(i, task.plan.devices)) continue;
    if (best < 0 || batch_counts_[index] < batch_counts_[static_cast<size_t>(best)]) best = i;
  }
  return best;
}

absl::Status Scheduler::Refuse(Refusal reason, absl::Status status) const {
  metrics_->CountRefusal(reason);
  return status;
}

absl::Status Scheduler::Enqueue(std::unique_ptr<Task>& task) {
  CORANK_RETURN_IF_ERROR(CheckRoom(DemandOf(*task)));
  Count(1, task->request.bytes);
  if (task->plan.is_small()) {
    ++small_requests_;
    small_request_bytes_ += task->request.bytes;
  }
  task->queued = clock_->Now();
  if (task->request.deadline < wake_) {
    wake_ = task->request.deadline;
    wake_changed_ = true;
  }
  FairLine& line = LineOf(*task);
  line.Push(std::move(task));
  return absl::OkStatus();
}

absl::Status Scheduler::CheckRoom(absl::string_view tenant, int64_t bytes) const {
  absl::MutexLock lock(&mutex_);
  return CheckRoom({TaskPriority::kHigh, bytes, tenant, TaskPriority::kLow});
}

absl::Status Scheduler::CheckRoom(const Demand& demand) const {
  int64_t requests = 0;  // of this priority and of lower ones
  int64_t bytes = 0;
  for (size_t i = static_cast<size_t>(demand.priority); i < lines_.size(); ++i) {
    requests += lines_[i].requests();
    bytes += lines_[i].bytes();
  }
  const int64_t most_requests = ShareOf(demand.priority, options_.max_requests);
  // One request may always wait; only the limit of all applies to it.
  const int64_t most_bytes = requests == 0 ? options_.max_bytes : ShareOf(demand.priority, options_.max_bytes);
  const int64_t free_requests = std::min(most_requests - requests, options_.max_requests - requests_);
  const int64_t free_bytes = std::min(most_bytes - bytes, options_.max_bytes - bytes_);
  const bool requests_full = free_requests <= 0;
  if (requests_full || demand.bytes > free_bytes) {
    const std::string what = requests_full
                                 ? absl::StrCat(requests, " requests are waiting, and the limit is ", most_requests)
                                 : absl::StrCat(bytes, " bytes of requests are waiting, and the limit is ", most_bytes);
    return Refuse(
        requests_full ? Refusal::kQueueRequests : Refusal::kQueueBytes,
        RetryLater(v1::ERROR_REASON_QUEUE_FULL, Full(demand.priority) + what, rate_.RetryDelay(CostAhead(demand))));
  }
  return CheckTenantRoom(demand, free_requests, free_bytes);
}

absl::Status Scheduler::CheckTenantRoom(const Demand& demand, int64_t free_requests, int64_t free_bytes) const {
  const absl::string_view tenant = demand.tenant;
  int64_t requests = 0;
  int64_t bytes = 0;
  for (const FairLine& line : lines_) {
    requests += line.tenant_requests(tenant);
    bytes += line.tenant_bytes(tenant);
  }
  if (requests == 0) return absl::OkStatus();
  const auto full = [&](Refusal reason, int64_t used, absl::string_view of, absl::string_view why) {
    return Refuse(reason,
                  RetryLater(v1::ERROR_REASON_QUOTA_EXCEEDED,
                             absl::StrCat("this tenant's part of the queue is full: ", used, of, " are waiting, ", why),
                             rate_.RetryDelay(CostAhead(demand))));
  };
  if (options_.tenant_max_requests > 0 && requests >= options_.tenant_max_requests) {
    return full(Refusal::kTenantRequests, requests, " requests",
                absl::StrCat("and the limit is ", options_.tenant_max_requests));
  }
  if (options_.tenant_max_bytes > 0 && demand.bytes > options_.tenant_max_bytes - bytes) {
    return full(Refusal::kTenantBytes, bytes, " bytes", absl::StrCat("and the limit is ", options_.tenant_max_bytes));
  }
  if (tenant.empty()) return absl::OkStatus();
  constexpr char kLeft[] = "and the rest is for other tenants";
  const int64_t share = options_.tenant_share_of_free;
  if (requests / share >= free_requests) return full(Refusal::kTenantRequests, requests, " requests", kLeft);
  if ((bytes + demand.bytes) / share > free_bytes - demand.bytes) {
    return full(Refusal::kTenantBytes, bytes, " bytes", kLeft);
  }
  return absl::OkStatus();
}

double Scheduler::CostAhead(const Demand& demand) const {
  const auto line = static_cast<size_t>(demand.waits_as);
  double cost = lines_[line].CostAhead(demand.tenant);
  for (size_t i = 0; i < line; ++i) cost += lines_[i].cost();
  return cost;
}

absl::Status Scheduler::CheckInTime(const Task& task) const {
  if (task.request.deadline == kForever) return absl::OkStatus();
  const Instant now = clock_->Now();
  const absl::Duration left = absl::Nanoseconds(Nanoseconds(now, task.request.deadline));
  absl::Duration wait = absl::ZeroDuration();
  if (requests_ > 0) wait = rate_.Time(CostAhead(DemandOf(task)));
  if (WaitingTakers(task.plan.devices) == 0) wait = (wait + SoonestEnd(task.plan.devices, now)) * caution_.Factor(now);
  const absl::Duration own =
      times_.Estimate(task.plan.operation->op(), task.plan.work_bytes, now).value_or(absl::ZeroDuration());
  if (wait + own <= left) return absl::OkStatus();
  const auto rounded = [](absl::Duration time) {
    return absl::FormatDuration(absl::Trunc(time, absl::Microseconds(1)));
  };
  if (own > left) {
    return Error(v1::ERROR_REASON_DEADLINE_UNREACHABLE,
                 absl::StrCat("the deadline is in ", rounded(left), ", but the work alone takes an estimated ",
                              rounded(own), "; allow more time, or send less at once"));
  }
  return RetryLater(
      v1::ERROR_REASON_DEADLINE_UNREACHABLE,
      absl::StrCat("the deadline is in ", rounded(left), ", but the estimated time is ", rounded(wait + own), ": ",
                   rounded(wait), " in the queue and ", rounded(own), " of work; allow more time, or try again later"),
      wait + own - left);
}

void Scheduler::Sweep() {
  std::vector<std::unique_ptr<Task>> dropped;
  const Instant now = clock_->Now();
  {
    absl::MutexLock lock(&mutex_);
    dropped = TakeOut([now](const Task& task) { return !task.request.CheckWanted(now).ok(); });
    for (const std::unique_ptr<Task>& task : dropped) {
      if (task->request.IsLate(now)) caution_.Late(now);
    }
    wake_ = kForever;
    for (const FairLine& line : lines_) wake_ = std::min(wake_, line.EarliestDeadline());
  }
  for (const std::unique_ptr<Task>& task : dropped) {
    metrics_->CountCancelled(Stage::kCopyIn);
    task->Drop(task->request.CheckWanted(now));
  }
}

void Scheduler::WatchDeadlines() {
  const auto changed = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return wake_changed_ || ended_; };
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      const Instant now = clock_->Now();
      if (ended_) return;
      if (wake_ > now) {
        const absl::Duration left =
            wake_ == kForever ? absl::InfiniteDuration() : absl::Nanoseconds(Nanoseconds(now, wake_));
        AwaitSteadily(&mutex_, absl::Condition(&changed), left);
        wake_changed_ = false;
        continue;
      }
    }
    Sweep();
  }
}

void Scheduler::SetRefusal(const absl::Status& refusal, Refusal reason) {
  refusal_ = refusal;
  refusal_reason_ = reason;
  is_open_.store(refusal.ok(), std::memory_order_release);
}

void Scheduler::Close(const absl::Status& refusal, Refusal reason) {
  absl::MutexLock lock(&mutex_);
  SetRefusal(refusal, reason);
}

void Scheduler::Abort(const absl::Status& refusal, Refusal reason) {
  std::vector<std::unique_ptr<Task>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    SetRefusal(refusal, reason);
    dropped = TakeOut([](const Task&) { return true; });
  }
  for (const std::unique_ptr<Task>& task : dropped) task->Drop(refusal);
}

void Scheduler::DevicesChanged() {
  std::vector<std::unique_ptr<Task>> dropped;
  uint64_t live = 0;
  {
    absl::MutexLock lock(&mutex_);
    live = this->live();
    dropped = TakeOut([live](const Task& task) { return !CanRun(task, live); });
  }
  for (const std::unique_ptr<Task>& task : dropped) task->Drop(DeviceLost(live != 0));
}

int64_t Scheduler::waiting_requests() const {
  absl::MutexLock lock(&mutex_);
  return requests_;
}

double Scheduler::AgeSeconds(TaskPriority priority) const {
  absl::MutexLock lock(&mutex_);
  const Instant oldest = lines_[static_cast<size_t>(priority)].OldestArrival();
  return oldest == kForever ? 0 : static_cast<double>(Nanoseconds(oldest, clock_->Now())) * 1e-9;
}

double Scheduler::EstimatedBytesPerSecond(Operator op) const {
  absl::MutexLock lock(&mutex_);
  return times_.BytesPerSecond(op);
}

void Scheduler::Leave(const Task& task) {
  Count(-1, -task.request.bytes);
  if (!task.plan.is_small()) return;
  --small_requests_;
  small_request_bytes_ -= task.request.bytes;
}

std::vector<std::unique_ptr<Task>> Scheduler::TakeOut(absl::FunctionRef<bool(const Task&)> is_taken) {
  std::vector<std::unique_ptr<Task>> taken;
  for (FairLine& line : lines_) {
    for (std::unique_ptr<Task>& task : line.Remove(is_taken)) {
      Leave(*task);
      taken.push_back(std::move(task));
    }
  }
  return taken;
}

void Scheduler::Count(int64_t requests, int64_t bytes) {
  requests_ += requests;
  bytes_ += bytes;
  metrics_->AddQueued(requests, bytes);
}

}  // namespace corank
