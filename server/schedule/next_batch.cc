// How takers get work from the queue.
#include <algorithm>
#include <string>

#include "server/base/steady_wait.h"
#include "server/schedule/request_cost.h"
#include "server/schedule/scheduler.h"

namespace corank {

class Scheduler::Batch final : public BatchReport {
 public:
  Batch(Scheduler* queue, int device) : queue_(queue), device(device) {}
  ~Batch() override { queue_->EndBatch(*this); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

 private:
  Scheduler* const queue_;

 public:
  const int device;      // that took it
  uint64_t devices = 0;  // that work on it
  Operator op = Operator::kSort;
  std::string tenant;
  bool is_small = false;
  bool is_brief = false;
  bool waits_for_caller = false;
  int tasks = 0;
  int64_t work_bytes = 0;
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  Instant taken;
  absl::Duration estimate;  // zero: unknown
};

struct Scheduler::Taker {
  Scheduler* queue;
  int device;
  bool is_spare;
  bool gathers = false;                            // has found work, and waits for more
  bool MayGoOn() ABSL_NO_THREAD_SAFETY_ANALYSIS {  // called with the lock
    // The taker that came last goes first: its streams still have their memory, and idle ones can free theirs.
    const auto& takers = queue->waiting_takers_[static_cast<size_t>(device)];
    const auto goes_first = [](const Taker* taker) { return !taker->gathers; };
    if (*std::find_if(takers.rbegin(), takers.rend(), goes_first) != this) return false;
    FairLine* line = nullptr;
    return queue->Next(device, &line) || queue->IsOver(device);
  }
};

FairLine::Place Scheduler::Next(int device, FairLine** line) {
  const auto fits = [this, device](const Task& task) {
    return memory_->Fits(task.plan.DevicesFrom(device), task.device_bytes, task.host_bytes);
  };
  const auto may_take = [this, device](uint64_t devices) { return ShouldRun(device, devices); };
  const auto may_have = [this](const Task& task) ABSL_NO_THREAD_SAFETY_ANALYSIS { return MayHave(task); };
  bool heavy_waits = false;
  for (FairLine& candidate : lines_) {
    const FairLine::Place place = candidate.First(may_take, may_have, fits, &heavy_waits);
    if (!place) continue;
    *line = &candidate;
    const bool may_have_it =
        !place->plan.is_small() || options_.small_takers == 0 || FreeSmallTakers(DeviceSet::Only(device)) > 0;
    return may_have_it ? place : FairLine::Place();
  }
  return FairLine::Place();
}

bool Scheduler::MayHave(const Task& task) const {
  if (IsBrief(task) || task.request.caller->tenant.empty() || !held_.contains(task.request.caller->tenant)) return true;
  size_t waiting = 0;
  for (const auto& takers : waiting_takers_) waiting += takers.size();
  return waiting > 1;
}

bool Scheduler::IsOver(int device) const {
  if ((live() & DeviceSet::Only(device)) == 0) return true;
  // Counts work that this device now leaves to others, because those may be lost.
  const auto may_take = [device](uint64_t devices) { return (devices & DeviceSet::Only(device)) != 0; };
  return !refusal_.ok() && std::none_of(lines_.begin(), lines_.end(),
                                        [&may_take](const FairLine& line) { return line.HasTaskFor(may_take); });
}

int Scheduler::WaitingTakers(uint64_t devices) const {
  int takers = 0;
  for (int i = 0; i < device_count(); ++i) {
    if (ShouldRun(i, devices)) takers += static_cast<int>(waiting_takers_[static_cast<size_t>(i)].size());
  }
  return takers;
}

int Scheduler::FreeSmallTakers(uint64_t devices) const {
  int free = 0;
  for (int i = 0; i < device_count(); ++i) {
    if (!ShouldRun(i, devices)) continue;
    free += std::max(0, options_.small_takers - small_batches_[static_cast<size_t>(i)]);
  }
  return free;
}

bool Scheduler::IsFull() const {
  return small_requests_ >= options_.batch_requests || small_request_bytes_ >= options_.batch_bytes;
}

bool Scheduler::Gather(const Task& first) {
  if (options_.batch_delay <= absl::ZeroDuration() || !first.plan.is_small() || IsFull() || !refusal_.ok()) return true;
  const absl::Duration waited = absl::Nanoseconds(Nanoseconds(first.queued, clock_->Now()));
  if (waited >= options_.batch_delay) return true;
  const auto changed = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsFull() || !refusal_.ok() || small_requests_ == 0;
  };
  AwaitSteadily(&mutex_, absl::Condition(&changed), options_.batch_delay - waited);
  return false;
}

int64_t Scheduler::MostForOne(const Task& first) const {
  // An idle lane should get a share of a burst before one lane works through all of it.
  int64_t others = WaitingTakers(first.plan.devices);
  if (first.plan.is_small() && options_.small_takers > 0) {
    others = std::min<int64_t>(others, std::max(0, FreeSmallTakers(first.plan.devices) - 1));
  }
  return std::min<int64_t>(options_.batch_requests, (requests_ + others) / (others + 1));
}

std::vector<std::unique_ptr<Task>> Scheduler::NextBatch(int device, bool is_spare) {
  std::vector<std::unique_ptr<Task>> taken;
  auto batch = std::make_shared<Batch>(this, device);  // ends without the lock
  absl::MutexLock lock(&mutex_);
  FairLine* line = nullptr;
  FairLine::Place place;
  Taker taker{this, device, is_spare};
  std::vector<const Taker*>& waiting = waiting_takers_[static_cast<size_t>(device)];
  const auto stays = [](const Taker* other) { return !other->is_spare; };
  // Spares are the last ones, so that they go first, and end.
  waiting.insert(is_spare ? waiting.end() : std::find_if(waiting.rbegin(), waiting.rend(), stays).base(), &taker);
  do {
    taker.gathers = false;
    mutex_.Await(absl::Condition(&taker, &Taker::MayGoOn));
    place = Next(device, &line);
    taker.gathers = true;
    if (!place) break;
  } while (!Gather(*place) || (place->is_heavy() && !memory_->Take(place->plan.DevicesFrom(device), place->device_bytes,
                                                                   place->host_bytes)));
  waiting.erase(std::find(waiting.begin(), waiting.end(), &taker));
  if (!place) return taken;
  batch->devices = place->plan.DevicesFrom(device);
  batch->op = place->plan.operation->op();
  batch->is_small = place->plan.is_small();
  batch->waits_for_caller = place->plan.operation->waits_for_caller();
  batch->tenant = place->request.caller->tenant;
  batch->is_brief = IsBrief(*place);
  if (!batch->is_brief) ++held_[batch->tenant];
  batch->device_bytes = place->device_bytes;
  batch->host_bytes = place->host_bytes;
  const int64_t most = MostForOne(*place);
  const auto joins = [](const Task& first, const Task& next) {
    return first.plan.is_small() && next.plan.is_small() && first.plan.operation->op() == next.plan.operation->op();
  };
  double cost = 0;
  int64_t bytes = 0;
  do {
    taken.push_back(line->Take(place));
    Task& task = *taken.back();
    Leave(task);
    task.batch = batch;
    bytes += task.request.bytes;
    cost += RequestCost(task.plan.work_bytes);
    batch->work_bytes += task.plan.work_bytes;
    if (static_cast<int64_t>(taken.size()) >= most) break;
    bool no_heavy = true;  // a heavy task never joins a batch
    place = line->First([this, device](uint64_t devices) { return ShouldRun(device, devices); },
                        [](const Task&) { return true; }, [](const Task&) { return false; }, &no_heavy);
  } while (place && place->request.bytes <= options_.batch_bytes - bytes && joins(*taken.front(), *place));
  batch->tasks = static_cast<int>(taken.size());
  batch->taken = clock_->Now();
  batch->estimate =
      times_.Estimate(batch->op, batch->work_bytes / batch->tasks, batch->taken).value_or(absl::ZeroDuration()) *
      batch->tasks;
  rate_.Leave(cost, batch->taken, requests_ > 0);
  batches_.push_back(batch.get());
  CountBatch(batch->devices, 1);
  if (batch->is_small) ++small_batches_[static_cast<size_t>(device)];
  metrics_->ObserveBatch(batch->op, batch->tasks, bytes);
  return taken;
}

void Scheduler::CountBatch(uint64_t devices, int change) {
  for (int i = 0; i < device_count(); ++i) {
    if ((devices & DeviceSet::Only(i)) != 0) batch_counts_[static_cast<size_t>(i)] += change;
  }
}

uint64_t Scheduler::IdleDevices() const {
  absl::MutexLock lock(&mutex_);
  uint64_t idle = 0;
  for (int i = 0; i < device_count() && requests_ == 0; ++i) {
    if (batch_counts_[static_cast<size_t>(i)] == 0 && ShouldRun(i, DeviceSet::Only(i))) idle |= DeviceSet::Only(i);
  }
  return idle;
}

absl::Duration Scheduler::SoonestEnd(uint64_t devices, Instant now) const {
  absl::Duration soonest = absl::InfiniteDuration();
  for (const Batch* const batch : batches_) {
    if ((devices & batch->devices) == 0) continue;
    const absl::Duration left = batch->estimate - absl::Nanoseconds(Nanoseconds(batch->taken, now));
    soonest = std::min(soonest, std::max(left, absl::ZeroDuration()));
  }
  return soonest == absl::InfiniteDuration() ? absl::ZeroDuration() : soonest;
}

void Scheduler::EndBatch(Batch& batch) {
  if (batch.tasks == 0) return;  // a taker that was released
  if (batch.device_bytes > 0 || batch.host_bytes > 0) {
    memory_->GiveBack(batch.devices, batch.device_bytes, batch.host_bytes);
  }
  absl::MutexLock lock(&mutex_);
  batches_.erase(std::find(batches_.begin(), batches_.end(), &batch));
  CountBatch(batch.devices, -1);
  if (batch.is_small) --small_batches_[static_cast<size_t>(batch.device)];
  if (!batch.is_brief && --held_[batch.tenant] == 0) held_.erase(batch.tenant);
  if (batch.was_late()) caution_.Late(clock_->Now());
  // Dropped or failed work says nothing about its duration, a stream measures its caller, and several devices are
  // faster than the one that later work may get.
  const bool is_typical = !batch.waits_for_caller && batch.devices == DeviceSet::Only(batch.device);
  if (batch.served() == batch.tasks && is_typical) {
    const Instant now = clock_->Now();
    const absl::Duration time = absl::Nanoseconds(Nanoseconds(batch.taken, now));
    times_.Learn(batch.op, batch.work_bytes / batch.tasks, time / batch.tasks, now);
  }
}

}  // namespace corank
