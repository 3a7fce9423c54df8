// Search: the position of each needle in a sorted haystack, or of each row of needles in a sorted table.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SEARCH_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SEARCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/model/operand.h"
#include "server/run/device_ops/input_column.h"
#include "server/run/rows_in_turn.h"

namespace corank {

/// As RowsInTurn, it finds the positions of some needles at a time, in a whole haystack on a device.
class SearchOperation final : public RowsInTurn {
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
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.Search(args_, report); }
  absl::Status FaultStatus(const OperatorReport& report) const override;
  std::vector<Operand*> whole_inputs() override { return {&haystack_}; }
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) override;

 private:
  bool InTurn() const override;

  const Spec spec_;
  Operand haystack_{spec_.haystack};
  SearchArgs args_;
  int64_t found_ = 0;  // needles in the pieces so far
};

/// Search by key columns. As RowsInTurn, it finds the positions of some rows of needles at a time.
class ColumnSearchOperation final : public RowsInTurn {
 public:
  struct Spec {
    std::vector<InputColumn> haystack;  // 1 to kMaxKeyColumns, all with the same number of rows
    std::vector<InputColumn> needles;   // the same, with the types and options of the haystack
    SearchBound bound = SearchBound::kLower;
    bool check_sorted = true;
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  explicit ColumnSearchOperation(Spec spec);

  Operator op() const override { return Operator::kSearch; }
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override {
    return stream.SearchColumns(args_, report);
  }
  absl::Status FaultStatus(const OperatorReport& report) const override;
  std::vector<Operand*> whole_inputs() override;
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) override;

 private:
  void AddInputs(const std::vector<InputColumn>& from, std::vector<KeyColumn>& columns);
  bool InTurn() const override;

  const Spec spec_;
  std::vector<InputColumn> haystack_inputs_{spec_.haystack}, needle_inputs_{spec_.needles};  // of pieces
  std::vector<KeyColumn> haystack_, needles_;
  ColumnSearchArgs args_;
  int64_t found_ = 0;  // rows of needles in the pieces so far
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SEARCH_H_
