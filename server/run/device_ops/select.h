// Select: the elements that flags, bits, positions or a comparison choose.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SELECT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SELECT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "server/model/operand.h"
#include "server/run/counted_operation.h"

namespace corank {

class SelectOperation final : public CountedOperation {
 public:
  struct Spec {
    Operand elements;
    std::optional<Operand> values;
    SelectBy by = SelectBy::kFlags;
    Operand predicate;  // flags, bitmap, positions or threshold
    Comparison comparison = Comparison::kLess;
    bool negate = false;
    bool partition = false;
    bool wants_elements = false, wants_indices = false, wants_count = false;
    std::shared_ptr<ResultTarget> elements_target, values_target, indices_target, count_target;
  };
  explicit SelectOperation(Spec spec);

  Operator op() const override { return Operator::kSelect; }
  int64_t device_bytes(const Engine& engine) const override { return work_bytes() + engine.WorkspaceBytes(args_); }

 private:
  void AddPredicate();
  absl::Status Run(EngineStream& stream) override { return stream.Select(args_, &report_); }
  absl::StatusOr<int64_t> Count() const override;

  const Spec spec_;
  SelectArgs args_;
  SelectReport report_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SELECT_H_
