// ExpandIntervals: each value as often as its count says.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_EXPAND_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_EXPAND_H_

#include <cstdint>
#include <memory>

#include "server/model/operand.h"
#include "server/run/rows_in_turn.h"

namespace corank {

class ExpandOperation final : public IntervalOperation {
 public:
  struct Spec {
    Operand values;
    Operand counts;
    int64_t total = 0;  // the sum of the counts
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  explicit ExpandOperation(Spec spec);

  Operator op() const override { return Operator::kExpandIntervals; }
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.Expand(args_, report); }
  std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const override;
  absl::Status MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                         OperatorReport* report) const override;
  int64_t interval_bytes() const override;

 private:
  bool InTurn() const override { return TakesRows(spec_.target); }
  int64_t PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const override;

  const Spec spec_;
  ExpandArgs args_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_EXPAND_H_
