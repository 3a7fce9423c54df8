#include "server/rpc/execute_call.h"

#include <optional>
#include <utility>

#include "proto/payloads.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/credentials.h"
#include "server/rpc/deadline.h"
#include "server/rpc/owned_slice.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"

namespace corank {
namespace {

// For calls that end before they have a job, which would know the operator.
constexpr char kOperation[] = "execute";

// The ExecuteResponse with a chunk. Does not copy the chunk's data.
grpc::ByteBuffer EncodeChunk(const OutputChunk& chunk) {
  v1::ArrayChunk head;
  head.set_stream_id(chunk.stream_id);
  head.set_first_element(chunk.first_element);
  const auto bytes = static_cast<size_t>(chunk.size_bytes);
  const std::string inner = head.SerializeAsString() + FieldHead(v1::ArrayChunk::kDataFieldNumber, bytes);
  const grpc::Slice slices[] = {
      grpc::Slice(FieldHead(v1::ExecuteResponse::kChunkFieldNumber, inner.size() + bytes) + inner),
      OwnedSlice(chunk.bytes, chunk.bytes.get(), bytes)};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace

ExecuteCall* ExecuteCall::Start(std::shared_ptr<ExecuteJobs> jobs, grpc::CallbackServerContext* context) {
  const std::shared_ptr<ExecuteCall> call(new ExecuteCall(std::move(jobs), context));
  call->self_ = call;
  call->Begin();
  return call.get();
}

void ExecuteCall::Begin() {
  absl::StatusOr<std::shared_ptr<const Caller>> caller = CallerOf(environment_.authenticator, *context_);
  if (!caller.ok()) return EndEarly(caller.status());
  caller_ = *std::move(caller);
  absl::MutexLock lock(&mutex_);
  reading_ = true;
  StartRead(&incoming_);
}

ExecuteCall::ExecuteCall(std::shared_ptr<ExecuteJobs> jobs, grpc::CallbackServerContext* context)
    : jobs_(std::move(jobs)),
      environment_(jobs_->environment()),
      context_(context),
      arrival_(environment_.clock->Now()),
      deadline_(DeadlineOf(*context, arrival_)),
      id_(IdOf(*context)) {}

ExecuteCall::~ExecuteCall() {
  job_.reset();  // the job is counted before the call is
  if (is_active_) environment_.active_calls->Remove();
}

void ExecuteCall::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  reading_ = false;
  if (!ok) input_ended_ = true;
  arrived_.emplace_back();
  if (ok) arrived_.back().emplace().Swap(&incoming_);
  if (!taking_) TakeArrived();
}

void ExecuteCall::TakeArrived() {
  taking_ = true;
  while (!arrived_.empty()) {
    std::optional<grpc::ByteBuffer> message;
    message.swap(arrived_.front());
    arrived_.pop_front();
    Pump();  // gRPC receives the next message while this one is copied
    // Without the lock: copying a chunk takes long, and releasing messages wakes calls.
    mutex_.Unlock();
    const absl::Status status = message ? Take(*message) : EndInput();
    message.reset();
    if (!status.ok()) EndEarly(status);
    mutex_.Lock();
  }
  taking_ = false;
  Pump();
}

absl::Status ExecuteCall::Take(const grpc::ByteBuffer& message) {
  received_bytes_ += static_cast<int64_t>(message.Length());
  return job_ == nullptr ? TakePlan(message) : TakeChunk(message);
}

absl::Status ExecuteCall::TakePlan(const grpc::ByteBuffer& message) {
  const absl::Status status = JoinJob(message);
  CountIfShort(status, environment_.metrics);
  return status;
}

absl::Status ExecuteCall::JoinJob(const grpc::ByteBuffer& message) {
  CORANK_RETURN_IF_ERROR(ValidateMessageBytes(static_cast<int64_t>(message.Length()), environment_.limits));
  const SharedPlaces& places = environment_.places;
  auto request = std::make_unique<v1::ExecuteRequest>();
  auto payloads = std::make_shared<InlinePayloads>();
  CORANK_RETURN_IF_ERROR(payloads->Parse(message, places.host_pool, places.helpers, request.get()));
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<ExecutePlan> plan,
                          ExecutePlan::Read(std::move(request), std::move(payloads), environment_.limits,
                                            environment_.streams, places, caller_));
  const auto part = static_cast<int>(plan->message().part());
  plan->SetId(TakeId(plan->options().request_id()));
  plan->SetPeer(context_->peer());
  is_active_ = true;  // a draining server does not wait for calls without a plan
  environment_.active_calls->Add();
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<ExecuteJob> job, jobs_->Join(std::move(plan), deadline_, shared_from_this()));
  absl::MutexLock lock(&mutex_);
  part_ = part;
  job_ = std::move(job);
  return ended_ ? CallerCancelled() : absl::OkStatus();  // the cancellation came before there was a job to end
}

CallId ExecuteCall::TakeId(const std::string& requested) {
  absl::MutexLock lock(&mutex_);
  if (IsValidRequestId(requested)) id_.request_id = requested;
  return id_;
}

absl::Status ExecuteCall::TakeChunk(const grpc::ByteBuffer& message) {
  v1::ExecuteRequest request;
  std::vector<PayloadRange> payloads;
  if (!ParseHeads(message, &request, &payloads)) {
    return InvalidField("request", "the bytes are not a corank.v1.ExecuteRequest message");
  }
  if (!request.has_chunk()) return InvalidField("chunk", "every message after the plan must be a chunk");
  ChunkPipe& exchange = *job_->exchange();
  const int64_t bytes = payloads.empty() ? 0 : payloads.back().bytes;
  CORANK_ASSIGN_OR_RETURN(InputChunk chunk, exchange.Accept(part_, request.chunk(), bytes));
  if (bytes > 0) {
    std::vector<grpc::Slice> slices;
    if (!message.Dump(&slices).ok()) return absl::InternalError("gRPC returned no bytes");
    CopyRange(slices, payloads.back().offset, bytes, chunk.bytes.get());
  }
  exchange.Add(std::move(chunk));
  return absl::OkStatus();
}

absl::Status ExecuteCall::EndInput() {
  if (context_->IsCancelled()) return CallerCancelled();  // OnCancel reports more, and may run first
  if (job_ == nullptr) return InvalidField("plan", "the first message of a call must be its plan, but none arrived");
  // Missing elements are the fault of all parts together.
  if (const absl::Status status = job_->exchange()->EndInput(part_); !status.ok()) job_->Fail(status);
  return absl::OkStatus();
}

void ExecuteCall::EndEarly(const absl::Status& status) {
  const absl::Status reason = absl::IsCancelled(status) ? Cancelled() : status;
  if (job_ != nullptr) {
    // What the server lacks is no part's fault: every part learns when the job may be run again.
    const bool is_of_the_server =
        absl::IsResourceExhausted(reason) || absl::IsUnavailable(reason) || absl::IsInternal(reason);
    job_->Fail(reason, is_of_the_server ? ChunkPipe::kAllParts : part_);
    return;
  }
  absl::MutexLock lock(&mutex_);
  End(reason);
}

void ExecuteCall::OnWriteDone(bool) {
  absl::MutexLock lock(&mutex_);
  // The write was given up as unread. EndUnread alone may finish the call, although nothing is being written.
  if (unread_ != nullptr && !unread_->Resume()) return;
  writing_ = false;
  outgoing_.Clear();
  if (ended_) return Finish(last_status_);
  Pump();
}

void ExecuteCall::OnCancel() {
  std::shared_ptr<ExecuteJob> job;
  int part = 0;
  {
    absl::MutexLock lock(&mutex_);
    job = job_;
    part = part_;
  }
  const absl::Status reason = Cancelled();
  if (job != nullptr) job->Fail(reason, part);
  absl::MutexLock lock(&mutex_);
  End(reason);  // also if the job has succeeded but the caller does not read the answer
}

absl::Status ExecuteCall::Failed() const {
  const absl::Status status = job_->exchange()->StatusFor(part_);
  if (ReasonOf(status) != v1::ERROR_REASON_JOB_PART_LOST) return status;
  // Parts with the same deadline all report it, whichever the server ends first.
  return IsShortBefore(deadline_, arrival_, environment_.clock->Now()) ? DeadlinePassed() : status;
}

absl::Status ExecuteCall::Cancelled() const {
  const bool is_late = IsShortBefore(deadline_, arrival_, environment_.clock->Now());
  return is_late ? DeadlinePassed() : CallerCancelled();
}

void ExecuteCall::OnDone() {
  // Keeps the call alive: the job may end with the call, and the call with this scope.
  const std::shared_ptr<ExecuteCall> self = std::move(self_);
  absl::MutexLock lock(&mutex_);
  if (unread_ != nullptr) unread_->Stop();
  if (job_ == nullptr) return;
  job_->exchange()->Leave(part_);
  job_->AddTraffic(received_bytes_, sent_bytes_);
}

void ExecuteCall::Wake() {
  // A write runs down to the socket on the thread that starts it, and the thread that wakes calls has other work.
  if (is_woken_.exchange(true)) return;
  environment_.places.helpers->Run([self = shared_from_this()] {
    self->is_woken_ = false;
    absl::MutexLock lock(&self->mutex_);
    self->Pump();
  });
}

void ExecuteCall::Pump() {
  if (ended_ || job_ == nullptr) return;
  ChunkPipe& exchange = *job_->exchange();
  if (!exchange.status().ok()) return End(Failed());
  if (!writing_) Write();
  if (writing_ && exchange.has_succeeded()) WatchWrite();
  // The window does not account for messages that arrived but were not processed yet.
  const int ahead = static_cast<int>(arrived_.size()) + (taking_ ? 1 : 0);
  if (ended_ || reading_ || input_ended_ || !exchange.MayRead(part_, ahead)) return;
  reading_ = true;
  StartRead(&incoming_);
}

void ExecuteCall::Write() {
  ChunkPipe& exchange = *job_->exchange();
  if (const std::optional<OutputChunk> chunk = exchange.TakeOutput()) {
    outgoing_ = EncodeChunk(*chunk);
  } else {
    const std::optional<std::vector<grpc::ByteBuffer>> results = exchange.Results();
    if (!results) return;
    if (results_written_ == results->size()) return End(absl::OkStatus());
    outgoing_ = (*results)[results_written_++];
  }
  sent_bytes_ += static_cast<int64_t>(outgoing_.Length());
  writing_ = true;
  if (unread_ != nullptr) unread_->Wait();
  StartWrite(&outgoing_);
}

void ExecuteCall::End(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  if (job_ != nullptr) id_.request_id = job_->id().request_id;  // the id of its first part
  if (job_ == nullptr) {
    CountIfForbidden(status, environment_.metrics);
    environment_.metrics->CountCall(kOperation, status.code());
    const absl::string_view tenant = caller_ == nullptr ? absl::string_view() : caller_->tenant;
    LogFailedCall(*environment_.logger, id_, {tenant, context_->peer()}, kOperation, status);
  }
  ReturnId(id_, context_);
  last_status_ = ToGrpcStatus(status, id_.request_id);
  if (!writing_) return Finish(last_status_);
  // Otherwise gRPC would keep status, message and call for as long as the caller does not read.
  WatchWrite();
}

void ExecuteCall::WatchWrite() {
  if (unread_ != nullptr) return;  // since the write started
  unread_ = IdleWatch::Create(environment_.streams.idle_timeout, [this] { EndUnread(); });
  unread_->Wait();
}

void ExecuteCall::EndUnread() {
  grpc::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (!ended_) {
      ended_ = true;
      id_.request_id = job_->id().request_id;
      ReturnId(id_, context_);
      last_status_ = ToGrpcStatus(unread_->Idle("taken"), id_.request_id);
    }
    status = last_status_;
  }
  context_->TryCancel();
  Finish(status);
}

}  // namespace corank
