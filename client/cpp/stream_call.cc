#include "client/cpp/stream_call.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/cancellation_scope.h"
#include "client/cpp/chunks.h"
#include "client/cpp/patience.h"
#include "client/cpp/raw_stream.h"
#include "client/cpp/status_conversion.h"
#include "client/cpp/stream_results.h"

namespace corank::client {
namespace {

constexpr char kMethod[] = "/corank.v1.CorankService/Execute";
constexpr size_t kMostStreams = 1024;  // the contract's limit

grpc::ByteBuffer ToByteBuffer(const std::vector<WirePiece>& pieces) {
  std::vector<grpc::Slice> slices;
  for (const WirePiece& piece : pieces) {
    slices.emplace_back(piece.head);
    if (!piece.payload.empty()) slices.emplace_back(piece.payload.data(), piece.payload.size());
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string NewJobId() {
  absl::BitGen random;
  return absl::StrCat(absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16),
                      absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16));
}

/// The streamed arrays, and those that go in the plan because there are more arrays than streams.
struct Sent {
  std::vector<ChunkedArray> streams;
  PayloadMap in_plan;
};

/// The inputs that travel, the largest first.
std::vector<const JobInput*> BySize(absl::Span<Job* const> jobs) {
  std::vector<const JobInput*> inputs;
  for (Job* job : jobs) {
    for (const JobInput& input : job->inputs) {
      if (input.travels) inputs.push_back(&input);
    }
  }
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const JobInput* a, const JobInput* b) { return a->view.bytes.size() > b->view.bytes.size(); });
  return inputs;
}

/// INVALID_ARGUMENT if arrays beyond the number of streams make the plan too large.
absl::Status CheckPlan(absl::Span<Job* const> jobs, int64_t max_plan_bytes) {
  const std::vector<const JobInput*> inputs = BySize(jobs);
  if (inputs.size() <= kMostStreams) return absl::OkStatus();
  int64_t bytes = 0;
  for (size_t i = kMostStreams; i < inputs.size(); ++i) bytes += static_cast<int64_t>(inputs[i]->view.bytes.size());
  if (bytes <= max_plan_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the call has ", inputs.size(), " arrays, of which ", kMostStreams, " travel as streams; the other ",
      inputs.size() - kMostStreams, " have ", bytes, " bytes, more than a message to this server holds (",
      max_plan_bytes, " bytes): make several calls of it, or let the arrays travel through shared memory"));
}

/// Sets the places of the inputs that travel.
Sent PlaceInputs(absl::Span<Job* const> jobs) {
  Sent sent;
  for (const JobInput* input : BySize(jobs)) {
    if (sent.streams.size() == kMostStreams) {
      input->array->clear_place();
      sent.in_plan[input->array] = input->view.bytes;
      continue;
    }
    const auto id = static_cast<uint32_t>(sent.streams.size());
    input->array->mutable_stream()->set_stream_id(id);
    sent.streams.push_back({id, input->view.type.bytes(), input->view.bytes, input->is_control});
  }
  return sent;
}

/// One attempt. Its parts share this state.
class StreamAttempt {
 public:
  StreamAttempt(absl::Span<Job* const> jobs, const CallOptions& call)
      : jobs_(jobs), call_(call), sent_(PlaceInputs(jobs)), results_(jobs, call.progress), scope_(call.cancellation) {}

  Attempt Run(Connection* connection, int parts, int64_t chunk_bytes, absl::Time deadline,
              std::vector<v1::OperationResult>* results);

 private:
  class Part;

  /// A part has ended. The first error ends all parts and is the attempt's error.
  void End(const Attempt& ended);
  bool AllHaveEnded() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return running_ == 0; }
  bool IsDecided() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return running_ == 0 || !ended_.status.ok(); }
  /// Waits for the end of all parts, and gives up parts that do not end.
  void Await(Connection* connection, absl::Time deadline);

  const absl::Span<Job* const> jobs_;
  const CallOptions& call_;
  Sent sent_;
  StreamResults results_;
  absl::Mutex mutex_;
  Attempt ended_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // parts
  std::vector<std::unique_ptr<Part>> parts_;
  CancellationScope scope_;  // ends before the parts' contexts do
};

/// The call over one connection.
class StreamAttempt::Part final : public StreamEvents {
 public:
  /// Uses `plan` only in the constructor.
  Part(StreamAttempt* attempt, std::shared_ptr<grpc::Channel> channel, ChunkSource chunks, v1::Plan* plan)
      : attempt_(attempt),
        channel_(channel.get()),
        chunks_(std::move(chunks)),
        stream_(std::move(channel), kMethod, this) {
    v1::ExecuteRequest request;
    request.unsafe_arena_set_allocated_plan(plan);  // lent, because the addresses of its arrays identify them
    plan_ = ToByteBuffer(SerializeHeads(request, attempt->sent_.in_plan));
    request.unsafe_arena_release_plan();
    attempt_->scope_.Add(stream_.context());
  }

  RawStream& stream() { return stream_; }
  /// Gives the call up; after this returns, it calls nothing. Returns its channel if the call had not ended.
  const grpc::Channel* GiveUp() {
    stream_.GiveUp();
    return is_done_ ? nullptr : channel_;
  }
  std::vector<v1::OperationResult>* results() { return &results_; }

  std::optional<grpc::ByteBuffer> Next() override {
    if (plan_.has_value()) return std::exchange(plan_, std::nullopt);
    if (attempt_->call_.progress != nullptr) attempt_->call_.progress->bytes_sent += sending_bytes_;
    const std::optional<Chunk> chunk = chunks_.Next();
    sending_bytes_ = chunk.has_value() ? static_cast<int64_t>(chunk->bytes.size()) : 0;
    if (!chunk.has_value()) return std::nullopt;
    return EncodeChunk(v1::ExecuteRequest::kChunkFieldNumber, *chunk);
  }

  absl::Status Take(grpc::ByteBuffer* message) override {
    v1::ExecuteResponse response;
    std::vector<PayloadRange> payloads;
    if (!ParseHeads(*message, &response, &payloads)) {
      return absl::InternalError("the server's answer is not an ExecuteResponse");
    }
    if (response.part_case() == v1::ExecuteResponse::kChunk) {
      std::vector<grpc::Slice> slices;
      if (!message->Dump(&slices).ok()) return absl::InternalError("the server sent a chunk that cannot be read");
      return attempt_->results_.Take(response.chunk(), payloads.empty() ? PayloadRange() : payloads[0], slices);
    }
    const size_t number = results_.size();
    if (number == attempt_->jobs_.size() || !IsResultOf(response.result(), *attempt_->jobs_[number])) {
      return absl::InternalError("the server sent a result that belongs to no operator of the request");
    }
    results_.push_back(std::move(*response.mutable_result()));
    return absl::OkStatus();
  }

  void Done(const Attempt& attempt) override {
    is_done_ = true;
    const bool is_whole = results_.size() == attempt_->jobs_.size();
    attempt_->End(attempt.status.ok() && !is_whole
                      ? Attempt{absl::InternalError("the server ended a stream without all results"), attempt.ids}
                      : attempt);
  }

 private:
  StreamAttempt* const attempt_;
  const grpc::Channel* const channel_;
  ChunkSource chunks_;
  std::optional<grpc::ByteBuffer> plan_;  // until it is sent
  int64_t sending_bytes_ = 0;
  std::vector<v1::OperationResult> results_;
  bool is_done_ = false;
  RawStream stream_;
};

void StreamAttempt::End(const Attempt& ended) {
  bool is_first_error = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_.status.ok()) {
      is_first_error = !ended.status.ok();
      ended_.status = ended.status;
      if (is_first_error || ended_.ids.request_id.empty()) ended_.ids = ended.ids;
    }
    --running_;
  }
  if (!is_first_error) return;
  for (const std::unique_ptr<Part>& part : parts_) part->stream().Cancel();
}

void StreamAttempt::Await(Connection* connection, absl::Time deadline) {
  Patience patience(deadline, call_.cancellation);
  const bool is_decided = patience.Await([this](absl::Time until) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(absl::Condition(this, &StreamAttempt::IsDecided), until);
  });
  {
    absl::MutexLock lock(&mutex_);
    if (is_decided) mutex_.AwaitWithTimeout(absl::Condition(this, &StreamAttempt::AllHaveEnded), Patience::kGrace);
    if (ended_.status.ok() && running_ > 0) ended_ = {patience.error(), {}};
  }
  for (const std::unique_ptr<Part>& part : parts_) {
    if (const grpc::Channel* stuck = part->GiveUp(); stuck != nullptr) connection->Leave(stuck);
  }
}

Attempt StreamAttempt::Run(Connection* connection, int parts, int64_t chunk_bytes, absl::Time deadline,
                           std::vector<v1::OperationResult>* results) {
  v1::Plan plan;
  for (Job* job : jobs_) plan.mutable_operations()->UnsafeArenaAddAllocated(&job->operation);
  if (parts > 1) {
    plan.set_job_id(NewJobId());
    plan.set_parts(static_cast<uint32_t>(parts));
  }
  {
    absl::MutexLock lock(&mutex_);
    running_ = parts;
  }
  for (int i = 0; i < parts; ++i) {
    plan.set_part(static_cast<uint32_t>(i));
    parts_.push_back(
        std::make_unique<Part>(this, connection->channel(i), ChunkSource(sent_.streams, i, parts, chunk_bytes), &plan));
  }
  while (plan.operations_size() > 0) plan.mutable_operations()->UnsafeArenaReleaseLast();
  for (const std::unique_ptr<Part>& part : parts_) {
    connection->Prepare(deadline, call_, part->stream().context());
    part->stream().Start();
  }
  results_.AllocateEarly();
  Await(connection, deadline);

  absl::MutexLock lock(&mutex_);
  if (ended_.status.ok()) {
    *results = std::move(*parts_[0]->results());
    ended_.status = results_.Finish(*results);
  }
  return ended_;
}

}  // namespace

absl::StatusOr<CallCost> CallWithStreams(Connection* connection, absl::Span<Job* const> jobs, int connections,
                                         int64_t chunk_bytes, int64_t max_plan_bytes, absl::Time deadline,
                                         const CallOptions& call, Repeat repeat,
                                         std::vector<v1::OperationResult>* results) {
  if (const absl::Status checked = CheckPlan(jobs, max_plan_bytes); !checked.ok()) return checked;
  int64_t to_send = 0;
  for (const Job* job : jobs) to_send += job->input_bytes();
  return connection->Try(deadline, call, repeat, [&] {
    if (call.progress != nullptr) {
      call.progress->bytes_to_send = to_send;
      call.progress->bytes_sent = 0;
      call.progress->bytes_received = 0;
    }
    Attempt attempt = StreamAttempt(jobs, call).Run(connection, connections, chunk_bytes, deadline, results);
    if (jobs.size() == 1) attempt.status = NamingArgument(attempt.status);
    return attempt;
  });
}

}  // namespace corank::client
