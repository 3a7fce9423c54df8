// The operators that move elements by counts: ExpandIntervals; Move-, Gather- and ScatterIntervals; LoadBalance.
#ifndef CORANK_SERVER_RUN_INTERVAL_OPERATIONS_H_
#define CORANK_SERVER_RUN_INTERVAL_OPERATIONS_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/model/operand.h"
#include "server/run/operation.h"
#include "server/run/rows_in_turn.h"

namespace corank {

class ExpandOperation final : public PhasedOperation, public RowsInTurn {
 public:
  struct Spec {
    Operand values;
    Operand counts;
    int64_t total = 0;  // the sum of the counts
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  explicit ExpandOperation(Spec spec);

  Operator op() const override { return Operator::kExpandIntervals; }
  int64_t work_bytes() const override;
  bool is_light() const override { return true; }
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;
  RowsInTurn* rows_in_turn() override { return InTurn() ? this : nullptr; }
  std::vector<const PendingResult*> results() const override { return {&result_}; }
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) override;

 private:
  bool InTurn() const;

  const Spec spec_;
  ExpandArgs args_;
  PendingResult result_;
  IntervalCursor cursor_{spec_.counts};
  IntervalCursor::Piece piece_;  // the piece in progress
};

/// Move, gather (no destination offsets) and scatter (no source offsets).
class MoveOperation final : public PhasedOperation, public RowsInTurn {
 public:
  struct Spec {
    Operator op = Operator::kMoveIntervals;
    Operand source;
    std::optional<Operand> source_offsets;
    std::optional<Operand> destination_offsets;
    Operand counts;
    int64_t total = 0;               // the sum of the counts
    int64_t result_count = 0;        // elements of the destination
    std::optional<Operand> initial;  // the destination's contents before; unset: zero bytes. A gather ignores it
    bool check_overlap = true;
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  explicit MoveOperation(Spec spec);

  Operator op() const override { return spec_.op; }
  int64_t work_bytes() const override;
  bool is_light() const override { return true; }
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;
  /// For a gather with its source on a device: any piece may read any part of it.
  RowsInTurn* rows_in_turn() override { return InTurn() ? this : nullptr; }
  std::vector<const PendingResult*> results() const override { return {&result_}; }
  Operand* whole_input() override { return &source_; }
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) override;

 private:
  bool InTurn() const;
  // Bytes of inputs and result.
  int64_t ArrayBytes() const;
  // The part of them in host memory.
  int64_t SpilledBytes() const;
  // Fills the result with the destination's previous contents.
  absl::Status FillResult(EngineStream& stream) const;

  const Spec spec_;
  Operand source_{spec_.source};
  MoveArgs args_;
  const void* d_initial_ = nullptr;
  PendingResult result_;
  IntervalCursor cursor_{spec_.counts};
  IntervalCursor::Piece piece_;          // the piece in progress
  std::vector<int64_t> source_offsets_;  // of the piece's intervals
};

class LoadBalanceOperation final : public PhasedOperation, public RowsInTurn {
 public:
  struct Spec {
    Operand counts;
    int64_t total = 0;  // the sum of the counts
    std::shared_ptr<ResultTarget> objects_target = nullptr, ranks_target = nullptr;
  };
  explicit LoadBalanceOperation(Spec spec);

  Operator op() const override { return Operator::kLoadBalance; }
  int64_t work_bytes() const override;
  bool is_light() const override { return true; }
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;
  RowsInTurn* rows_in_turn() override { return InTurn() ? this : nullptr; }
  std::vector<const PendingResult*> results() const override { return {&objects_, &ranks_}; }
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) override;

 private:
  bool InTurn() const;
  // Arguments to name the objects of `count` intervals with `rows` items: each number appears once for each item.
  ExpandArgs Naming(int64_t count, int64_t rows) const;

  const Spec spec_;
  LoadBalanceArgs args_;
  PendingResult objects_, ranks_;
  IntervalCursor cursor_{spec_.counts};
  IntervalCursor::Piece piece_;  // the piece in progress
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_INTERVAL_OPERATIONS_H_
