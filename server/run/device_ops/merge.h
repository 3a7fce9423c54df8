// Merge of sorted arrays.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_MERGE_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_MERGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/model/operand.h"
#include "server/run/operation.h"

namespace corank {

class MergeOperation final : public PhasedOperation {
 public:
  struct Spec {
    std::vector<Operand> keys;    // 2 or more
    std::vector<Operand> values;  // none, or one for each keys
    Order order = Order::kAscending;
    MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
    bool check_sorted = true;
    std::shared_ptr<ResultTarget> keys_target = nullptr, values_target = nullptr;
  };
  explicit MergeOperation(Spec spec);
  const Spec& spec() const { return spec_; }

  Operator op() const override { return Operator::kMerge; }
  bool is_light() const override;
  std::unique_ptr<const ExternalWork> external() const override;
  Sharing sharing() const override;
  std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const override;
  absl::Status CheckShards(int devices) const override;
  int64_t device_bytes(const Engine& engine) const override { return work_bytes() + engine.WorkspaceBytes(args_); }
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.Merge(args_, report); }
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;

 private:
  const Spec spec_;
  std::vector<MergeInput> inputs_;
  MergeArgs args_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_MERGE_H_
