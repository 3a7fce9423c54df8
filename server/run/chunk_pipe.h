// Connects a streamed job with its calls: input chunks pass one way, answer chunks the other, each within a window of
// bytes.
#ifndef CORANK_SERVER_RUN_CHUNK_PIPE_H_
#define CORANK_SERVER_RUN_CHUNK_PIPE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "corank/v1/array.pb.h"
#include "server/base/bytes.h"
#include "server/base/clock.h"
#include "server/memory/host_pool.h"
#include "server/run/operation.h"

namespace corank {

/// A streamed input of a plan.
struct StreamInput {
  std::string field;  // the Array's path, such as "keys", which errors name
  uint32_t stream_id = 0;
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = -1;       // -1: the caller ends the array with an empty chunk
  bool is_control = false;  // counts or offsets, which the host reads
  bool is_spilled = false;  // stays in pinned host memory, where kernels read it
  bool may_spill = false;   // may move to the host while it arrives, if the request's device memory has no room

  bool waits_on_host() const { return is_control || is_spilled; }
};

/// A piece of an input in pinned memory.
struct InputChunk {
  size_t input = 0;  // index of the StreamInput
  int64_t first_element = 0;
  int64_t count = 0;
  std::shared_ptr<void> bytes;
};

/// A piece of an output. Its bytes are sent from where they are.
struct OutputChunk {
  uint32_t stream_id = 0;
  int64_t first_element = 0;
  int64_t size_bytes = 0;
  std::shared_ptr<const void> bytes;
};

/// A call that belongs to a job.
class StreamPart {
 public:
  virtual ~StreamPart() = default;
  /// There may be something to read, write or end. Called on any thread, never under the pipe's lock; must not
  /// block.
  virtual void Wake() = 0;
};

/// Thread-safe. Each part's chunks wait in a window of pinned memory, and so do the answers of the job. The
/// indispensable minimum, a chunk of each part and a tile of the answer, is reserved before anything is read. Once a
/// lane works on the job, its windows grow as the pool allows. So lack of memory slows a job down but does not make it
/// fail.
class ChunkPipe : public std::enable_shared_from_this<ChunkPipe> {
 public:
  static constexpr int kAllParts = -1;

  struct Options {
    /// Most bytes of a window.
    int64_t window_bytes = int64_t{64} << 20;
    /// Upper bound of the answer's bytes; -1: unknown.
    int64_t output_bytes = -1;
    int64_t max_chunk_bytes = int64_t{1} << 20;
    int parts = 1;
    /// How long a lane waits for a caller that neither sends nor reads.
    absl::Duration idle_timeout = absl::Minutes(1);
  };

  /// Takes nothing from the pool yet. INVALID_ARGUMENT: the pool can never hold the minimum.
  static absl::StatusOr<std::shared_ptr<ChunkPipe>> Create(const Options& options, std::vector<StreamInput> inputs,
                                                           std::shared_ptr<HostPool> pool, const Clock* clock);

  /// Reserves the job's minimum and lets its parts read. Call it once; before that, only Join, Leave and Fail have an
  /// effect. RESOURCE_EXHAUSTED with RetryInfo: the pool is full.
  absl::Status Reserve();

  const std::vector<StreamInput>& inputs() const { return inputs_; }
  const Options& options() const { return options_; }
  /// Bytes of all inputs; 0 if unknown.
  int64_t announced_bytes() const { return std::max<int64_t>(0, input_bytes_); }
  /// Bytes of an answer's tile, so that several fit into a full window. A longer row is a tile of its own.
  int64_t tile_bytes() const;

  // For calls. `part` counts from 0, and one thread at a time uses each part.

  void Join(int part, std::shared_ptr<StreamPart> call);
  void Leave(int part);
  /// Whether one more chunk fits into the part's window beside `ahead` others that were not accepted yet. If not, Wake
  /// tells when to ask again.
  bool MayRead(int part, int ahead) const;
  /// Memory of a window for the data of a chunk, of 1 byte or more, that comes before the rest of it is known. After
  /// MayRead only.
  absl::StatusOr<std::shared_ptr<void>> TakeInput(int64_t bytes) { return pool_->Take(bytes, reserved_); }
  /// Checks a chunk, whose data has `bytes` bytes, and takes memory for it unless TakeInput did; null if there are no
  /// bytes. The caller fills the memory and passes the chunk to Add. INVALID_ARGUMENT names the chunk's field.
  /// RESOURCE_EXHAUSTED with RetryInfo: the host has less pinned memory than the pool was promised.
  absl::StatusOr<InputChunk> Accept(int part, const v1::ArrayChunk& chunk, int64_t bytes,
                                    std::shared_ptr<void> taken = nullptr);
  void Add(InputChunk chunk);
  /// The part sends no more. INVALID_ARGUMENT if an array is incomplete.
  absl::Status EndInput(int part);
  /// The next piece of the answer, for any part.
  std::optional<OutputChunk> TakeOutput();
  /// The results, once the job has succeeded and all chunks are taken.
  std::optional<std::vector<Bytes>> Results() const;
  /// Whether the job has succeeded and only its answer is left to send.
  bool has_succeeded() const;
  /// Ends the job on all parts. False if it had already ended: the first status counts. `part`: the part that failed,
  /// or kAllParts.
  bool Fail(const absl::Status& status, int part = kAllParts);
  /// Not OK once the job failed.
  absl::Status status() const;
  /// The same for the caller of a part: ABORTED if another part failed.
  absl::Status StatusFor(int part) const;

  // For the lane.

  /// A lane works on the job from now on. Call it once.
  void Begin();
  /// Begins, does the work, and records how long chunks came and went.
  absl::Status Run(absl::FunctionRef<absl::Status()> work, v1::RequestStats* stats);
  /// Waits for chunks. Empty: all inputs are complete and all parts are half-closed. Errors: those of Fail and of
  /// Lane::CheckWanted; DEADLINE_EXCEEDED if nothing arrives for the idle timeout.
  absl::StatusOr<std::vector<InputChunk>> Receive(Lane& lane);
  /// Elements of an input received so far; all of them once Receive returned none.
  int64_t received(size_t input) const;
  /// Pinned memory of the answer's window. Waits for it; without `wait`, null if there is no room now. May exceed the
  /// window if nothing else is out. Errors as for Receive.
  absl::StatusOr<std::shared_ptr<void>> TakeBuffer(Lane& lane, int64_t bytes, bool wait);
  void Send(OutputChunk chunk);
  /// Bytes that TakeBuffer could return now. Only the lane reduces them.
  int64_t output_room() const;
  /// The job is done. Its results follow the chunks.
  void Succeed(std::vector<Bytes> results);
  /// Bytes of all inputs.
  int64_t received_bytes() const;
  /// Nanoseconds from the first chunk to the last one.
  int64_t receive_ns() const;
  int64_t send_ns() const;

 private:
  struct Range {
    int64_t begin = -1;  // -1: no chunk yet
    int64_t next = 0;
  };
  struct Progress {
    std::vector<Range> parts;
    int64_t received = 0;
    bool ended = false;
  };
  struct Part {
    std::shared_ptr<StreamPart> call;
    int64_t window_used = 0;
    bool input_ended = false;
  };
  struct Span {
    std::optional<Instant> first, last;
    void Add(Instant now);
    int64_t Nanoseconds() const;
  };

  ChunkPipe(const Options& options, std::vector<StreamInput> inputs, std::shared_ptr<HostPool> pool,
            const Clock* clock);
  // Bytes of the minimum for one part, and for the answer.
  int64_t LeastInput() const;
  int64_t LeastOutput() const;
  int64_t Least() const { return options_.parts * LeastInput() + LeastOutput(); }
  absl::Status Note(int part, const v1::ArrayChunk& chunk, int64_t bytes, InputChunk* accepted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsComplete(size_t input) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<void>> TakeFromPool(Lane& lane, int64_t bytes);
  absl::Status CheckIdle(Instant since, absl::string_view what) const;
  void ReleaseInput(int part, int64_t bytes);
  void ReleaseOutput(int64_t bytes);
  void WakeAll();

  const Options options_;
  const std::vector<StreamInput> inputs_;
  const int64_t input_bytes_;  // -1: unknown
  const std::shared_ptr<HostPool> pool_;
  const Clock* const clock_;
  std::shared_ptr<HostPool::Reservation> reserved_;  // set once, by Reserve; holds all windows
  mutable absl::Mutex mutex_;
  int64_t input_window_ ABSL_GUARDED_BY(mutex_) = 0;  // of each part
  int64_t output_window_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  int failed_part_ ABSL_GUARDED_BY(mutex_) = kAllParts;
  std::optional<std::vector<Bytes>> results_ ABSL_GUARDED_BY(mutex_);
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);
  std::vector<Progress> progress_ ABSL_GUARDED_BY(mutex_);
  std::vector<InputChunk> received_ ABSL_GUARDED_BY(mutex_);
  std::deque<OutputChunk> outputs_ ABSL_GUARDED_BY(mutex_);
  int64_t output_used_ ABSL_GUARDED_BY(mutex_) = 0;
  Span receiving_ ABSL_GUARDED_BY(mutex_), sending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_CHUNK_PIPE_H_
