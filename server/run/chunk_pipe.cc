#include "server/run/chunk_pipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/common/types.h"
#include "kernels/engine/alignment.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/base/steady_wait.h"
#include "server/run/stream_options.h"

namespace corank {
namespace {

// How often a waiting lane checks whether its work is still wanted. Cancellations wake it immediately.
constexpr absl::Duration kLookUp = absl::Milliseconds(500);
// After this long a job counts as stalled, and another job may use its lane's place.
constexpr absl::Duration kPatience = absl::Milliseconds(50);
// How long an answer waits for pinned memory, and how often it retries.
constexpr absl::Duration kPoolPatience = absl::Seconds(10);
constexpr absl::Duration kPoolRetry = absl::Milliseconds(5);

absl::Status BadChunk(absl::string_view field, absl::string_view text) {
  return InvalidField(absl::StrCat("chunk.", field), text);
}

// Bytes of all inputs; -1: unknown.
int64_t AllBytes(const std::vector<StreamInput>& inputs) {
  int64_t bytes = 0;
  for (const StreamInput& input : inputs) {
    if (input.count < 0 || __builtin_add_overflow(bytes, input.count * input.element_bytes, &bytes)) return -1;
  }
  return bytes;
}

// Marks a lane as stalled once its wait for the caller takes longer than kPatience.
class Standstill {
 public:
  explicit Standstill(Lane& lane) : lane_(lane) {}
  ~Standstill() {
    if (begun_) lane_.SetStalled(false);
  }
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;
  void Begin() {
    if (!begun_) lane_.SetStalled(true);
    begun_ = true;
  }
  /// Time until the next action is due.
  absl::Duration pause() const { return begun_ ? kLookUp : kPatience; }

 private:
  Lane& lane_;
  bool begun_ = false;
};

}  // namespace

void ChunkPipe::Span::Add(Instant now) {
  if (!first) first = now;
  last = now;
}

int64_t ChunkPipe::Span::Nanoseconds() const { return first ? corank::Nanoseconds(*first, *last) : 0; }

absl::StatusOr<std::shared_ptr<ChunkPipe>> ChunkPipe::Create(const Options& options, std::vector<StreamInput> inputs,
                                                             std::shared_ptr<HostPool> pool, const Clock* clock) {
  std::shared_ptr<ChunkPipe> pipe(new ChunkPipe(options, std::move(inputs), pool, clock));
  if (pipe->Least() > pool->max_bytes()) {
    return TooLargeField("plan",
                         absl::StrCat("its streams need ", pipe->Least(), " bytes of the server's host memory, but ",
                                      "host_pool_bytes is ", pool->max_bytes()));
  }
  return pipe;
}

absl::Status ChunkPipe::Reserve() {
  CORANK_ASSIGN_OR_RETURN(reserved_, pool_->Reserve(Least()));
  {
    absl::MutexLock lock(&mutex_);
    input_window_ = LeastInput();
    output_window_ = LeastOutput();
  }
  WakeAll();
  return absl::OkStatus();
}

ChunkPipe::ChunkPipe(const Options& options, std::vector<StreamInput> inputs, std::shared_ptr<HostPool> pool,
                     const Clock* clock)
    : options_(options),
      inputs_(std::move(inputs)),
      input_bytes_(AllBytes(inputs_)),
      pool_(std::move(pool)),
      clock_(clock),
      parts_(static_cast<size_t>(options.parts)),
      progress_(inputs_.size()) {
  for (Progress& progress : progress_) progress.parts.resize(static_cast<size_t>(options.parts));
}

int64_t ChunkPipe::tile_bytes() const { return TileBytes(options_.window_bytes); }

int64_t ChunkPipe::LeastInput() const {
  const bool is_small = input_bytes_ >= 0 && input_bytes_ < options_.max_chunk_bytes;
  return HostPool::BufferBytes(is_small ? input_bytes_ : options_.max_chunk_bytes);
}

int64_t ChunkPipe::LeastOutput() const {
  const int64_t tile = std::max(tile_bytes(), int64_t{2} * kMaxRecordBytes + kArrayAlignment);  // at least one row
  if (options_.output_bytes < 0 || options_.output_bytes > tile) return HostPool::BufferBytes(tile);
  return HostPool::BufferBytes(std::min(tile, options_.output_bytes + kArrayAlignment));
}

void ChunkPipe::Join(int part, std::shared_ptr<StreamPart> call) {
  absl::MutexLock lock(&mutex_);
  parts_[static_cast<size_t>(part)].call = std::move(call);
}

void ChunkPipe::Leave(int part) {
  std::shared_ptr<StreamPart> call;  // released without the lock
  absl::MutexLock lock(&mutex_);
  call = std::move(parts_[static_cast<size_t>(part)].call);
}

bool ChunkPipe::MayRead(int part, int ahead) const {
  absl::MutexLock lock(&mutex_);
  return (1 + ahead) * LeastInput() <= input_window_ - parts_[static_cast<size_t>(part)].window_used;
}

absl::StatusOr<InputChunk> ChunkPipe::Accept(int part, const v1::ArrayChunk& chunk, int64_t bytes,
                                             std::shared_ptr<void> received) {
  InputChunk accepted;
  const int64_t taken = bytes == 0 ? 0 : HostPool::BufferBytes(bytes);
  {
    absl::MutexLock lock(&mutex_);
    CORANK_RETURN_IF_ERROR(status_);
    CORANK_RETURN_IF_ERROR(Note(part, chunk, bytes, &accepted));
    receiving_.Add(clock_->Now());
    parts_[static_cast<size_t>(part)].window_used += taken;
  }
  if (bytes == 0) return accepted;
  absl::StatusOr<std::shared_ptr<void>> memory = std::move(received);
  if (*memory == nullptr) memory = TakeInput(bytes);
  if (!memory.ok()) {
    ReleaseInput(part, taken);
    return memory.status();
  }
  void* const data = memory->get();
  accepted.bytes =
      std::shared_ptr<void>(data, [self = shared_from_this(), part, taken, memory = *std::move(memory)](void*) mutable {
        memory.reset();
        self->ReleaseInput(part, taken);
      });
  return accepted;
}

absl::Status ChunkPipe::Note(int part, const v1::ArrayChunk& chunk, int64_t bytes, InputChunk* accepted) {
  const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&chunk](const StreamInput& candidate) {
    return candidate.stream_id == chunk.stream_id();
  });
  if (input == inputs_.end()) {
    return BadChunk("stream_id", absl::StrCat("no input of the plan has the stream_id ", chunk.stream_id()));
  }
  if (bytes > options_.max_chunk_bytes) {
    return BadChunk("data", absl::StrCat(bytes, " bytes are more than max_chunk_bytes, ", options_.max_chunk_bytes));
  }
  if (bytes % input->element_bytes != 0) {
    return BadChunk("data", absl::StrCat(bytes, " bytes are not a whole number of elements of ", input->element_bytes,
                                         " bytes, as in ", input->field));
  }
  accepted->input = static_cast<size_t>(input - inputs_.begin());
  accepted->first_element = chunk.first_element();
  accepted->count = bytes / input->element_bytes;
  Progress& progress = progress_[accepted->input];
  Range& range = progress.parts[static_cast<size_t>(part)];
  const int64_t first = chunk.first_element();
  if (progress.ended) return BadChunk("first_element", absl::StrCat("an empty chunk has already ended ", input->field));
  const bool may_begin_anywhere = options_.parts > 1 && range.begin < 0;
  if (may_begin_anywhere ? first < 0 : first != range.next) {
    return BadChunk("first_element", absl::StrCat(first, ", but the next element of ", input->field, " is ",
                                                  may_begin_anywhere ? 0 : range.next));
  }
  if (input->count >= 0 && (first > input->count || accepted->count > input->count - first)) {
    return BadChunk("data", absl::StrCat(accepted->count, " elements from ", first, " on, but ", input->field, " has ",
                                         input->count));
  }
  if (accepted->count == 0) {
    progress.ended = input->count < 0;
    return absl::OkStatus();
  }
  for (const Range& other : progress.parts) {
    if (&other == &range || other.begin < 0) continue;
    if (first < other.next && other.begin < first + accepted->count) {
      return BadChunk("first_element", absl::StrCat("elements ", first, " to ", first + accepted->count - 1, " of ",
                                                    input->field, " also arrived from another part of the job"));
    }
  }
  if (range.begin < 0) range.begin = first;
  range.next = first + accepted->count;
  return absl::OkStatus();
}

void ChunkPipe::Add(InputChunk chunk) {
  // If the job has failed, `chunk` frees its memory without the lock, which freeing needs.
  absl::MutexLock lock(&mutex_);
  progress_[chunk.input].received += chunk.count;
  if (status_.ok() && chunk.bytes != nullptr) received_.push_back(std::move(chunk));
}

bool ChunkPipe::IsComplete(size_t input) const {
  return inputs_[input].count < 0 ? progress_[input].ended : progress_[input].received == inputs_[input].count;
}

bool ChunkPipe::AllComplete() const {
  for (size_t input = 0; input < inputs_.size(); ++input) {
    if (!IsComplete(input)) return false;
  }
  return true;
}

// Whether all parts have half-closed. Receive waits for that, so that excess data from a part fails the job before the
// job succeeds.
bool ChunkPipe::AllEnded() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.input_ended; });
}

absl::Status ChunkPipe::EndInput(int part) {
  absl::MutexLock lock(&mutex_);
  parts_[static_cast<size_t>(part)].input_ended = true;
  if (!AllEnded()) return absl::OkStatus();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (IsComplete(i)) continue;
    if (inputs_[i].count < 0) {
      return InvalidField(inputs_[i].field, "the caller finished sending without an empty chunk to end the array");
    }
    return InvalidField(inputs_[i].field, absl::StrCat("the caller finished sending, but only ", progress_[i].received,
                                                       " of ", inputs_[i].count, " elements arrived"));
  }
  return absl::OkStatus();
}

std::optional<OutputChunk> ChunkPipe::TakeOutput() {
  absl::MutexLock lock(&mutex_);
  if (outputs_.empty()) return std::nullopt;
  OutputChunk chunk = std::move(outputs_.front());
  outputs_.pop_front();
  return chunk;
}

std::optional<std::vector<Bytes>> ChunkPipe::Results() const {
  absl::MutexLock lock(&mutex_);
  return outputs_.empty() ? results_ : std::nullopt;
}

bool ChunkPipe::Fail(const absl::Status& status, int part) {
  std::vector<InputChunk> received;  // memory is freed without the lock
  std::deque<OutputChunk> outputs;
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok() || (results_ && outputs_.empty())) return false;
    status_ = status;
    failed_part_ = part;
    received.swap(received_);
    outputs.swap(outputs_);
  }
  WakeAll();
  return true;
}

bool ChunkPipe::has_succeeded() const {
  absl::MutexLock lock(&mutex_);
  return results_.has_value();
}

absl::Status ChunkPipe::status() const {
  absl::MutexLock lock(&mutex_);
  return status_;
}

absl::Status ChunkPipe::StatusFor(int part) const {
  absl::MutexLock lock(&mutex_);
  const v1::ErrorReason cause = ReasonOf(status_);
  const bool is_own = failed_part_ == kAllParts || failed_part_ == part;
  if (is_own || cause == v1::ERROR_REASON_UNSPECIFIED) return status_;
  return Error(v1::ERROR_REASON_JOB_PART_LOST,
               absl::StrCat("part ", failed_part_, " of the job ended early: ", status_.message()),
               {{"part", absl::StrCat(failed_part_)}, {"cause", ReasonName(cause)}});
}

void ChunkPipe::Begin() {
  // Twice the bytes, because chunks and tiles rarely fill their buffers.
  const auto most = [this](int64_t least, int64_t bytes) {
    const bool is_small = bytes >= 0 && bytes < options_.window_bytes / 2;
    return std::max(least, is_small ? 2 * bytes : options_.window_bytes);
  };
  const int64_t input = most(LeastInput(), input_bytes_) - LeastInput();
  const int64_t output = most(LeastOutput(), options_.output_bytes) - LeastOutput();
  const int64_t grown = pool_->Grow(*reserved_, options_.parts * input + output);
  const int64_t for_output = std::min(output, std::max(grown / 2, grown - options_.parts * input));
  {
    absl::MutexLock lock(&mutex_);
    output_window_ += for_output;
    input_window_ += (grown - for_output) / options_.parts;
  }
  WakeAll();
}

// A stalled caller must not hold a lane forever, whatever its deadline.
absl::Status ChunkPipe::CheckIdle(Instant since, absl::string_view what) const {
  if (clock_->Now() - since < absl::ToChronoNanoseconds(options_.idle_timeout)) return absl::OkStatus();
  return StreamIdle(what, options_.idle_timeout);
}

absl::Status ChunkPipe::Run(absl::FunctionRef<absl::Status()> work, v1::RequestStats* stats) {
  Begin();
  const absl::Status status = work();
  stats->set_receive_ns(receive_ns());
  stats->set_send_ns(send_ns());
  return status;
}

absl::StatusOr<std::vector<InputChunk>> ChunkPipe::Receive(Lane& lane) {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !status_.ok() || !received_.empty() || (AllComplete() && AllEnded());
  };
  const Instant since = clock_->Now();
  for (Standstill standstill(lane);; standstill.Begin()) {
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    CORANK_RETURN_IF_ERROR(CheckIdle(since, "sent"));
    absl::MutexLock lock(&mutex_);
    if (!AwaitSteadily(&mutex_, absl::Condition(&ready), standstill.pause())) continue;
    CORANK_RETURN_IF_ERROR(status_);
    return std::exchange(received_, {});
  }
}

int64_t ChunkPipe::received(size_t input) const {
  absl::MutexLock lock(&mutex_);
  return progress_[input].received;
}

absl::StatusOr<std::shared_ptr<void>> ChunkPipe::TakeBuffer(Lane& lane, int64_t bytes, bool wait) {
  const int64_t taken = HostPool::BufferBytes(bytes);
  const auto ready = [this, taken]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !status_.ok() || output_used_ == 0 || taken <= output_window_ - output_used_;
  };
  const Instant since = clock_->Now();
  for (Standstill standstill(lane);; standstill.Begin()) {
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    CORANK_RETURN_IF_ERROR(CheckIdle(since, "taken"));
    absl::MutexLock lock(&mutex_);
    if (!AwaitSteadily(&mutex_, absl::Condition(&ready), wait ? standstill.pause() : absl::ZeroDuration())) {
      if (wait) continue;
      return nullptr;
    }
    CORANK_RETURN_IF_ERROR(status_);
    output_used_ += taken;
    break;
  }
  absl::StatusOr<std::shared_ptr<void>> memory = TakeFromPool(lane, bytes);
  if (!memory.ok()) {
    ReleaseOutput(taken);
    return memory.status();
  }
  void* const data = memory->get();
  return std::shared_ptr<void>(data, [self = shared_from_this(), taken, memory = *std::move(memory)](void*) mutable {
    memory.reset();
    self->ReleaseOutput(taken);
  });
}

absl::StatusOr<std::shared_ptr<void>> ChunkPipe::TakeFromPool(Lane& lane, int64_t bytes) {
  // The pool has room, but the host may lack memory. Finished work is worth a wait.
  for (const Instant end = clock_->Now() + absl::ToChronoNanoseconds(kPoolPatience);;) {
    absl::StatusOr<std::shared_ptr<void>> memory = pool_->Take(bytes, reserved_);
    if (memory.ok() || !absl::IsResourceExhausted(memory.status()) || clock_->Now() >= end) return memory;
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    absl::SleepFor(kPoolRetry);
  }
}

int64_t ChunkPipe::output_room() const {
  absl::MutexLock lock(&mutex_);
  return std::max<int64_t>(0, output_window_ - output_used_);
}

void ChunkPipe::Send(OutputChunk chunk) {
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return;
    sending_.Add(clock_->Now());
    outputs_.push_back(std::move(chunk));
  }
  WakeAll();
}

void ChunkPipe::Succeed(std::vector<Bytes> results) {
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return;
    results_ = std::move(results);
  }
  WakeAll();
}

int64_t ChunkPipe::received_bytes() const {
  absl::MutexLock lock(&mutex_);
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) bytes += progress_[i].received * inputs_[i].element_bytes;
  return bytes;
}

int64_t ChunkPipe::receive_ns() const {
  absl::MutexLock lock(&mutex_);
  return receiving_.Nanoseconds();
}

int64_t ChunkPipe::send_ns() const {
  absl::MutexLock lock(&mutex_);
  return sending_.Nanoseconds();
}

void ChunkPipe::ReleaseInput(int part, int64_t bytes) {
  std::shared_ptr<StreamPart> call;
  {
    absl::MutexLock lock(&mutex_);
    parts_[static_cast<size_t>(part)].window_used -= bytes;
    call = parts_[static_cast<size_t>(part)].call;
  }
  if (call != nullptr) call->Wake();
}

void ChunkPipe::ReleaseOutput(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  output_used_ -= bytes;
}

void ChunkPipe::WakeAll() {
  std::vector<std::shared_ptr<StreamPart>> calls;
  {
    absl::MutexLock lock(&mutex_);
    for (const Part& part : parts_) {
      if (part.call != nullptr) calls.push_back(part.call);
    }
  }
  for (const std::shared_ptr<StreamPart>& call : calls) call->Wake();
}

}  // namespace corank
