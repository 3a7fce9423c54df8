#include "server/run/lane_pool.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/base/steady_wait.h"

namespace corank {
namespace {

// How long a request waits for memory that other requests of this server hold.
constexpr absl::Duration kMemoryPatience = absl::Seconds(1);

// Whether the device's memory is full. Waiting does not help where a quota of the caller is full.
bool IsShortOfMemory(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return false;
  const v1::ErrorReason reason = ReasonOf(status);
  return reason == v1::ERROR_REASON_UNSPECIFIED || reason == v1::ERROR_REASON_MEMORY_FULL;
}

}  // namespace

// The streams of one lane, which one task after another uses.
class LanePool::LaneStreams final : public Lane {
 public:
  LaneStreams(LanePool* pool, std::unique_ptr<EngineStream> stream) : pool_(pool), stream_(std::move(stream)) {}

  void set_task(const Task* task) {
    task_ = task;
    was_used_ = true;
  }
  // Held while the lane works.
  absl::Mutex& works() { return works_; }
  void Trim(Idle idle) {
    if (!works_.TryLock()) return;
    const bool was_used = std::exchange(was_used_, false);
    if (idle == Idle::kNow || !was_used) Free();
    works_.Unlock();
  }
  // While the lane works, but nothing on its streams.
  void Free() {
    ForEachStream([](EngineStream& stream) { stream.Trim(); });
  }
  // Nobody uses the results of the last work any more.
  void End() {
    ForEachStream([](EngineStream& stream) { stream.End(); });
  }

  EngineStream& stream() override { return *stream_; }
  Engine& engine() override { return *pool_->engine_; }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override {
    while (static_cast<size_t>(i) >= extra_.size()) {
      CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, pool_->engine_->CreateStream());
      extra_.push_back(std::move(stream));
    }
    return extra_[static_cast<size_t>(i)].get();
  }
  absl::StatusOr<EngineStream*> StreamOn(int device, int i) override {
    if (device == pool_->options_.device) return Lane::StreamOn(device, i);
    std::unique_ptr<EngineStream>& stream = elsewhere_[{device, i}];
    if (stream == nullptr) {
      CORANK_ASSIGN_OR_RETURN(stream, pool_->options_.devices->engine(device).CreateStream());
    }
    return stream.get();
  }
  absl::Status CheckWanted() override {
    const DeviceWatch* const watch = pool_->options_.watch;
    if (watch != nullptr && watch->lost()) return watch->Lost();
    return task_->request.CheckWanted(pool_->clock_->Now());
  }
  void SetStalled(bool stalled) override { pool_->SetStalled(stalled); }

 private:
  template <typename Fn>
  void ForEachStream(const Fn& fn) {
    fn(*stream_);
    for (const std::unique_ptr<EngineStream>& stream : extra_) fn(*stream);
    for (const auto& [place, stream] : elsewhere_) {
      if (stream != nullptr) fn(*stream);
    }
  }

  LanePool* const pool_;
  const std::unique_ptr<EngineStream> stream_;
  std::vector<std::unique_ptr<EngineStream>> extra_;
  std::map<std::pair<int, int>, std::unique_ptr<EngineStream>> elsewhere_;  // by device and number
  const Task* task_ = nullptr;
  absl::Mutex works_;
  bool was_used_ = false;  // since the last Trim; under works_
};

absl::StatusOr<std::unique_ptr<LanePool>> LanePool::Create(Options options, Engine* engine, WorkSource* source,
                                                           const Clock* clock, Metrics* metrics, const Logger* logger) {
  const int lanes = options.lanes;
  std::unique_ptr<LanePool> pool(new LanePool(std::move(options), engine, source, clock, metrics, logger));
  for (int i = 0; i < lanes; ++i) {
    CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, engine->CreateStream());
    pool->lanes_.push_back(std::make_unique<LaneStreams>(pool.get(), std::move(stream)));
  }
  CORANK_ASSIGN_OR_RETURN(LaneStreams* const direct,
                          pool->TakeDirectLane());  // the first stream, so that no request waits for it
  pool->PutBackDirectLane(direct);
  for (const auto& lane : pool->lanes_) {
    pool->threads_.emplace_back([pool = pool.get(), lane = lane.get()] { pool->RunLane(*lane); });
  }
  return pool;
}

LanePool::LanePool(Options options, Engine* engine, WorkSource* source, const Clock* clock, Metrics* metrics,
                   const Logger* logger)
    : options_(std::move(options)),
      engine_(engine),
      info_(engine->info()),
      source_(source),
      clock_(clock),
      metrics_(metrics),
      logger_(logger) {}

LanePool::~LanePool() {
  for (std::thread& thread : threads_) thread.join();
  for (;;) {
    std::vector<std::thread> spares;
    {
      absl::MutexLock lock(&mutex_);
      spares.swap(spare_threads_);
    }
    if (spares.empty()) return;
    for (std::thread& spare : spares) spare.join();  // each may have started another
  }
}

bool LanePool::RunNext(LaneStreams& lane, bool is_spare) {
  auto batch = source_->NextBatch(options_.device, is_spare);  // released after each turn, before the next batch
  if (batch.empty()) return false;
  metrics_->AddBusyLanes(options_.kind, 1);
  {
    absl::MutexLock works(&lane.works());
    RunBatch(lane, batch);
    lane.End();
  }
  metrics_->AddBusyLanes(options_.kind, -1);
  return true;
}

void LanePool::RunLane(LaneStreams& lane) {
  while (RunNext(lane, /*is_spare=*/false)) {
  }
}

void LanePool::RunSpare() {
  absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine_->CreateStream();
  if (!stream.ok()) {
    logger_->Log(LogLevel::kWarning, "no_spare_lane", {{"message", std::string(stream.status().message())}});
  }
  std::shared_ptr<LaneStreams> lane;
  if (stream.ok()) {
    lane = std::make_shared<LaneStreams>(this, *std::move(stream));
    absl::MutexLock lock(&mutex_);
    spare_lanes_.insert(lane);
  }
  for (bool ends = false; !ends;) {
    const bool worked = lane != nullptr && RunNext(*lane, /*is_spare=*/true);
    absl::MutexLock lock(&mutex_);
    ends = !worked || stalled_ < spares_;
    if (ends) --spares_;  // now, so that no two spares end because of the same lane
    if (ends) spare_lanes_.erase(lane);
  }
  lane.reset();
  absl::MutexLock lock(&mutex_);
  ended_spares_.push_back(std::this_thread::get_id());
}

void LanePool::SetStalled(bool stalled) {
  std::vector<std::thread> ended;
  {
    absl::MutexLock lock(&mutex_);
    stalled_ += stalled ? 1 : -1;
    if (!stalled || spares_ >= std::min(stalled_, options_.spares)) return;
    const auto has_ended = [this](const std::thread& spare) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return std::find(ended_spares_.begin(), ended_spares_.end(), spare.get_id()) != ended_spares_.end();
    };
    const auto first = std::partition(spare_threads_.begin(), spare_threads_.end(),
                                      [&](const std::thread& spare) { return !has_ended(spare); });
    ended.assign(std::make_move_iterator(first), std::make_move_iterator(spare_threads_.end()));
    spare_threads_.erase(first, spare_threads_.end());
    ended_spares_.clear();
    try {
      spare_threads_.emplace_back([this] { RunSpare(); });
      ++spares_;
    } catch (const std::system_error&) {
      // This process can create no more threads. Waiting tasks continue to wait.
    }
  }
  for (std::thread& spare : ended) spare.join();
}

absl::StatusOr<LanePool::LaneStreams*> LanePool::TakeDirectLane() {
  {
    absl::MutexLock lock(&direct_mutex_);
    if (!free_direct_lanes_.empty()) {
      LaneStreams* const lane = free_direct_lanes_.back();
      free_direct_lanes_.pop_back();
      return lane;
    }
  }
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, engine_->CreateStream());
  absl::MutexLock lock(&direct_mutex_);
  return direct_lanes_.emplace_back(std::make_unique<LaneStreams>(this, std::move(stream))).get();
}

void LanePool::PutBackDirectLane(LaneStreams* lane) {
  absl::MutexLock lock(&direct_mutex_);
  free_direct_lanes_.push_back(lane);
}

void LanePool::RunDirectly(std::unique_ptr<Task> task) {
  const absl::StatusOr<LaneStreams*> lane = TakeDirectLane();
  if (!lane.ok()) return task->Drop(FromEngine(lane.status()));
  if (!options_.on_host) metrics_->AddBusyLanes(options_.kind, 1);
  {
    absl::MutexLock works(&(*lane)->works());
    RunTask(**lane, *task, 1);
    (*lane)->End();
  }
  if (!options_.on_host) metrics_->AddBusyLanes(options_.kind, -1);
  PutBackDirectLane(*lane);
}

void LanePool::RunBatch(LaneStreams& lane, std::vector<std::unique_ptr<Task>>& batch) {
  const auto size = static_cast<int>(batch.size());
  const bool together = options_.together.value_or(info_.kind == EngineKind::kCuda);
  const auto fuses = [&batch](size_t i) {
    return i + 1 < batch.size() && CanFuse(*batch[i]->plan.operation, *batch[i + 1]->plan.operation);
  };
  const auto joins = [&](size_t i) {
    return together && !fuses(i) && batch[i]->plan.is_small() && batch[i]->plan.operation->phased() != nullptr;
  };
  for (size_t i = 0, end = 0; i < batch.size(); i = end) {
    end = i + 1;
    const bool is_fused = fuses(i);
    while (end < batch.size() &&
           (is_fused ? CanFuse(*batch[i]->plan.operation, *batch[end]->plan.operation) : joins(i) && joins(end))) {
      ++end;
    }
    if (end == i + 1) {
      RunTask(lane, *batch[i], size);
    } else {
      RunMembers(lane, absl::MakeConstSpan(batch).subspan(i, end - i), size, is_fused ? ExecuteFused : ExecuteTogether);
    }
  }
}

void LanePool::Abandon(int device, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  for (Task* const task : on_lanes_) {
    if ((task->plan.DevicesFrom(options_.device) & DeviceSet::Only(device)) == 0) continue;
    if (!std::exchange(task->abandoned, true)) task->request.completion->Abandon(status);
  }
}

void LanePool::Trim(Idle idle) {
  for (const auto& lane : lanes_) lane->Trim(idle);
  std::vector<LaneStreams*> direct;                          // trimmed without the lock, like spares
  absl::flat_hash_set<std::shared_ptr<LaneStreams>> spares;  // they may end meanwhile
  {
    absl::MutexLock lock(&direct_mutex_);
    for (const auto& lane : direct_lanes_) direct.push_back(lane.get());
  }
  {
    absl::MutexLock lock(&mutex_);
    spares = spare_lanes_;
  }
  for (LaneStreams* const lane : direct) lane->Trim(idle);
  for (const std::shared_ptr<LaneStreams>& lane : spares) lane->Trim(idle);
}

void LanePool::Begin(Task& task, int batch_size, Outcome& outcome) {
  if (!options_.on_host) {
    absl::MutexLock lock(&mutex_);
    on_lanes_.insert(&task);
  }
  outcome.started = clock_->Now();
  outcome.stats.set_engine(info_.kind == EngineKind::kCuda ? v1::ENGINE_CUDA : v1::ENGINE_CPU);
  outcome.stats.set_device(info_.device);
  outcome.stats.set_device_ordinal(options_.ordinal);
  outcome.stats.set_queue_ns(Nanoseconds(task.request.arrival, *outcome.started));
  outcome.stats.set_batch_size(batch_size);
  outcome.stats.set_devices(1);
}

void LanePool::End(Task& task, const absl::Status& status, Outcome& outcome, Stage next) {
  if (status.ok() && task.batch != nullptr) task.batch->CountServed();
  for (const Operator op : outcome.shared) metrics_->CountShardedRequest(op);
  if (absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) {
    metrics_->CountCancelled(next);
    if (task.batch != nullptr && task.request.IsLate(clock_->Now())) task.batch->NoteLate();
  }
  task.plan.operation.reset();  // a caller that has the answer finds its regions and arrays unused
  outcome.finished = clock_->Now();
  const int tasks = std::max(1, outcome.stats.batch_size());
  metrics_->CountTenant(task.request.caller->tenant, task.plan.work_bytes,
                        Nanoseconds(*outcome.started, *outcome.finished) / tasks);
  if (!options_.on_host) {
    absl::MutexLock lock(&mutex_);
    on_lanes_.erase(&task);
  }
  task.request.completion->Done(status, outcome);
}

void LanePool::RunTask(LaneStreams& lane, Task& task, int batch_size) {
  Outcome outcome;
  Begin(task, batch_size, outcome);
  lane.set_task(&task);
  ++running_;
  absl::Status status = Work(lane, task, outcome);
  if (IsShortOfMemory(status) && task.plan.operation->is_repeatable()) {
    status = RetryOnce(lane, task, outcome, status);
  }
  --running_;
  ++ends_;
  End(task, FromEngine(status), outcome, lane.next_stage());
}

absl::Status LanePool::RetryOnce(LaneStreams& lane, Task& task, Outcome& outcome, const absl::Status& first) {
  static_cast<void>(FromEngine(first));  // logs it
  lane.Free();                           // where no chunk is large enough
  if (options_.free_idle) options_.free_idle();
  {
    absl::MutexLock lock(&mutex_);
    const int64_t ends = ends_;
    // Nothing else runs that could free memory here, but other processes may have freed some by now.
    const auto others_ended = [this, ends] { return ends_ > ends || running_ == 1; };
    AwaitSteadily(&mutex_, absl::Condition(&others_ended), kMemoryPatience);
  }
  outcome.results.clear();
  outcome.shared.clear();
  return Work(lane, task, outcome);
}

bool LanePool::BeginWanted(LaneStreams& lane, Task& task, int batch_size, Outcome& outcome) {
  Begin(task, batch_size, outcome);
  lane.set_task(&task);
  const absl::Status wanted = lane.CheckWanted();
  if (!wanted.ok()) End(task, FromEngine(wanted), outcome, Stage::kCopyIn);
  return wanted.ok();
}

void LanePool::RunMembers(LaneStreams& lane, absl::Span<const std::unique_ptr<Task>> tasks, int batch_size,
                          void (*execute)(EngineStream& stream, absl::Span<BatchMember> members)) {
  std::vector<Outcome> outcomes(tasks.size());
  std::vector<Task*> wanted;
  std::vector<BatchMember> members;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!BeginWanted(lane, *tasks[i], batch_size, outcomes[i])) continue;
    wanted.push_back(tasks[i].get());
    members.push_back({tasks[i]->plan.operation->phased(), &outcomes[i], absl::OkStatus()});
  }
  if (members.empty()) return;
  execute(lane.stream(), absl::MakeSpan(members));
  std::vector<Task*> alone;  // run when no result lies in the lane's memory any more
  for (size_t i = 0; i < members.size(); ++i) {
    absl::Status status = wanted[i]->plan.operation->Judged(members[i].status);
    if (status.ok()) status = wanted[i]->request.CheckWanted(clock_->Now());
    if (status.ok()) status = wanted[i]->plan.operation->Commit(*members[i].outcome);
    if (!status.ok()) members[i].outcome->results.clear();
    if (IsShortOfMemory(status)) {
      alone.push_back(wanted[i]);
    } else {
      End(*wanted[i], FromEngine(status), *members[i].outcome, Stage::kRespond);
    }
  }
  for (Task* const task : alone) RunTask(lane, *task, batch_size);
}

absl::Status LanePool::Work(LaneStreams& lane, Task& task, Outcome& outcome) {
  lane.set_next_stage(Stage::kCopyIn);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(task.plan.operation->Judged(task.plan.operation->Execute(lane, outcome)));
  lane.set_next_stage(Stage::kRespond);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  return task.plan.operation->Commit(outcome);
}

// The engine's message goes to the log. The caller gets what it can act on.
absl::Status LanePool::FromEngine(const absl::Status& status) {
  // What has a reason comes from the server's own checks, budgets and quotas.
  if (status.ok() || ReasonOf(status) != v1::ERROR_REASON_UNSPECIFIED) return status;
  if (!absl::IsResourceExhausted(status)) return absl::InternalError(status.message());
  logger_->Log(LogLevel::kWarning, "memory_short", {{"message", std::string(status.message())}});
  return DeviceMemoryFull();
}

}  // namespace corank
