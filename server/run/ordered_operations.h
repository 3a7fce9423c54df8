// The operators that compare keys: Sort, Merge, Search.
#ifndef CORANK_SERVER_RUN_ORDERED_OPERATIONS_H_
#define CORANK_SERVER_RUN_ORDERED_OPERATIONS_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/model/operand.h"
#include "server/run/operation.h"
#include "server/run/rows_in_turn.h"

namespace corank {

/// INVALID_ARGUMENT: the array's element `index` belongs before its predecessor.
absl::Status NotSorted(absl::string_view field, int64_t index, Order order);

class SortOperation final : public PhasedOperation {
 public:
  struct Spec {
    Operand keys;
    std::optional<Operand> values;
    std::optional<Operand> segment_offsets;
    Order order = Order::kAscending;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    bool want_keys = true;
    bool want_indices = false;
    int64_t limit = -1;  // -1: all
    std::shared_ptr<ResultTarget> keys_target = nullptr, values_target = nullptr, indices_target = nullptr;
  };
  explicit SortOperation(Spec spec);
  const Spec& spec() const { return spec_; }

  Operator op() const override { return Operator::kSort; }
  Pace pace() const override;
  int64_t work_bytes() const override;
  bool is_light() const override;
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;

 private:
  const Spec spec_;
  SortArgs args_;
  std::optional<PendingResult> keys_, values_, indices_;
};

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
  int64_t work_bytes() const override;
  bool is_light() const override;
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;

 private:
  const Spec spec_;
  std::vector<MergeInput> inputs_;
  PendingResult keys_;
  std::optional<PendingResult> values_;
};

/// As RowsInTurn, it finds the positions of some needles at a time, in a whole haystack on a device.
class SearchOperation final : public PhasedOperation, public RowsInTurn {
 public:
  struct Spec {
    Operand haystack;
    Operand needles;
    Order order = Order::kAscending;
    SearchBound bound = SearchBound::kLower;
    bool check_sorted = true;
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  explicit SearchOperation(Spec spec);

  Operator op() const override { return Operator::kSearch; }
  int64_t work_bytes() const override;
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status CopyIn(EngineStream& stream) override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override;
  absl::Status CopyOut(EngineStream& stream) override;
  void Collect(const OperatorReport& report, Outcome& outcome) const override;
  absl::Status FaultStatus(const OperatorReport& report) const override;
  RowsInTurn* rows_in_turn() override { return InTurn() ? this : nullptr; }
  std::vector<const PendingResult*> results() const override { return {&positions_}; }
  Operand* whole_input() override { return &haystack_; }
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) override;

 private:
  bool InTurn() const;

  const Spec spec_;
  Operand haystack_{spec_.haystack};
  SearchArgs args_;
  int64_t found_ = 0;  // needles in the pieces so far
  PendingResult positions_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ORDERED_OPERATIONS_H_
