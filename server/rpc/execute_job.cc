#include "server/rpc/execute_job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/credentials.h"
#include "server/rpc/message_receiver.h"
#include "server/rpc/request_log.h"

namespace corank {
namespace {

constexpr absl::Duration kJoiningRetry = absl::Seconds(1);
// One tenant may have a quarter of the jobs that wait for their parts, and they a quarter of the memory of messages.
constexpr ptrdiff_t kTenantShare = 4;

ChunkPipe::Options PipeOptions(const CallEnvironment& environment, const ExecutePlan& plan) {
  ChunkPipe::Options options;
  options.window_bytes = environment.streams.window_bytes;
  options.output_bytes = plan.output_bytes();
  options.max_chunk_bytes = environment.limits.max_chunk_bytes;
  options.parts = std::max(1, static_cast<int>(plan.message().parts()));
  options.idle_timeout = environment.streams.idle_timeout;
  return options;
}

absl::Status PlansDiffer(const std::string& job) {
  return FieldError(v1::ERROR_REASON_JOB_PLANS_DIFFER, "plan",
                    absl::StrCat("the parts of job '", job, "' came with different plans; only `part` may differ"));
}

absl::Status CheckParts(const v1::Plan& plan) {
  if (plan.parts() > static_cast<uint32_t>(kMaxParts)) {
    return InvalidField("plan.parts", absl::StrCat("must be 1 to ", kMaxParts, ", not ", plan.parts()));
  }
  if (plan.part() >= std::max(1U, plan.parts())) {
    return InvalidField("plan.part", absl::StrCat("must be 0 to parts - 1, not ", plan.part()));
  }
  if (plan.parts() > 1) return CheckName("plan.job_id", plan.job_id());
  return absl::OkStatus();
}

}  // namespace

ExecuteJob::ExecuteJob(std::shared_ptr<const CallEnvironment> environment, std::unique_ptr<ExecutePlan> plan,
                       std::shared_ptr<ChunkPipe> pipe, std::shared_ptr<Budget> all_memory)
    : shared_environment_(std::move(environment)),
      environment_(*shared_environment_),
      plan_(std::move(plan)),
      pipe_(std::move(pipe)),
      memory_(std::make_shared<JobMemory>(environment_.streams.max_device_bytes, environment_.streams.max_host_bytes,
                                          std::move(all_memory), environment_.places.run_buffers,
                                          environment_.places.devices)),
      arrival_(environment_.clock->Now()) {
  record_.op = plan_->op();
  finished_ = arrival_;
}

ExecuteJob::~ExecuteJob() {
  const Instant now = environment_.clock->Now();
  record_[Stage::kRespond] = Nanoseconds(finished_, now);
  record_.total_ns = Nanoseconds(arrival_, now);
  const absl::Status status = pipe_->status();
  record_.code = status.code();
  environment_.metrics->CountRequest(record_);
  if (status.ok()) LogAnsweredRequest(*environment_.logger, id(), record_, environment_.slow_request_ns);
}

int ExecuteJob::AddPart(int part, Instant deadline) {
  absl::MutexLock lock(&mutex_);
  if (deadline < deadline_) {
    deadline_ = deadline;
    first_deadline_part_ = part;
  }
  return ++parts_;
}

absl::Status ExecuteJob::Reserve() {
  CORANK_RETURN_IF_ERROR(plan_->Reserve());
  return pipe_->Reserve();
}

void ExecuteJob::Start() {
  self_ = shared_from_this();
  const absl::Status status = Submit();
  if (status.ok()) return;
  self_.reset();
  Fail(status);
}

absl::Status ExecuteJob::Submit() {
  auto task = std::make_unique<Task>();
  Request& request = task->request;
  {
    absl::MutexLock lock(&mutex_);
    submitted_ = environment_.clock->Now();
    record_[Stage::kValidate] = Nanoseconds(arrival_, submitted_);
    request.deadline = deadline_;
  }
  request.arrival = arrival_;
  request.priority = plan_->priority();
  request.caller = plan_->caller();
  request.cancelled = &cancelled_;
  request.completion = this;
  request.completion_owner = shared_from_this();
  task->plan = PlanJob(plan_, {memory_, pipe_, environment_.streams.piece_bytes}, &earlier_);
  return environment_.long_queue->Submit(std::move(task));
}

void ExecuteJob::Fail(const absl::Status& status, int part) {
  if (pipe_->Fail(status, part)) LogFailure(status);
  if (on_failure_ != nullptr) on_failure_();
  cancelled_.store(true, std::memory_order_release);
  environment_.long_queue->Sweep();
}

void ExecuteJob::Done(const absl::Status& status, Outcome& outcome) {
  const std::shared_ptr<ExecuteJob> self = std::move(self_);
  {
    absl::MutexLock lock(&mutex_);
    finished_ = outcome.finished.value_or(environment_.clock->Now());
    record_[Stage::kQueue] = Nanoseconds(submitted_, outcome.started.value_or(finished_));
    if (status.ok()) {
      record_[Stage::kCopyIn] = outcome.stats.copy_in_ns();
      record_[Stage::kKernel] = outcome.stats.kernel_ns();
      record_[Stage::kCopyOut] = outcome.stats.copy_out_ns();
    }
  }
  std::vector<Bytes> results;
  if (status.ok()) {
    for (size_t i = 0; i < earlier_.size(); ++i)
      results.push_back(EncodeResult(plan_->message().operations(static_cast<int>(i)), earlier_[i]));
    results.push_back(EncodeResult(plan_->message().operations(plan_->size() - 1), outcome));
  }
  // Before the answer leaves, so that a caller that has it finds its regions and stored arrays unused.
  outcome.results.clear();
  earlier_.clear();
  plan_->Release();
  if (status.ok()) {
    pipe_->Succeed(std::move(results));
  } else {
    FailTask(status);
  }
}

void ExecuteJob::FailTask(const absl::Status& status) {
  int part = ChunkPipe::kAllParts;
  if (ReasonOf(status) == v1::ERROR_REASON_DEADLINE_PASSED) {
    absl::MutexLock lock(&mutex_);
    part = first_deadline_part_;
  }
  if (pipe_->Fail(status, part)) LogFailure(status);
}

void ExecuteJob::Abandon(const absl::Status& status) { FailTask(status); }

void ExecuteJob::AddTraffic(int64_t received_bytes, int64_t sent_bytes) {
  absl::MutexLock lock(&mutex_);
  record_.received_bytes += received_bytes;
  record_.sent_bytes += sent_bytes;
}

void ExecuteJob::LogFailure(const absl::Status& status) const {
  CountIfForbidden(status, environment_.metrics);
  RequestRecord record;
  {
    absl::MutexLock lock(&mutex_);
    record = record_;
  }
  record.received_bytes = pipe_->received_bytes();
  record.total_ns = Nanoseconds(arrival_, environment_.clock->Now());
  LogFailedCall(*environment_.logger, id(), {plan_->caller()->tenant, plan_->peer()}, OperatorName(record.op), status,
                &record);
}

std::shared_ptr<ExecuteJobs> ExecuteJobs::Create(const CallEnvironment& environment) {
  return std::shared_ptr<ExecuteJobs>(new ExecuteJobs(environment));
}

ExecuteJobs::ExecuteJobs(const CallEnvironment& environment)
    : environment_(std::make_shared<CallEnvironment>(environment)), memory_(environment_->job_memory) {}

absl::StatusOr<std::shared_ptr<ExecuteJob>> ExecuteJobs::Join(std::unique_ptr<ExecutePlan> plan, PartMemory held,
                                                              Instant deadline,
                                                              const std::shared_ptr<StreamPart>& call) {
  CORANK_RETURN_IF_ERROR(CheckParts(plan->message()));
  if (plan->message().parts() > 1) return JoinPart(std::move(plan), held, deadline, call);
  {
    absl::MutexLock lock(&mutex_);
    CORANK_RETURN_IF_ERROR(CheckOpen());
  }
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<ExecuteJob> job, Make(std::move(plan)));
  job->pipe()->Join(0, call);
  job->AddPart(/*part=*/0, deadline);
  job->Start();
  return job;
}

absl::StatusOr<std::shared_ptr<ExecuteJob>> ExecuteJobs::JoinPart(std::unique_ptr<ExecutePlan> plan, PartMemory held,
                                                                  Instant deadline,
                                                                  const std::shared_ptr<StreamPart>& call) {
  const v1::Plan& message = plan->message();
  const size_t part = message.part();
  const size_t parts = message.parts();
  const OwnedName id(plan->caller()->tenant, message.job_id());
  v1::Plan common = message;
  common.clear_part();
  // The parsed plan has no payloads.
  std::string text = absl::StrCat(common.SerializeAsString(), absl::Hex(plan->payload_fingerprint()));
  std::shared_ptr<ExecuteJob> job;
  absl::Status differ;
  {
    absl::MutexLock lock(&mutex_);
    CORANK_RETURN_IF_ERROR(CheckOpen());
    auto found = joining_.find(id);
    if (found == joining_.end()) {
      Budget::Reservation room = environment_->buffered->Reserve(static_cast<int64_t>(text.size()));
      if (!room) return MessagesFill();
      const int64_t buffered = room.bytes() + held.plan;
      CORANK_RETURN_IF_ERROR(CheckJoining(id.first, buffered + held.ahead, held.plan_pinned));
      CORANK_ASSIGN_OR_RETURN(std::shared_ptr<ExecuteJob> made, Make(std::move(plan)));
      made->SetOnFailure([jobs = weak_from_this(), id, job = made.get()] {
        if (const std::shared_ptr<ExecuteJobs> self = jobs.lock()) self->TakeJoining(id, job);
      });
      found = joining_.emplace(id, Joining()).first;
      found->second.job = std::move(made);
      found->second.has_come.resize(parts);
      found->second.plan = text;
      found->second.room = std::move(room);
      found->second.buffered = buffered;
      found->second.pinned = held.plan_pinned;
      LimitPatience(id, found->second.job);
    }
    Joining& joining = found->second;
    job = joining.job;
    if (joining.plan == text) {
      CORANK_RETURN_IF_ERROR(job->pipe()->StatusFor(static_cast<int>(part)));
      if (joining.has_come[part]) {
        return InvalidField("plan.part", absl::StrCat("part ", part, " of job '", id.second, "' has already arrived"));
      }
      joining.has_come[part] = true;
      joining.buffered += held.ahead;
      job->pipe()->Join(static_cast<int>(part), call);
      if (job->AddPart(static_cast<int>(part), deadline) < static_cast<int>(parts)) return job;
    } else {
      differ = PlansDiffer(id.second);
    }
    joining_.erase(found);
  }
  const absl::Status status = differ.ok() ? job->Reserve() : differ;
  if (!status.ok()) {
    job->Fail(status);
    return status;
  }
  job->Start();
  return job;
}

absl::Status ExecuteJobs::CheckJoining(const std::string& tenant, int64_t buffered, int64_t pinned) const {
  const int64_t most = environment_->streams.max_joining_jobs;
  int64_t jobs = 0;  // of the tenant
  for (auto job = joining_.lower_bound(OwnedName(tenant, "")); job != joining_.end() && job->first.first == tenant;
       ++job) {
    ++jobs;
    buffered += job->second.buffered;
    pinned += job->second.pinned;
  }
  if (static_cast<int64_t>(joining_.size()) >= most || jobs >= std::max<int64_t>(1, most / kTenantShare)) {
    return RetryLater(v1::ERROR_REASON_QUEUE_FULL, "too many jobs are waiting for their parts", kJoiningRetry);
  }
  // A tenant's only job may be as large as any message.
  if (jobs == 0 || (buffered <= environment_->buffered->limit() / kTenantShare &&
                    pinned <= environment_->places.host_pool->max_bytes() / kTenantShare)) {
    return absl::OkStatus();
  }
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL,
                    "the jobs of this tenant that wait for their parts hold too much of the server's memory",
                    kJoiningRetry);
}

std::optional<ExecuteJobs::Joining> ExecuteJobs::TakeJoining(const OwnedName& id, const ExecuteJob* job) {
  absl::MutexLock lock(&mutex_);
  const auto found = joining_.find(id);
  if (found == joining_.end() || found->second.job.get() != job) return std::nullopt;
  Joining taken = std::move(found->second);
  joining_.erase(found);
  return taken;
}

void ExecuteJobs::LimitPatience(const OwnedName& id, const std::shared_ptr<ExecuteJob>& job) {
  wire::Loop* const timers = environment_->timers;
  timers->Post([timers, jobs = weak_from_this(), id, waiting = std::weak_ptr<ExecuteJob>(job),
                patience = absl::ToChronoNanoseconds(environment_->streams.part_patience)] {
    timers->At(timers->now() + patience, [jobs, id, waiting] {
      if (const std::shared_ptr<ExecuteJobs> self = jobs.lock()) self->GiveUp(id, waiting);
    });
  });
}

void ExecuteJobs::GiveUp(const OwnedName& id, const std::weak_ptr<ExecuteJob>& waiting) {
  const std::shared_ptr<ExecuteJob> job = waiting.lock();
  if (job == nullptr) return;
  const std::optional<Joining> given_up = TakeJoining(id, job.get());
  if (!given_up) return;
  const auto came = std::count(given_up->has_come.begin(), given_up->has_come.end(), true);
  given_up->job->Fail(
      Error(v1::ERROR_REASON_JOB_INCOMPLETE,
            absl::StrCat("only ", came, " of the ", given_up->has_come.size(), " parts of the job began within ",
                         absl::FormatDuration(environment_->streams.part_patience))));
}

absl::StatusOr<std::shared_ptr<ExecuteJob>> ExecuteJobs::Make(std::unique_ptr<ExecutePlan> plan) {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<ChunkPipe> pipe,
                          ChunkPipe::Create(PipeOptions(*environment_, *plan), plan->inputs(),
                                            environment_->places.host_pool->shared_from_this(), environment_->clock));
  if (pipe->options().parts == 1) CORANK_RETURN_IF_ERROR(pipe->Reserve());
  const auto forget = [jobs = weak_from_this()](const ExecuteJob* job) {
    if (const std::shared_ptr<ExecuteJobs> self = jobs.lock()) self->Forget(job);
    delete job;
  };
  std::shared_ptr<ExecuteJob> job(new ExecuteJob(environment_, std::move(plan), std::move(pipe), memory_), forget);
  absl::MutexLock lock(&all_mutex_);
  all_.emplace(job.get(), job);
  return job;
}

void ExecuteJobs::Forget(const ExecuteJob* job) {
  absl::MutexLock lock(&all_mutex_);
  all_.erase(job);
}

absl::Status ExecuteJobs::CheckOpen() const {
  if (!refusal_.ok()) environment_->metrics->CountRefusal(refusal_reason_);
  return refusal_;
}

void ExecuteJobs::Close(const absl::Status& refusal, Refusal reason) {
  std::map<OwnedName, Joining> given_up;
  {
    absl::MutexLock lock(&mutex_);
    refusal_ = refusal;
    refusal_reason_ = reason;
    given_up.swap(joining_);
  }
  for (const auto& [id, joining] : given_up) joining.job->Fail(refusal);
}

void ExecuteJobs::Abort(const absl::Status& refusal, Refusal reason) {
  Close(refusal, reason);
  std::vector<std::shared_ptr<ExecuteJob>> jobs;
  {
    absl::MutexLock lock(&all_mutex_);
    for (const auto& [raw, weak] : all_) jobs.push_back(weak.lock());
  }
  for (const std::shared_ptr<ExecuteJob>& job : jobs) {
    if (job != nullptr) job->Fail(refusal);
  }
}

int64_t ExecuteJobs::joining_jobs() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(joining_.size());
}

int64_t ExecuteJobs::jobs() const {
  absl::MutexLock lock(&all_mutex_);
  return static_cast<int64_t>(all_.size());
}

}  // namespace corank
