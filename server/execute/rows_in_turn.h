// Operations whose results can be made some rows at a time, so that an answer may be larger than the memory for it.
#ifndef CORANK_SERVER_EXECUTE_ROWS_IN_TURN_H_
#define CORANK_SERVER_EXECUTE_ROWS_IN_TURN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/execute/operand.h"
#include "server/execute/operation.h"
#include "server/respond/result_target.h"

namespace corank {

/// The second face of an Operation with one result, or two of equal length, used instead of Execute. Not thread-safe.
class RowsInTurn {
 public:
  /// Of the rows and of the intervals that are made at a time, most.
  static constexpr int64_t kPieceBytes = int64_t{16} << 20;
  static constexpr int64_t kPieceIntervals = kPieceBytes / static_cast<int64_t>(sizeof(int64_t));

  virtual ~RowsInTurn() = default;
  /// One, or two that each row has an element of.
  virtual std::vector<const PendingResult*> results() const = 0;
  /// The input, if any, of which each piece may need all: whoever makes many pieces on another device than it is on
  /// puts a copy in its place first.
  virtual Operand* whole_input() { return nullptr; }
  /// Makes the next rows, up to most_rows of them and, where they are made of such, of most_intervals intervals, 1 or
  /// more of both, and answers how many: none where the intervals are all empty. To be called until there are
  /// results()[0]->count. d_out: where those of each result go. Between the stream's Begin and Finish; EndCopyIn is
  /// called here.
  virtual absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                           absl::Span<void* const> d_out, OperatorReport* report) = 0;
  /// As PhasedOperation's. A fault is found before the first row has been sent.
  virtual absl::Status FaultStatus(const OperatorReport& report) const = 0;
};

inline bool TakesRows(const std::shared_ptr<ResultTarget>& target) {
  return target != nullptr && target->TakesRowsInTurn();
}

/// Cuts the rows of intervals that follow each other into pieces.
class IntervalCursor {
 public:
  struct Piece {
    int64_t first_interval = 0;
    int64_t skipped = 0;  // rows of the first interval, which earlier pieces had
    int64_t rows = 0;     // the sum of the counts
    std::vector<int64_t> counts;
  };

  /// The counts, in host memory, outlive the cursor.
  explicit IntervalCursor(const Operand& counts) : counts_(counts) {}
  /// Up to so many rows and intervals, 1 or more of both. Empty at the end.
  Piece Next(int64_t most_rows, int64_t most_intervals);

 private:
  const Operand& counts_;
  int64_t interval_ = 0;
  int64_t taken_ = 0;  // rows of it
};

/// Elements [first, first + count) of an array, at the alignment of an element.
Operand Slice(const Operand& operand, int64_t first, int64_t count);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_ROWS_IN_TURN_H_
