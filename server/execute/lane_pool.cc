#include "server/execute/lane_pool.h"

#include <utility>

#include "server/execute/status_macros.h"
#include "server/respond/errors.h"

namespace corank {
namespace {

// How long a caller should wait before it asks this server, or another one, again.
constexpr absl::Duration kMemoryRetry = absl::Seconds(1);
constexpr absl::Duration kDeviceLostRetry = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<LanePool>> LanePool::Create(Options options, Engine* engine, WorkSource* source,
                                                           const Clock* clock, Metrics* metrics, const Logger* logger) {
  const int lanes = options.lanes;
  std::unique_ptr<LanePool> pool(new LanePool(std::move(options), engine->info(), source, clock, metrics, logger));
  for (int i = 0; i < lanes; ++i) {
    CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, engine->CreateStream());
    pool->streams_.push_back(std::move(stream));
  }
  for (const auto& stream : pool->streams_) {
    pool->threads_.emplace_back([lane = pool.get(), stream = stream.get()] { lane->RunLane(*stream); });
  }
  return pool;
}

LanePool::LanePool(Options options, const EngineInfo& info, WorkSource* source, const Clock* clock, Metrics* metrics,
                   const Logger* logger)
    : options_(std::move(options)), info_(info), source_(source), clock_(clock), metrics_(metrics), logger_(logger) {}

LanePool::~LanePool() {
  for (std::thread& thread : threads_) thread.join();
}

void LanePool::RunLane(EngineStream& stream) {
  for (auto batch = source_->Next(); !batch.empty(); batch = source_->Next()) {
    metrics_->AddBusyLanes(1);
    for (const std::unique_ptr<Task>& task : batch) RunTask(stream, *task, static_cast<int>(batch.size()));
    metrics_->AddBusyLanes(-1);
  }
}

void LanePool::RunTask(EngineStream& stream, Task& task, int batch_size) {
  Outcome outcome;
  outcome.started = clock_->Now();
  outcome.stats.set_engine(info_.kind == EngineKind::kCuda ? v1::ENGINE_CUDA : v1::ENGINE_CPU);
  outcome.stats.set_device(info_.device);
  outcome.stats.set_queue_ns(Nanoseconds(task.arrival, *outcome.started));
  outcome.stats.set_batch_size(batch_size);
  const absl::Status status = Work(stream, task, outcome);
  outcome.finished = clock_->Now();
  task.completion->Done(status, outcome);
}

absl::Status LanePool::Work(EngineStream& stream, Task& task, Outcome& outcome) {
  CORANK_RETURN_IF_ERROR(task.CheckWanted(*outcome.started));
  if (device_lost_) return FromEngine(absl::UnavailableError("the device is lost"));
  CORANK_RETURN_IF_ERROR(FromEngine(stream.Begin()));
  OperatorReport report;
  const absl::Status enqueued = Enqueue(stream, task, &report);
  // Also after an error: enqueued copies still read the request's bytes until the stream finished.
  const absl::StatusOr<PhaseTimes> times = stream.Finish();
  CORANK_RETURN_IF_ERROR(FromEngine(enqueued));
  CORANK_RETURN_IF_ERROR(FromEngine(times.status()));
  outcome.stats.set_copy_in_ns(times->copy_in_ns);
  outcome.stats.set_kernel_ns(times->kernel_ns);
  outcome.stats.set_copy_out_ns(times->copy_out_ns);
  outcome.stats.set_workspace_bytes(stream.workspace_bytes());
  if (report.fault != OperatorReport::Fault::kNone) return task.operation->FaultStatus(report);
  CORANK_RETURN_IF_ERROR(task.CheckWanted(clock_->Now()));
  task.operation->Collect(report, outcome);
  return absl::OkStatus();
}

absl::Status LanePool::Enqueue(EngineStream& stream, Task& task, OperatorReport* report) {
  CORANK_RETURN_IF_ERROR(task.operation->CopyIn(stream));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(task.CheckWanted(clock_->Now()));
  CORANK_RETURN_IF_ERROR(task.operation->Run(stream, report));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  CORANK_RETURN_IF_ERROR(task.CheckWanted(clock_->Now()));
  return task.operation->CopyOut(stream);
}

// The engine's words are for the log; the caller gets what it can act on.
absl::Status LanePool::FromEngine(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:  // of CheckWanted: engines return neither
    case absl::StatusCode::kDeadlineExceeded:
      return status;
    case absl::StatusCode::kResourceExhausted:
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
      return absl::InternalError(status.message());
  }
}

}  // namespace corank
