// CombineSets: union, intersection, difference and symmetric difference of sorted multisets.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_COMBINE_SETS_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_COMBINE_SETS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "server/model/operand.h"
#include "server/run/counted_operation.h"

namespace corank {

class CombineSetsOperation final : public CountedOperation {
 public:
  struct Spec {
    SetOperation operation = SetOperation::kUnion;
    Operand left, right;
    std::optional<Operand> left_values, right_values;
    Order order = Order::kAscending;
    bool count_only = false;
    std::shared_ptr<ResultTarget> keys_target, values_target, count_target;
  };
  explicit CombineSetsOperation(Spec spec);

  Operator op() const override { return Operator::kCombineSets; }
  int64_t device_bytes(const Engine& engine) const override { return work_bytes() + engine.WorkspaceBytes(args_); }

 private:
  absl::Status Run(EngineStream& stream) override { return stream.CombineSets(args_, &report_); }
  absl::StatusOr<int64_t> Count() const override;

  const Spec spec_;
  SetArgs args_;
  SetReport report_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_COMBINE_SETS_H_
