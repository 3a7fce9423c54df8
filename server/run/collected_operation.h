// The work of an Execute call whose operators need complete arrays: it collects its inputs from a ChunkPipe, and
// returns answers to it.
#ifndef CORANK_SERVER_RUN_COLLECTED_OPERATION_H_
#define CORANK_SERVER_RUN_COLLECTED_OPERATION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/model/operand.h"
#include "server/run/chunk_pipe.h"
#include "server/run/job_memory.h"
#include "server/run/job_parts.h"
#include "server/run/operation.h"
#include "server/run/stream_target.h"

namespace corank {

struct ExternalWork;

/// An operation made after its streamed inputs arrived.
struct PreparedOperation {
  std::unique_ptr<Operation> operation;
  std::vector<std::shared_ptr<StreamTarget>> targets;  // for its streamed results
  std::vector<std::shared_ptr<PartsTarget>> parts;     // for results that are made in parts, but have another place
  int64_t part_bytes = 0;                              // that results in parts take of a device of the job
};

/// One operator, or a chain of them, with streamed inputs or outputs. It is checked as far as possible before the
/// inputs arrive.
class StreamedRequest {
 public:
  virtual ~StreamedRequest() = default;
  /// Number of operations, 1 or more.
  virtual int size() const = 0;
  /// The first operator.
  virtual Operator op() const = 0;
  /// Makes an operation from the complete inputs, in the order of ChunkPipe::inputs, or returns an error that
  /// names the field. Earlier operations have been executed.
  virtual absl::StatusOr<PreparedOperation> Bind(int operation, const std::vector<Operand>& inputs,
                                                 std::shared_ptr<JobMemory> memory) = 0;
  /// Adds the path of the operation to the field that the status names.
  virtual absl::Status Named(int operation, const absl::Status& status) const = 0;
  /// Whether all sizes are known before the first chunk arrives.
  virtual bool is_size_known() const = 0;
  /// Upper bound of the device memory of each operation: inputs, results and workspace. A lower bound if some sizes are
  /// unknown.
  virtual int64_t device_bytes() const = 0;
  /// The devices of its sharded arrays and results, as a mask, which all work on it; 0: it has none.
  virtual uint64_t shard_devices() const { return 0; }
  /// Set if the first operation, the only one, can work piece by piece on arrays in host memory. It does if they are
  /// spilled, or if it turns out that it does not fit on the device as a whole.
  virtual const ExternalWork* external() const { return nullptr; }
  /// Bytes of arrays and results in host memory because they do not fit on the device.
  virtual int64_t spilled_bytes() const = 0;
  /// The last prepared operation has made its results.
  virtual void Executed(const Outcome& outcome) = 0;
};

/// Takes a lane for as long as the caller sends and reads.
class CollectedOperation final : public Operation {
 public:
  struct Spec {
    std::shared_ptr<ChunkPipe> pipe;
    std::shared_ptr<JobMemory> memory;
    std::shared_ptr<StreamedRequest> request;
    int64_t piece_bytes = int64_t{16} << 20;
    /// Receives the committed outcomes of all operations but the last. The vector outlives the operation.
    std::vector<Outcome>* earlier = nullptr;
  };
  explicit CollectedOperation(Spec spec) : spec_(std::move(spec)) {}

  Operator op() const override { return spec_.request->op(); }
  int64_t work_bytes() const override { return spec_.pipe->announced_bytes(); }
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  bool waits_for_caller() const override { return true; }
  absl::Status Execute(Lane& lane, Outcome& outcome) override;
  absl::Status Commit(Outcome& outcome) override;

 private:
  absl::Status ExecuteAll(Lane& lane, Outcome& outcome);
  // Copies small results out of the lane's memory, which is about to be reused.
  static void OwnSmallResults(Outcome& outcome);
  // Replaces an input that is not on this device by a copy that is, if there is room.
  absl::Status BringNear(EngineStream& stream, Operand* input, Outcome& outcome);
  // Makes the result in pieces and sends each before it makes the next.
  absl::Status SendInTurn(RowsInTurn& rows, const std::vector<std::shared_ptr<StreamTarget>>& targets, Lane& lane,
                          Outcome& outcome);
  absl::Status SendWhole(const StreamTarget& target, const ResultArray& result, Lane& lane, Outcome& outcome);
  // Brings results that were made in parts to their places.
  absl::Status BringParts(const PreparedOperation& prepared, Lane& lane, Outcome& outcome);
  absl::Status SendParts(const StreamTarget& target, const JobParts& parts, Lane& lane, Outcome& outcome);
  absl::Status ExecuteOne(int index, std::vector<Operand>& inputs, Lane& lane, Outcome& outcome);
  // Moves all inputs on the device to host memory.
  absl::Status MoveToHost(std::vector<Operand>& inputs, EngineStream& stream, Outcome& outcome);
  // Works piece by piece on inputs in host memory.
  absl::Status ExecuteInPieces(const Operation& whole, Lane& lane, Outcome& outcome);

  const Spec spec_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_COLLECTED_OPERATION_H_
