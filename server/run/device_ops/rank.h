// Rank: the rank of each key. The engines' Group finds it.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_RANK_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_RANK_H_

#include <cstdint>
#include <memory>

#include "kernels/common/rank.h"
#include "server/model/operand.h"
#include "server/run/counted_operation.h"

namespace corank {

class RankOperation final : public CountedOperation {
 public:
  struct Spec {
    Operand keys;
    RankMethod method = RankMethod::kAverage;
    Order order = Order::kAscending;
    bool keys_sorted = false;
    std::shared_ptr<ResultTarget> target;
  };
  explicit RankOperation(Spec spec);

  Operator op() const override { return Operator::kRank; }
  int64_t work_bytes() const override { return spec_.keys.size_bytes() + result_bytes() + SortedBytes(); }
  int64_t device_bytes(const Engine& engine) const override;

 private:
  SortArgs SortPart() const;    // of unsorted keys, without its arrays
  int64_t SortedBytes() const;  // of its results
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream) override;
  absl::StatusOr<int64_t> Count() const override;

  const Spec spec_;
  RankArgs args_;
  SortArgs sort_;  // no keys: there is none
  OperatorReport sort_report_;
  GroupReport report_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_RANK_H_
