// Join: the rows of two arrays with equal keys.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_JOIN_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_JOIN_H_

#include <cstdint>
#include <memory>

#include "server/model/operand.h"
#include "server/run/counted_operation.h"

namespace corank {

class JoinOperation final : public CountedOperation {
 public:
  struct Spec {
    JoinKind kind = JoinKind::kInner;
    Operand left, right;
    bool right_sorted = false;
    int64_t max_rows = 0;  // of the result that the server has room for
    bool count_only = false;
    std::shared_ptr<ResultTarget> left_target, right_target, count_target;
  };
  explicit JoinOperation(Spec spec);

  Operator op() const override { return Operator::kJoin; }
  int64_t device_bytes(const Engine& engine) const override { return work_bytes() + engine.WorkspaceBytes(args_); }

 private:
  absl::Status Run(EngineStream& stream) override { return stream.Join(args_, &report_); }
  absl::StatusOr<int64_t> Count() const override;

  const Spec spec_;
  JoinArgs args_;
  JoinReport report_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_JOIN_H_
