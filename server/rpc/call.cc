#include "server/rpc/call.h"

#include <chrono>
#include <utility>

#include "server/execute/status_macros.h"
#include "server/respond/errors.h"
#include "server/rpc/request_id.h"

namespace corank {
namespace {

// Arrays in regions and kept arrays beyond this many bytes have lanes of their own, so that small requests do not wait
// behind them: a GPU copies this much in about a millisecond.
constexpr int64_t kLongBytes = int64_t{32} << 20;

// gRPC's deadline, of the wall clock, on the server's monotonic clock.
Instant ToInstant(std::chrono::system_clock::time_point deadline, Instant now) {
  if (deadline == std::chrono::system_clock::time_point::max()) return kForever;
  const auto left = deadline - std::chrono::system_clock::now();
  return left < kForever - now ? now + left : kForever;
}

LogLevel LevelOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return LogLevel::kError;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return LogLevel::kWarning;
    default:  // the caller's doing
      return LogLevel::kInfo;
  }
}

}  // namespace

CallBase::CallBase(const CallEnvironment* environment, grpc::CallbackServerContext* context, Operator op,
                   grpc::ByteBuffer* response)
    : environment_(*environment), context_(context), response_(response), arrival_(environment->clock->Now()) {
  record_.op = op;
  environment_.active_calls->Add();
}

void CallBase::Start(grpc::ByteBuffer* bytes) {
  record_.received_bytes = static_cast<int64_t>(bytes->Length());
  absl::Status status = Read(bytes);
  request_id_ = IsValidRequestId(options().request_id()) ? options().request_id() : MakeRequestId();
  context_->AddTrailingMetadata(kRequestIdKey, request_id_);
  if (status.ok()) status = Submit();
  if (status.ok()) return;  // Done will be, or was, called
  Outcome nothing;
  Reply(status, nothing);
}

absl::Status CallBase::Read(grpc::ByteBuffer* bytes) {
  CORANK_RETURN_IF_ERROR(ValidateMessageBytes(record_.received_bytes, environment_.limits));
  return ParseRequest(bytes);
}

absl::Status CallBase::Submit() {
  auto task = std::make_unique<Task>();
  task->bytes = record_.received_bytes;
  task->arrival = arrival_;
  task->deadline = ToInstant(context_->deadline(), arrival_);
  task->cancelled = &cancelled_;
  task->completion = this;
  CORANK_ASSIGN_OR_RETURN(task->priority, ValidateOptions(options()));
  const RequestPlaces places(environment_.places, std::string(kAnonymous));
  CORANK_ASSIGN_OR_RETURN(task->operation, ValidateRequest(environment_.limits, places));
  validated_ = environment_.clock->Now();
  record_[Stage::kValidate] = Nanoseconds(arrival_, validated_);
  AdmissionQueue* const queue = places.placed_bytes() > kLongBytes ? environment_.long_queue : environment_.queue;
  queue_.store(queue);
  return queue->Admit(std::move(task));
}

void CallBase::Done(const absl::Status& status, Outcome& outcome) {
  record_[Stage::kQueue] = Nanoseconds(validated_, outcome.started.value_or(environment_.clock->Now()));
  if (status.ok()) {
    record_[Stage::kCopyIn] = outcome.stats.copy_in_ns();
    record_[Stage::kKernel] = outcome.stats.kernel_ns();
    record_[Stage::kCopyOut] = outcome.stats.copy_out_ns();
  }
  Reply(status, outcome);
}

void CallBase::Reply(const absl::Status& status, Outcome& outcome) {
  replied_ = outcome.finished.value_or(environment_.clock->Now());
  record_.code = status.code();
  if (status.ok()) {
    *response_ = Respond(outcome);
    record_.sent_bytes = static_cast<int64_t>(response_->Length());
  } else {
    LogFailure(status);
  }
  outcome.results.clear();  // what the caller may take back once it has the answer
  Finish(ToGrpcStatus(status, request_id_));  // the call may be gone after this
}

void CallBase::LogFailure(const absl::Status& status) const {
  const LogLevel level = LevelOf(status.code());
  if (!environment_.logger->Enabled(level)) return;
  environment_.logger->Log(level, "request_failed",
                           {{"request_id", request_id_},
                            {"operator", OperatorName(record_.op)},
                            {"code", absl::StatusCodeToString(status.code())},
                            {"field", NamedField(status)},
                            {"message", std::string(status.message())},
                            {"received_bytes", record_.received_bytes},
                            {"seconds", static_cast<double>(Nanoseconds(arrival_, replied_)) * 1e-9}});
}

void CallBase::OnCancel() {
  cancelled_.store(true, std::memory_order_release);
  if (AdmissionQueue* const queue = queue_.load()) queue->Sweep();
}

void CallBase::OnDone() {
  const Instant now = environment_.clock->Now();
  record_[Stage::kRespond] = Nanoseconds(replied_, now);
  record_.total_ns = Nanoseconds(arrival_, now);
  environment_.metrics->CountRequest(record_);
  ActiveCalls* const active_calls = environment_.active_calls;
  delete this;
  active_calls->Remove();
}

}  // namespace corank
