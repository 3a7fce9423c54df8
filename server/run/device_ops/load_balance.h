// LoadBalance: the object of each work item, and the item's rank in it.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_LOAD_BALANCE_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_LOAD_BALANCE_H_

#include <cstdint>
#include <memory>

#include "server/model/operand.h"
#include "server/run/rows_in_turn.h"

namespace corank {

class LoadBalanceOperation final : public IntervalOperation {
 public:
  struct Spec {
    Operand counts;
    int64_t total = 0;  // the sum of the counts
    std::shared_ptr<ResultTarget> objects_target = nullptr, ranks_target = nullptr;
  };
  explicit LoadBalanceOperation(Spec spec);

  Operator op() const override { return Operator::kLoadBalance; }
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.LoadBalance(args_, report); }
  std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const override;
  absl::Status MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                         OperatorReport* report) const override;
  int64_t interval_bytes() const override;

 private:
  bool InTurn() const override { return TakesRows(spec_.objects_target) && TakesRows(spec_.ranks_target); }
  int64_t PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const override;
  // Arguments to name the objects of `count` intervals with `rows` items: each number appears once for each item.
  ExpandArgs Naming(int64_t count, int64_t rows) const;

  const Spec spec_;
  LoadBalanceArgs args_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_LOAD_BALANCE_H_
