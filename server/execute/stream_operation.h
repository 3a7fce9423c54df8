// The work of an Execute call: inputs come from a StreamExchange while it runs, answers go back to it.
#ifndef CORANK_SERVER_EXECUTE_STREAM_OPERATION_H_
#define CORANK_SERVER_EXECUTE_STREAM_OPERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/execute/operand.h"
#include "server/execute/operation.h"
#include "server/execute/run_sort.h"
#include "server/execute/stream_exchange.h"
#include "server/execute/stream_memory.h"
#include "server/execute/stream_merge.h"
#include "server/execute/stream_target.h"

namespace corank {

/// What an operation becomes once its streamed inputs are there.
struct PreparedOperation {
  std::unique_ptr<Operation> operation;
  std::vector<std::shared_ptr<StreamTarget>> targets;  // of its streamed results
};

/// One operator or a chain of them with streamed inputs or outputs, checked as far as possible before they come.
class StreamedRequest {
 public:
  virtual ~StreamedRequest() = default;
  /// Of the chain: 1 or more.
  virtual int size() const = 0;
  /// The first.
  virtual Operator op() const = 0;
  /// Makes an operation of the complete inputs, in the order of StreamExchange::inputs, or the error that names the
  /// field. Those before it were executed.
  virtual absl::StatusOr<PreparedOperation> Prepare(int operation, const std::vector<Operand>& inputs,
                                                    std::shared_ptr<StreamMemory> memory) = 0;
  /// The status with the operation's number in the field that it names, where there are several.
  virtual absl::Status Named(int operation, const absl::Status& status) const = 0;
  /// Whether all sizes are known before the first chunk comes.
  virtual bool is_size_known() const = 0;
  /// Upper bound of the device memory of each of the operations, inputs, results and workspace; a lower one where not
  /// all sizes are known.
  virtual int64_t device_bytes() const = 0;
  /// Of arrays and results that lie in memory of the host, since they are too much for the device's.
  virtual int64_t spilled_bytes() const = 0;
  /// The operation that was prepared last has made its results.
  virtual void Executed(const Outcome& outcome) = 0;
};

/// Takes a lane for as long as the caller sends and reads.
class StreamOperation final : public Operation {
 public:
  struct Spec {
    std::shared_ptr<StreamExchange> exchange;
    std::shared_ptr<StreamMemory> memory;
    std::shared_ptr<StreamedRequest> request;
    /// Where the request is one: its pieces are sorted while later ones come, instead of Prepare.
    std::optional<StreamedSort> sort;
    /// Where the request is one: rows leave while later ones come, instead of Prepare.
    std::optional<StreamedMerge> merge;
    int64_t piece_bytes = int64_t{16} << 20;
    /// Where the outcomes of all operations but the last go, committed. The vector outlives the operation.
    std::vector<Outcome>* earlier = nullptr;
  };
  explicit StreamOperation(Spec spec) : spec_(std::move(spec)) {}

  Operator op() const override { return spec_.request->op(); }
  int64_t work_bytes() const override;
  int64_t device_bytes(const Engine& engine) const override;
  int64_t host_bytes() const override;
  bool waits_for_caller() const override { return true; }
  absl::Status Execute(Lane& lane, Outcome& outcome) override;
  absl::Status Commit(Outcome& outcome) override;

 private:
  absl::Status ExecuteSort(Lane& lane, Outcome& outcome);
  absl::Status ExecuteMerge(Lane& lane, Outcome& outcome);
  absl::Status ExecuteWhole(Lane& lane, Outcome& outcome);
  // The memory of the lane where they lie is about to be used again.
  static void OwnSmallResults(Outcome& outcome);
  // A copy of the input, which is on another device, takes its place.
  absl::Status BringNear(EngineStream& stream, Operand* input, Outcome& outcome);
  // Makes the result in pieces and sends each before the next is made.
  absl::Status SendInTurn(RowsInTurn& rows, const std::vector<std::shared_ptr<StreamTarget>>& targets, Lane& lane,
                          Outcome& outcome);
  absl::Status SendWhole(const StreamTarget& target, const ResultArray& result, Lane& lane, Outcome& outcome);
  absl::Status ExecuteOne(int index, const std::vector<Operand>& inputs, Lane& lane, Outcome& outcome);

  const Spec spec_;
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_STREAM_OPERATION_H_
