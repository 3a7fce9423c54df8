// MoveIntervals, GatherIntervals and ScatterIntervals.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_MOVE_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_MOVE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/model/operand.h"
#include "server/run/rows_in_turn.h"

namespace corank {

/// Move, gather (no destination offsets) and scatter (no source offsets). A gather with its source on a device makes
/// rows in turn: any piece may read any part of the source. Several devices share a gather with a part of the source in
/// the memory of each: the host cuts the intervals where the parts meet, and one launch for each part reads its rows,
/// over the link between the devices.
class MoveOperation final : public IntervalOperation {
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
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status FaultStatus(const OperatorReport& report) const override;
  Sharing sharing() const override;
  std::unique_ptr<Operation> Sharded(uint64_t devices) const override;
  std::vector<Operand*> whole_inputs() override { return {&source_}; }
  absl::Status MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                         OperatorReport* report) const override;
  int64_t interval_bytes() const override;
  int64_t interval_host_bytes() const override { return IsSharded(source_) ? interval_bytes() : 0; }

 private:
  bool InTurn() const override;
  int64_t PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const override;
  // Enqueues copies of a piece's intervals, cut by the parts of the source. Appends the launch for each part.
  absl::Status CutByParts(EngineStream& stream, const Piece& piece, const MoveArgs& whole,
                          std::vector<MoveArgs>& moves) const;
  // Bytes of inputs and result in host memory.
  int64_t SpilledBytes() const;
  // Fills the result with the destination's previous contents.
  absl::Status FillResult(EngineStream& stream) const;

  const Spec spec_;
  Operand source_{spec_.source};
  MoveArgs args_;
  const void* d_initial_ = nullptr;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_MOVE_H_
