#include "server/rpc/execute_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/payloads.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/credentials.h"
#include "server/rpc/deadline.h"
#include "server/rpc/helpers.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"

namespace corank {
namespace {

// For calls that end before they have a job, which would know the operator.
constexpr char kOperation[] = "execute";

// The ExecuteResponse with a chunk. Does not copy the chunk's data.
Bytes EncodeChunk(const OutputChunk& chunk) {
  v1::ArrayChunk head;
  head.set_stream_id(chunk.stream_id);
  head.set_first_element(chunk.first_element);
  const auto bytes = static_cast<size_t>(chunk.size_bytes);
  const std::string inner = head.SerializeAsString() + FieldHead(v1::ArrayChunk::kDataFieldNumber, bytes);
  Bytes encoded(FieldHead(v1::ExecuteResponse::kChunkFieldNumber, inner.size() + bytes) + inner);
  encoded.Append({chunk.bytes, static_cast<const char*>(chunk.bytes.get()), bytes});
  return encoded;
}

}  // namespace

std::shared_ptr<wire::Handler> ExecuteCall::Start(std::shared_ptr<ExecuteJobs> jobs, std::shared_ptr<wire::Call> call) {
  const std::shared_ptr<ExecuteCall> made(new ExecuteCall(std::move(jobs), std::move(call)));
  const absl::Status status = made->Admit();
  absl::MutexLock lock(&made->mutex_);
  if (status.ok()) {
    made->reading_ = true;
    made->call_->Read();
  } else {
    made->End(status);
  }
  return made;
}

ExecuteCall::ExecuteCall(std::shared_ptr<ExecuteJobs> jobs, std::shared_ptr<wire::Call> call)
    : jobs_(std::move(jobs)),
      environment_(jobs_->environment()),
      call_(std::move(call)),
      arrival_(environment_.clock->Now()),
      deadline_(DeadlineOf(call_->head(), arrival_)),
      receiver_(
          v1::ExecuteRequest::descriptor(), /*field=*/0, environment_.buffered,
          [this](size_t bytes) { return Place(bytes); }, [this](const absl::Status& status) { StopReceiving(status); }),
      ahead_(environment_.buffered),
      id_(IdOf(call_->head())) {}

absl::Status ExecuteCall::Admit() {
  CORANK_ASSIGN_OR_RETURN(caller_, CallerOf(environment_.authenticator, call_->head()));
  if (deadline_ <= arrival_) return DeadlinePassed();
  return TakeRate(environment_.rates, environment_.metrics, *caller_, arrival_);
}

absl::StatusOr<std::shared_ptr<void>> ExecuteCall::Place(size_t bytes) {
  if (job_ == nullptr) return InlinePayloads::Place(bytes, environment_.places.host_pool);
  if (static_cast<int64_t>(bytes) > environment_.limits.max_chunk_bytes) return nullptr;
  return job_->pipe()->TakeInput(static_cast<int64_t>(bytes));
}

ExecuteCall::~ExecuteCall() {
  job_.reset();  // the job is counted before the call is
  if (is_active_) environment_.active_calls->Remove();
}

wire::Sink* ExecuteCall::OnMessageBegin(size_t size) {
  absl::Status status = CheckSize(static_cast<int64_t>(size));
  if (status.ok()) status = receiver_.Begin(size);
  if (status.ok()) status = ahead_.Allow(size, call_.get());
  if (!status.ok()) {
    StopReceiving(status);
    return nullptr;
  }
  return &receiver_;
}

absl::Status ExecuteCall::CheckSize(int64_t bytes) const {
  constexpr int64_t kHeadBytes = 64 << 10;
  const int64_t most = environment_.limits.max_chunk_bytes;
  if (job_ == nullptr) return ValidateMessageBytes(bytes, environment_.limits);
  if (bytes <= std::max(environment_.limits.max_request_bytes, most + kHeadBytes)) return absl::OkStatus();
  return InvalidField("chunk.data", absl::StrCat(bytes, " bytes are more than max_chunk_bytes, ", most));
}

void ExecuteCall::StopReceiving(const absl::Status& status) {
  EndEarly(status);
  absl::MutexLock lock(&mutex_);
  if (!ended_) End(Failed());
}

void ExecuteCall::OnMessage() {
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    arrived_.emplace_back(receiver_.Take());
    if (taking_) return;
    if (job_ != nullptr) return TakeArrived();
    taking_ = true;
  }
  // A plan may name places that take a while to find.
  environment_.places.helpers->Run(caller_->tenant, [self = shared_from_this()] {
    absl::MutexLock lock(&self->mutex_);
    self->TakeArrived();
  });
}

void ExecuteCall::OnHalfClose() {
  absl::MutexLock lock(&mutex_);
  reading_ = false;
  input_ended_ = true;
  arrived_.emplace_back();
  if (!taking_) TakeArrived();
}

void ExecuteCall::TakeArrived() {
  taking_ = true;
  while (!arrived_.empty()) {
    std::optional<ReceivedMessage> message;
    message.swap(arrived_.front());
    arrived_.pop_front();
    Pump();  // the next message may come meanwhile
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

absl::Status ExecuteCall::Take(const ReceivedMessage& message) {
  received_bytes_ += static_cast<int64_t>(message.bytes.size());
  return job_ == nullptr ? TakePlan(message) : TakeChunk(message);
}

absl::Status ExecuteCall::TakePlan(const ReceivedMessage& message) {
  const absl::Status status = JoinJob(message);
  CountIfShort(status, environment_.metrics);
  return status;
}

absl::Status ExecuteCall::JoinJob(const ReceivedMessage& message) {
  const SharedPlaces& places = environment_.places;
  auto request = std::make_unique<v1::ExecuteRequest>();
  auto payloads = std::make_shared<InlinePayloads>();
  CORANK_RETURN_IF_ERROR(payloads->Parse(message, places.host_pool, request.get()));
  // The plan lives as long as its job, and hostile ones are large.
  auto room = std::make_shared<Budget::Reservation>(
      environment_.buffered->Reserve(static_cast<int64_t>(request->SpaceUsedLong())));
  if (!*room) return MessagesFill();
  const PartMemory held{ahead_.bytes(), room->bytes(), payloads->pinned_bytes()};
  payloads->Keep(std::move(room), /*pinned_bytes=*/0);
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<ExecutePlan> plan,
                          ExecutePlan::Read(std::move(request), std::move(payloads), environment_.limits,
                                            environment_.streams, places, caller_));
  const auto part = static_cast<int>(plan->message().part());
  plan->SetId(TakeId(plan->options().request_id()));
  plan->SetPeer(call_->head().peer->address);
  is_active_ = true;  // a draining server does not wait for calls without a plan
  environment_.active_calls->Add();
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<ExecuteJob> job,
                          jobs_->Join(std::move(plan), held, deadline_, shared_from_this()));
  absl::MutexLock lock(&mutex_);
  part_ = part;
  job_ = std::move(job);
  if (is_done_) LeaveJob();
  return ended_ ? CallerCancelled() : absl::OkStatus();  // the cancellation came before there was a job to end
}

CallId ExecuteCall::TakeId(const std::string& requested) {
  absl::MutexLock lock(&mutex_);
  if (IsValidRequestId(requested)) id_.request_id = requested;
  return id_;
}

absl::Status ExecuteCall::TakeChunk(const ReceivedMessage& message) {
  v1::ExecuteRequest request;
  std::vector<PayloadRange> payloads;
  const MessagePieces pieces = message.pieces();
  if (!ParseHeads(pieces, &request, &payloads)) {
    return InvalidField("request", "the bytes are not a corank.v1.ExecuteRequest message");
  }
  if (!request.has_chunk()) return InvalidField("chunk", "every message after the plan must be a chunk");
  ChunkPipe& pipe = *job_->pipe();
  const int64_t bytes = payloads.empty() ? 0 : payloads.back().bytes;
  std::shared_ptr<void> received;  // in its window already
  if (bytes > 0 && message.pinned.size() == 1) {
    for (const Piece& piece : message.bytes.pieces()) {
      if (message.IsPinned(piece) && static_cast<int64_t>(piece.size) == bytes) {
        received = std::const_pointer_cast<void>(piece.owner);
      }
    }
  }
  const bool is_in_place = received != nullptr;
  CORANK_ASSIGN_OR_RETURN(InputChunk chunk, pipe.Accept(part_, request.chunk(), bytes, std::move(received)));
  if (bytes > 0 && !is_in_place) CopyRange(pieces, payloads.back().offset, bytes, chunk.bytes.get());
  pipe.Add(std::move(chunk));
  return absl::OkStatus();
}

absl::Status ExecuteCall::EndInput() {
  if (job_ == nullptr) return InvalidField("plan", "the first message of a call must be its plan, but none arrived");
  // Missing elements are the fault of all parts together.
  if (const absl::Status status = job_->pipe()->EndInput(part_); !status.ok()) job_->Fail(status);
  return absl::OkStatus();
}

void ExecuteCall::EndEarly(const absl::Status& status) {
  const bool is_late = absl::IsCancelled(status) && IsShortBefore(deadline_, arrival_, environment_.clock->Now());
  const absl::Status reason = is_late ? DeadlinePassed() : status;
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

void ExecuteCall::OnWritten() {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  Pump();
}

void ExecuteCall::OnCancel(const CallStatus& status) {
  std::shared_ptr<ExecuteJob> job;
  int part = 0;
  {
    absl::MutexLock lock(&mutex_);
    job = job_;
    part = part_;
  }
  const absl::Status reason = CauseOf(call_->head(), status);
  if (job != nullptr) job->Fail(reason, part);
  absl::MutexLock lock(&mutex_);
  End(reason);  // also if the job has succeeded but the caller does not read the answer
}

absl::Status ExecuteCall::Failed() const {
  const absl::Status status = job_->pipe()->StatusFor(part_);
  if (ReasonOf(status) != v1::ERROR_REASON_JOB_PART_LOST) return status;
  // Parts with the same deadline all report it, whichever the server ends first.
  return IsShortBefore(deadline_, arrival_, environment_.clock->Now()) ? DeadlinePassed() : status;
}

void ExecuteCall::OnDone() {
  absl::MutexLock lock(&mutex_);
  is_done_ = true;
  if (job_ != nullptr) LeaveJob();
}

void ExecuteCall::LeaveJob() {
  job_->pipe()->Leave(part_);
  job_->AddTraffic(received_bytes_, sent_bytes_);
}

void ExecuteCall::Wake() {
  absl::MutexLock lock(&mutex_);
  if (ended_ || is_woken_) return;
  is_woken_ = true;
  call_->Post([self = shared_from_this()] {
    absl::MutexLock lock(&self->mutex_);
    self->is_woken_ = false;
    self->Pump();
  });
}

void ExecuteCall::Pump() {
  if (ended_ || job_ == nullptr) return;
  ChunkPipe& pipe = *job_->pipe();
  if (!pipe.status().ok()) return End(Failed());
  if (!writing_) Write();
  // The window does not account for messages that arrived but were not processed yet.
  const int ahead = static_cast<int>(arrived_.size()) + (taking_ ? 1 : 0);
  if (ended_ || reading_ || input_ended_ || !pipe.MayRead(part_, ahead)) return;
  reading_ = true;
  call_->ReadWhenever();  // the lane says how long a caller may take
}

void ExecuteCall::Write() {
  ChunkPipe& pipe = *job_->pipe();
  Bytes message;
  if (const std::optional<OutputChunk> chunk = pipe.TakeOutput()) {
    message = EncodeChunk(*chunk);
  } else {
    const std::optional<std::vector<Bytes>> results = pipe.Results();
    if (!results) return;
    if (results_written_ == results->size()) return End(absl::OkStatus());
    message = (*results)[results_written_++];
  }
  sent_bytes_ += static_cast<int64_t>(message.size());
  writing_ = true;
  call_->Write(std::move(message));
}

void ExecuteCall::End(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  if (job_ != nullptr) id_.request_id = job_->id().request_id;  // the id of its first part
  if (job_ == nullptr) {
    CountIfForbidden(status, environment_.metrics);
    environment_.metrics->CountCall(kOperation, status.code());
    const absl::string_view tenant = caller_ == nullptr ? absl::string_view() : caller_->tenant;
    LogFailedCall(*environment_.logger, id_, {tenant, call_->head().peer->address}, kOperation, status);
  }
  call_->Finish(ToCallStatus(status, id_.request_id), TrailersOf(id_));
}

}  // namespace corank
