// Group: distinct keys, their counts, and reductions of the values of each. Rank: the rank of each key, which the
// engines' Group finds.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_GROUP_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/common/rank.h"
#include "server/model/operand.h"
#include "server/run/counted_operation.h"

namespace corank {

class GroupOperation final : public CountedOperation {
 public:
  /// A result that the caller may want, and its place.
  struct Wanted {
    bool is_wanted = false;
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  struct Spec {
    Operator op = Operator::kGroup;
    Operand keys;
    std::optional<Operand> values;    // set if sums, minima, maxima or value counts are wanted
    std::optional<Operand> validity;  // of the values
    std::optional<Operand> segment_offsets;
    Order order = Order::kAscending;
    bool sorts = true;          // the keys lie in any order
    bool check_sorted = false;  // they must be sorted
    RankMethod rank_method = RankMethod::kAverage;
    Wanted keys_out, counts, firsts, sums, minima, maxima, value_counts, ranks;
  };
  explicit GroupOperation(Spec spec);

  Operator op() const override { return spec_.op; }
  int64_t work_bytes() const override;
  int64_t device_bytes(const Engine& engine) const override;

 private:
  template <typename T>
  void Add(const Wanted& wanted, ResultRole role, v1::ElementType type, T** place);
  // Whether the sort of unsorted keys makes its permutation. First positions, ranks and validity need it, and it then
  // also finds the values. Without it, the values travel with the keys.
  bool NeedsIndices() const { return spec_.firsts.is_wanted || spec_.ranks.is_wanted || spec_.validity.has_value(); }
  SortArgs SortPart() const;    // of unsorted keys, without its arrays
  int64_t SortedBytes() const;  // of its results
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream) override;
  absl::StatusOr<int64_t> Count() const override;

  const Spec spec_;
  GroupArgs args_;
  SortArgs sort_;  // no keys: there is none
  OperatorReport sort_report_;
  GroupReport report_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_GROUP_H_
