#include "server/execute/lane_pool.h"

#include <utility>

#include "server/execute/fused_sort.h"
#include "server/execute/status_macros.h"
#include "server/respond/errors.h"

namespace corank {
namespace {

// How long a caller should wait before it asks this server, or another one, again.
constexpr absl::Duration kMemoryRetry = absl::Seconds(1);
constexpr absl::Duration kDeviceLostRetry = absl::Seconds(5);

}  // namespace

// The streams of one lane, lent to one task after the other.
class LanePool::LaneStreams final : public Lane {
 public:
  LaneStreams(const LanePool* pool, std::unique_ptr<EngineStream> stream) : pool_(pool), stream_(std::move(stream)) {}

  void set_task(const Task* task) { task_ = task; }

  EngineStream& stream() override { return *stream_; }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override {
    while (static_cast<size_t>(i) >= extra_.size()) {
      CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, pool_->engine_->CreateStream());
      extra_.push_back(std::move(stream));
    }
    return extra_[static_cast<size_t>(i)].get();
  }
  absl::Status CheckWanted() override {
    if (pool_->device_lost_) return absl::UnavailableError("the device is lost");
    return task_->CheckWanted(pool_->clock_->Now());
  }

 private:
  const LanePool* const pool_;
  const std::unique_ptr<EngineStream> stream_;
  std::vector<std::unique_ptr<EngineStream>> extra_;
  const Task* task_ = nullptr;
};

absl::StatusOr<std::unique_ptr<LanePool>> LanePool::Create(Options options, Engine* engine, WorkSource* source,
                                                           const Clock* clock, Metrics* metrics, const Logger* logger) {
  const int lanes = options.lanes;
  std::unique_ptr<LanePool> pool(new LanePool(std::move(options), engine, source, clock, metrics, logger));
  for (int i = 0; i < lanes; ++i) {
    CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, engine->CreateStream());
    pool->lanes_.push_back(std::make_unique<LaneStreams>(pool.get(), std::move(stream)));
  }
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> direct, engine->CreateStream());
  pool->direct_lane_ = std::make_unique<LaneStreams>(pool.get(), std::move(direct));
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
}

void LanePool::RunLane(LaneStreams& lane) {
  for (;;) {
    auto batch = source_->Next();  // ends with each turn, before the next is asked for
    if (batch.empty()) return;
    metrics_->AddBusyLanes(1);
    RunBatch(lane, batch);
    metrics_->AddBusyLanes(-1);
  }
}

void LanePool::RunDirectly(std::unique_ptr<Task> task) {
  metrics_->AddBusyLanes(1);
  RunTask(*direct_lane_, *task, 1);
  metrics_->AddBusyLanes(-1);
}

void LanePool::RunBatch(LaneStreams& lane, std::vector<std::unique_ptr<Task>>& batch) {
  const auto size = static_cast<int>(batch.size());
  for (size_t i = 0; i < batch.size();) {
    size_t end = i + 1;
    while (end < batch.size() && CanFuse(*batch[i]->operation, *batch[end]->operation)) ++end;
    if (end == i + 1) {
      RunTask(lane, *batch[i], size);
    } else {
      RunFused(lane, absl::MakeConstSpan(batch).subspan(i, end - i), size);
    }
    i = end;
  }
}

void LanePool::Begin(const Task& task, int batch_size, Outcome& outcome) const {
  outcome.started = clock_->Now();
  outcome.stats.set_engine(info_.kind == EngineKind::kCuda ? v1::ENGINE_CUDA : v1::ENGINE_CPU);
  outcome.stats.set_device(info_.device);
  outcome.stats.set_queue_ns(Nanoseconds(task.arrival, *outcome.started));
  outcome.stats.set_batch_size(batch_size);
}

void LanePool::End(Task& task, const absl::Status& status, Outcome& outcome) const {
  task.operation.reset();  // a caller who has the answer finds its regions and arrays free
  outcome.finished = clock_->Now();
  task.completion->Done(status, outcome);
}

void LanePool::RunTask(LaneStreams& lane, Task& task, int batch_size) {
  Outcome outcome;
  Begin(task, batch_size, outcome);
  lane.set_task(&task);
  const absl::Status status = FromEngine(Work(lane, task, outcome));
  End(task, status, outcome);
}

void LanePool::RunFused(LaneStreams& lane, absl::Span<const std::unique_ptr<Task>> tasks, int batch_size) {
  std::vector<Outcome> outcomes(tasks.size());
  std::vector<Task*> members;
  std::vector<const SortOperation*> sorts;
  std::vector<Outcome*> results;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Begin(*tasks[i], batch_size, outcomes[i]);
    lane.set_task(tasks[i].get());
    if (const absl::Status wanted = lane.CheckWanted(); !wanted.ok()) {
      End(*tasks[i], FromEngine(wanted), outcomes[i]);
      continue;
    }
    members.push_back(tasks[i].get());
    sorts.push_back(static_cast<const SortOperation*>(tasks[i]->operation.get()));
    results.push_back(&outcomes[i]);
  }
  if (members.empty()) return;
  const absl::Status status = FromEngine(ExecuteFused(lane.stream(), sorts, results));
  for (size_t i = 0; i < members.size(); ++i) {
    const absl::Status wanted = status.ok() ? members[i]->CheckWanted(clock_->Now()) : status;
    if (!wanted.ok()) results[i]->results.clear();
    End(*members[i], wanted, *results[i]);
  }
}

absl::Status LanePool::Work(LaneStreams& lane, Task& task, Outcome& outcome) {
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  CORANK_RETURN_IF_ERROR(task.operation->Execute(lane, outcome));
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  return CommitResults(outcome);
}

// The engine's words are for the log; the caller gets what it can act on.
absl::Status LanePool::FromEngine(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:  // of CheckWanted: engines return neither
    case absl::StatusCode::kDeadlineExceeded:
      return status;
    case absl::StatusCode::kResourceExhausted:
      if (HasRetryDelay(status)) return status;  // of a budget of the server's
      logger_->Log(LogLevel::kWarning, "memory_short", {{"message", std::string(status.message())}});
      return RetryLater(status.code(), "the device's memory is full; try again, or with a smaller request",
                        kMemoryRetry);
    case absl::StatusCode::kUnavailable:
      if (!device_lost_.exchange(true)) {
        logger_->Log(LogLevel::kError, "device_lost", {{"message", std::string(status.message())}});
        if (options_.on_device_lost) options_.on_device_lost();
      }
      return RetryLater(status.code(), "the server lost its device", kDeviceLostRetry);
    default:
      return NamedField(status).empty() ? absl::InternalError(status.message()) : status;
  }
}

}  // namespace corank
