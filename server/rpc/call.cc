#include "server/rpc/call.h"

#include <limits>
#include <utility>

#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/credentials.h"
#include "server/rpc/deadline.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/run/external_merge.h"
#include "server/run/external_sort.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

constexpr int64_t kLongAnswer = int64_t{256} << 10;
// Counts and names calls that fail before their operator is known: only a door that serves all operators has them.
constexpr absl::string_view kUnknownOperation = "model_infer";

}  // namespace

CallBase::CallBase(const CallEnvironment* environment, grpc::CallbackServerContext* context, std::optional<Operator> op,
                   grpc::ByteBuffer* response)
    : environment_(*environment),
      context_(context),
      response_(response),
      arrival_(environment->clock->Now()),
      deadline_(DeadlineOf(*context, arrival_)),
      has_operator_(op.has_value()) {
  if (op) record_.op = *op;
  environment_.active_calls->Add();
}

void CallBase::Start(grpc::ByteBuffer* bytes) {
  const bool is_whole = bytes->Valid();
  record_.received_bytes = is_whole ? static_cast<int64_t>(bytes->Length()) : 0;
  absl::Status status = Authenticate();
  if (status.ok()) status = is_whole ? Read(*bytes) : Incomplete();
  CountIfShort(status, environment_.metrics);
  bytes->Clear();
  id_ = IdOf(*context_, options().request_id());
  ShowId(id_);
  if (status.ok()) status = Submit();
  if (status.ok()) return;  // Done will be, or was, called
  Outcome nothing;
  Reply(status, nothing);
}

absl::Status CallBase::Authenticate() {
  CORANK_ASSIGN_OR_RETURN(caller_, CallerOf(environment_.authenticator, *context_));
  return has_operator_ ? CheckOperator(*caller_, record_.op) : absl::OkStatus();
}

absl::Status CallBase::SetOperator(Operator op) {
  record_.op = op;
  has_operator_ = true;
  return CheckOperator(*caller_, op);
}

void CallBase::LimitTime(std::chrono::nanoseconds timeout) {
  if (timeout < deadline_ - arrival_) deadline_ = arrival_ + timeout;
}

void CallBase::ShowId(const CallId& id) { ReturnId(id, context_); }

absl::Status CallBase::Incomplete() const {
  environment_.metrics->CountRefusal(Refusal::kIncomplete);
  return RequestIncomplete(
      "the message is incomplete: the caller or the connection ended, it and other messages together exceeded "
      "--max-buffered-bytes, or it exceeded twice --max-request-bytes");
}

absl::Status CallBase::Read(const grpc::ByteBuffer& bytes) {
  CORANK_RETURN_IF_ERROR(ValidateMessageBytes(record_.received_bytes, environment_.limits));
  return Parse(bytes, &payloads_);
}

std::unique_ptr<Operation> CallBase::AsExternal(std::unique_ptr<Operation> operation) const {
  const StreamOptions& streams = environment_.streams;
  ExternalMeans means;
  means.memory =
      std::make_shared<JobMemory>(streams.max_device_bytes, streams.max_host_bytes,
                                  Budget::Create(std::numeric_limits<int64_t>::max()), environment_.places.run_buffers);
  means.piece_bytes = streams.piece_bytes;
  // An operation that needs too much host memory is checked, and refused, as a whole.
  if (const auto* sort = dynamic_cast<const SortOperation*>(operation.get())) {
    if (ExternalSort::Takes(sort->spec()) && ExternalSort::HostBytes(sort->spec(), /*parts=*/0, means.piece_bytes,
                                                                     *means.memory) <= streams.max_host_bytes) {
      return std::make_unique<ExternalSort>(sort->spec(), std::move(means));
    }
  } else if (const auto* merge = dynamic_cast<const MergeOperation*>(operation.get())) {
    if (ExternalMerge::Takes(merge->spec()) &&
        ExternalMerge::HostBytes(merge->spec(), *means.memory) <= streams.max_host_bytes) {
      return std::make_unique<ExternalMerge>(merge->spec(), std::move(means));
    }
  }
  return operation;
}

absl::Status CallBase::Submit() {
  absl::StatusOr<std::unique_ptr<Task>> task = MakeTask();
  CountIfShort(task.status(), environment_.metrics);
  CORANK_RETURN_IF_ERROR(task.status());
  return queue_.load()->Admit(*std::move(task));
}

absl::StatusOr<std::unique_ptr<Task>> CallBase::MakeTask() {
  auto task = std::make_unique<Task>();
  task->bytes = record_.received_bytes;
  task->arrival = arrival_;
  task->deadline = deadline_;
  task->cancelled = &cancelled_;
  task->completion = this;
  CORANK_ASSIGN_OR_RETURN(task->priority, ValidateOptions(options()));
  task->caller = caller_;
  const RequestPlaces places(environment_.places, caller_, &payloads_);
  CORANK_ASSIGN_OR_RETURN(task->operation, ValidateRequest(environment_.limits, places));
  CORANK_RETURN_IF_ERROR(places.ReserveKept());
  task->devices = places.devices();
  task->is_inline = places.all_inline();
  validated_ = environment_.clock->Now();
  record_[Stage::kValidate] = Nanoseconds(arrival_, validated_);
  AdmissionQueue* queue = environment_.queue;
  if (places.placed_bytes() > environment_.long_bytes) {
    queue = environment_.long_queue;
    if (environment_.in_pieces) task->operation = AsExternal(std::move(task->operation));
  }
  task->operation->ReadsFrom(places.TakeSources());
  queue_.store(queue);
  return task;
}

void CallBase::Abandon(const absl::Status& status) {
  abandoned_ = true;
  ++holders_;
  Outcome nothing;
  Reply(status, nothing);
}

void CallBase::Release() {
  if (--holders_ == 0) delete this;
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
  if (status.ok()) {
    grpc::ByteBuffer response = Respond(outcome);
    response_->Swap(&response);
    record_.sent_bytes = static_cast<int64_t>(response_->Length());
  } else {
    CountIfForbidden(status, environment_.metrics);
    LogFailure(status);
  }
  Observe(record_);
  outcome.results.clear();  // a caller that has the answer may delete or reuse what they hold
  // Helpers perform large writes, because Send writes down to the socket and lanes have no time for that. The call may
  // be deleted after Send.
  if (record_.sent_bytes < kLongAnswer) return Send(ToGrpcStatus(status, id_.request_id));
  environment_.places.helpers->Run([this, status] { Send(ToGrpcStatus(status, id_.request_id)); });
}

void CallBase::LogFailure(const absl::Status& status) {
  const absl::string_view tenant = caller_ == nullptr ? absl::string_view() : caller_->tenant;
  const Requester from{tenant, context_->peer()};
  if (!has_operator_) return LogFailedCall(*environment_.logger, id_, from, kUnknownOperation, status);
  LogFailedRequest(*environment_.logger, id_, from, record_, status);
}

void CallBase::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  if (AdmissionQueue* const queue = queue_.load()) queue->Sweep();
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

}  // namespace corank
