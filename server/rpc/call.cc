#include "server/rpc/call.h"

#include <utility>

#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/planner.h"
#include "server/rpc/credentials.h"
#include "server/rpc/deadline.h"
#include "server/rpc/early_refusal.h"
#include "server/rpc/helpers.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

// Counts and names calls that fail before their operator is known: only a door that serves all operators has them.
constexpr absl::string_view kUnknownOperation = "model_infer";

}  // namespace

CallBase::CallBase(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, std::optional<Operator> op)
    : environment_(*environment),
      call_(std::move(call)),
      arrival_(environment->clock->Now()),
      deadline_(DeadlineOf(call_->head(), arrival_)),
      has_operator_(op.has_value()) {
  if (op) record_.op = *op;
  environment_.active_calls->Add();
}

absl::Status CallBase::Admit() {
  CORANK_ASSIGN_OR_RETURN(caller_, CallerOf(environment_.authenticator, call_->head()));
  if (has_operator_) CORANK_RETURN_IF_ERROR(CheckOperator(*caller_, record_.op));
  if (deadline_ <= arrival_) return DeadlinePassed();
  CORANK_RETURN_IF_ERROR(TakeRate(environment_.rates, environment_.metrics, *caller_, arrival_));
  if (environment_.gate == nullptr) return absl::OkStatus();
  const absl::Status open = environment_.gate->Check();
  if (!open.ok()) {
    environment_.metrics->CountRefusal(ReasonOf(open) == v1::ERROR_REASON_DEVICE_LOST ? Refusal::kDeviceLost
                                                                                      : Refusal::kDraining);
  }
  return open;
}

void CallBase::Refuse(const absl::Status& status) {
  id_ = IdOf(call_->head(), options().request_id());
  Outcome nothing;
  Reply(status, nothing);
}

void CallBase::Start(ReceivedMessage message) {
  record_.received_bytes = static_cast<int64_t>(message.bytes.size());
  absl::Status status = Parse(message, &payloads_);
  CountIfShort(status, environment_.metrics);
  message = ReceivedMessage();
  id_ = IdOf(call_->head(), options().request_id());
  if (status.ok()) return Submit(/*may_wait=*/false);
  Outcome nothing;
  Reply(status, nothing);
}

void CallBase::RefuseLate() {
  environment_.metrics->CountRefusal(Refusal::kLate);
  replied_ = environment_.clock->Now();
  record_.code = absl::StatusCode::kDeadlineExceeded;
  record_.total_ns = Nanoseconds(arrival_, replied_);
  Observe(record_);
  call_->Finish(WaitedTooLong());
}

absl::Status CallBase::CheckSize(size_t bytes) const {
  return ValidateMessageBytes(static_cast<int64_t>(bytes), environment_.limits);
}

absl::StatusOr<bool> CallBase::AskForTurn(size_t bytes, std::unique_ptr<LargeCalls::Turn>* turn) const {
  CORANK_RETURN_IF_ERROR(environment_.queue->CheckRoom(caller_->tenant, static_cast<int64_t>(bytes)));
  if (*turn != nullptr) return true;
  bool begins = false;
  absl::StatusOr<std::unique_ptr<LargeCalls::Turn>> place = environment_.large_calls->Ask(
      {caller_->tenant, call_->head().peer.get()}, static_cast<int64_t>(bytes), deadline_,
      [call = call_] { call->Read(); }, &begins);
  if (!place.ok()) {
    environment_.metrics->CountRefusal(absl::IsDeadlineExceeded(place.status()) ? Refusal::kLate
                                                                                : Refusal::kQueueRequests);
    return place.status();
  }
  *turn = *std::move(place);
  return begins;
}

absl::Status CallBase::SetOperator(Operator op) {
  record_.op = op;
  has_operator_ = true;
  return CheckOperator(*caller_, op);
}

void CallBase::LimitTime(std::chrono::nanoseconds timeout) {
  if (timeout < deadline_ - arrival_) deadline_ = arrival_ + timeout;
}

absl::Status CallBase::Incomplete(const CallStatus& status) const {
  environment_.metrics->CountRefusal(Refusal::kIncomplete);
  const absl::Status cause = CauseOf(call_->head(), status);
  if (!absl::IsCancelled(cause)) return cause;
  return RequestIncomplete("the message is incomplete: the caller or the connection ended");
}

void CallBase::Submit(bool may_wait) {
  bool would_wait = false;
  absl::StatusOr<std::unique_ptr<Task>> task = MakeTask(may_wait, &would_wait);
  if (would_wait) {
    // Nothing ends the call before it is answered, and only that answers it.
    return environment_.places.helpers->Run(caller_->tenant, [this] { Submit(/*may_wait=*/true); });
  }
  CountIfShort(task.status(), environment_.metrics);
  const absl::Status status = task.ok() ? queue_.load()->Submit(*std::move(task)) : task.status();
  if (status.ok()) return;  // Done will be, or was, called
  Outcome nothing;
  Reply(status, nothing);
}

uint64_t CallBase::IdleDevices(uint64_t allowed) const {
  if (environment_.places.devices->size() == 1) return 0;
  return allowed & environment_.queue->IdleDevices() & environment_.long_queue->IdleDevices();
}

absl::StatusOr<std::unique_ptr<Task>> CallBase::MakeTask(bool may_wait, bool* would_wait) {
  auto task = std::make_unique<Task>();
  Request& request = task->request;
  request.bytes = record_.received_bytes;
  request.arrival = arrival_;
  request.deadline = deadline_;
  request.cancelled = &cancelled_;
  request.completion = this;
  CORANK_ASSIGN_OR_RETURN(request.priority, ValidateOptions(options()));
  request.caller = caller_;
  RequestPlaces places(environment_.places, caller_, &payloads_, may_wait);
  absl::StatusOr<std::unique_ptr<Operation>> valid = ValidateRequest(environment_.limits, places);
  *would_wait = places.would_wait();
  CORANK_RETURN_IF_ERROR(valid.status());
  std::unique_ptr<Operation> operation = *std::move(valid);
  CORANK_RETURN_IF_ERROR(places.ReserveKept());
  CORANK_RETURN_IF_ERROR(operation->CheckShards(DeviceSet::Count(places.shard_devices())));
  validated_ = environment_.clock->Now();
  record_[Stage::kValidate] = Nanoseconds(arrival_, validated_);
  const Extent extent{request.bytes, places.placed_bytes(), places.all_inline()};
  const PlannerMeans means{environment_.planner, environment_.streams, *environment_.places.devices,
                           environment_.places.run_buffers, environment_.job_memory};
  task->plan = PlanRequest(std::move(operation), extent, means, IdleDevices(places.devices()), places.shard_devices());
  task->plan.devices &= places.devices();
  task->plan.operation->ReadsFrom(places.TakeSources());
  const bool is_long = places.placed_bytes() > environment_.planner.long_bytes;
  queue_.store(is_long ? environment_.long_queue : environment_.queue);
  return task;
}

void CallBase::Abandon(const absl::Status& status) {
  abandoned_ = true;
  ++holders_;
  Outcome nothing;
  Reply(status, nothing);
}

void CallBase::Release() {
  if (--holders_ == 0) const std::shared_ptr<CallBase> last = std::move(self_);
}

void CallBase::Done(const absl::Status& status, Outcome& outcome) {
  if (abandoned_) return Release();
  record_[Stage::kQueue] = Nanoseconds(validated_, outcome.started.value_or(environment_.clock->Now()));
  if (status.ok()) {
    record_[Stage::kCopyIn] = outcome.stats.copy_in_ns();
    record_[Stage::kKernel] = outcome.stats.kernel_ns();
    record_[Stage::kCopyOut] = outcome.stats.copy_out_ns();
  }
  Reply(status, outcome);
}

void CallBase::Reply(const absl::Status& reason, Outcome& outcome) {
  replied_ = outcome.finished.value_or(environment_.clock->Now());
  const bool is_late = absl::IsCancelled(reason) && IsShortBefore(deadline_, arrival_, replied_);
  const absl::Status status = is_late ? DeadlinePassed() : reason;
  record_.code = status.code();
  record_.total_ns = Nanoseconds(arrival_, replied_);
  Bytes response;
  if (status.ok()) {
    response = Respond(outcome);
    if (!abandoned_) payloads_ = InlinePayloads();  // the answer may take long to leave
    record_.sent_bytes = static_cast<int64_t>(response.size());
  } else {
    CountIfForbidden(status, environment_.metrics);
    LogFailure(status);
  }
  Observe(record_);
  outcome.results.clear();  // a caller that has the answer may delete or reuse what they hold
  Send(ToCallStatus(status, id_.request_id), id_, std::move(response));  // this may end here
}

void CallBase::LogFailure(const absl::Status& status) {
  const absl::string_view tenant = caller_ == nullptr ? absl::string_view() : caller_->tenant;
  const Requester from{tenant, call_->head().peer->address};
  LogFailedCall(*environment_.logger, id_, from, has_operator_ ? OperatorName(record_.op) : kUnknownOperation, status,
                has_operator_ ? &record_ : nullptr);
}

void CallBase::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  if (Scheduler* const queue = queue_.load()) queue->Sweep();
}

void CallBase::End() {
  const Instant now = environment_.clock->Now();
  record_[Stage::kRespond] = Nanoseconds(replied_, now);
  record_.total_ns = Nanoseconds(arrival_, now);
  if (has_operator_) {
    environment_.metrics->CountRequest(record_);
  } else {
    environment_.metrics->CountCall(kUnknownOperation, record_.code);
  }
  if (record_.code == absl::StatusCode::kOk) {
    LogAnsweredRequest(*environment_.logger, id_, record_, environment_.slow_request_ns);
  }
  ActiveCalls* const active_calls = environment_.active_calls;
  Release();
  active_calls->Remove();
}

// --- UnaryCall ------------------------------------------------------------------------------------------------------

UnaryCall::UnaryCall(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, std::optional<Operator> op,
                     const google::protobuf::Descriptor* type, int field)
    : CallBase(environment, std::move(call), op),
      receiver_(
          type, field, environment->buffered,
          [this](size_t bytes) { return InlinePayloads::Place(bytes, places().host_pool); },
          [this](const absl::Status& status) {
            is_started_ = true;
            CountIfShort(status, this->environment().metrics);
            Refuse(status);
          }) {}

absl::Status UnaryCall::CheckAnswersTaken() const {
  constexpr absl::Duration kRetry = absl::Seconds(1);
  if (!call().MustTakeAnswers(caller().tenant)) return absl::OkStatus();
  environment().metrics->CountRefusal(Refusal::kMemory);
  return RetryLater(v1::ERROR_REASON_QUOTA_EXCEEDED,
                    "too many bytes of earlier answers are unread on this connection, or by this tenant", kRetry);
}

void UnaryCall::Begin() {
  absl::Status status = Admit();
  if (status.ok()) status = CheckAnswersTaken();
  if (!status.ok()) {
    is_started_ = true;
    return Refuse(status);
  }
  call().Read();
}

wire::Sink* UnaryCall::OnMessageBegin(size_t size) {
  absl::Status status = CheckSize(size);
  if (status.ok()) status = CheckAnswersTaken();
  if (status.ok() && size > static_cast<size_t>(wire::kUnreadBytes)) {
    const absl::StatusOr<bool> begins = AskForTurn(size, &turn_);
    if (begins.ok() && !*begins) return nullptr;
    status = begins.status();
  }
  if (status.ok()) {
    status = receiver_.Begin(size);
    CountIfShort(status, environment().metrics);
  }
  if (!status.ok()) {
    is_started_ = true;
    Refuse(status);
    return nullptr;
  }
  size_ = size;
  AllowMessage(size, &call());
  return &receiver_;
}

void UnaryCall::OnMessage() {
  is_whole_ = true;
  call().DropRest();
  if (turn_ != nullptr) {  // it was planned to be in time, and has hardly any left
    is_started_ = true;
    return Start(receiver_.Take());
  }
  Hold();
  place_ = call().AfterReads(size_, [self = std::unique_ptr<UnaryCall, Releaser>(this)] { self->TakeTurn(); });
}

void UnaryCall::TakeTurn() {
  place_.reset();
  if (std::exchange(is_started_, true)) return;
  if (HasWaitedTooLong(call().head(), environment().clock->Now())) return RefuseLate();
  Start(receiver_.Take());
}

void UnaryCall::OnHalfClose() {
  is_started_ = true;
  Refuse(InvalidField("request", "the call has no message"));
}

void UnaryCall::OnCancel(const CallStatus& status) {
  if (std::exchange(is_started_, true)) return Cancel();
  // Calls that are reset in a flood must not lengthen the wait that others are told of.
  if (place_) call().Withdraw(*std::exchange(place_, std::nullopt));
  Refuse(is_whole_ ? CauseOf(call().head(), status) : Incomplete(status));
}

void UnaryCall::OnDone() {
  if (turn_ != nullptr && is_answered_) turn_->Answered();
  turn_.reset();
  End();
}

void UnaryCall::Send(const CallStatus& status, const CallId& id, Bytes response) {
  is_answered_ = status.ok();
  std::optional<Bytes> message;
  if (status.ok()) message = std::move(response);
  call().Finish(status, TrailersOf(id), std::move(message));
}

}  // namespace corank
