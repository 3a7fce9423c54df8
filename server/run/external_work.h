// Work on large arrays that can run piece by piece.
#ifndef CORANK_SERVER_RUN_EXTERNAL_WORK_H_
#define CORANK_SERVER_RUN_EXTERNAL_WORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "server/run/chunk_pipe.h"
#include "server/run/job_memory.h"
#include "server/run/operation.h"
#include "server/run/plan.h"

namespace corank {

/// The means of an external sort or merge.
struct ExternalMeans {
  std::shared_ptr<JobMemory> memory;
  std::shared_ptr<ChunkPipe> pipe = nullptr;  // carries arrays and results; null: they are in host memory
  int64_t piece_bytes = int64_t{16} << 20;    // least size of a sort's piece
  bool is_collected = false;                  // the pipe has brought all arrays, and they are in host memory

  /// The pipe that brings chunks of arrays; null: they are in host memory.
  ChunkPipe* source() const { return is_collected ? nullptr : pipe.get(); }
  /// Number of calls that send chunks concurrently; 0: no chunks.
  int64_t parts() const { return source() == nullptr ? 0 : pipe->options().parts; }
};

/// The base of external sorts and merges. With a pipe, it takes a lane for as long as the caller sends and reads.
class ExternalOperation : public Operation {
 public:
  Operator op() const final { return op_; }
  int64_t work_bytes() const final { return means_.pipe == nullptr ? work_bytes_ : means_.pipe->announced_bytes(); }
  bool waits_for_caller() const final { return means_.pipe != nullptr; }
  absl::Status Execute(Lane& lane, Outcome& outcome) final {
    means_.memory->SetEngine(&lane.engine());
    if (means_.source() == nullptr) return Work(lane, outcome);
    return means_.pipe->Run([&] { return Work(lane, outcome); }, &outcome.stats);
  }

 protected:
  /// `whole`: the same work on whole arrays.
  ExternalOperation(const Operation& whole, ExternalMeans means)
      : means_(std::move(means)), op_(whole.op()), work_bytes_(whole.work_bytes()) {}

  const ExternalMeans means_;

 private:
  virtual absl::Status Work(Lane& lane, Outcome& outcome) = 0;

  const Operator op_;
  const int64_t work_bytes_;
};

/// What a sort or a merge tells the planner about itself. Owns its arrays as the operation does.
struct ExternalWork {
  Strategy strategy = Strategy::kExternalSort;
  bool is_streamed = false;         // all its arrays come in chunks
  bool needs_whole_arrays = false;  // streams must have arrived before it starts; they are collected in host memory
  bool keeps_first_rows = false;    // and no others
  bool may_fit_whole = false;       // it may need less host memory as a whole, on the device
  /// It is slower than the work as a whole, which then runs if it fits on the device. The announced lengths of its
  /// arrays determine what that takes.
  bool prefers_whole = false;
  /// Upper bound of its pinned memory. `parts`: number of calls that send chunks concurrently; 0: no chunks.
  std::function<int64_t(int64_t parts, int64_t piece_bytes, const JobMemory& memory)> host_bytes;
  std::function<std::unique_ptr<Operation>(ExternalMeans means)> make;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_EXTERNAL_WORK_H_
