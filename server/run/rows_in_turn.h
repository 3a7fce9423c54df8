// Operations that can make their results some rows at a time, so that an answer may be larger than its memory.
#ifndef CORANK_SERVER_RUN_ROWS_IN_TURN_H_
#define CORANK_SERVER_RUN_ROWS_IN_TURN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/model/operand.h"
#include "server/model/result_target.h"
#include "server/run/operation.h"

namespace corank {

/// The alternative to Execute for an Operation with one result, or with two of equal length. Not thread-safe.
class RowsInTurn {
 public:
  /// Most bytes of rows, and most intervals, that are made at a time.
  static constexpr int64_t kPieceBytes = int64_t{16} << 20;
  static constexpr int64_t kPieceIntervals = kPieceBytes / static_cast<int64_t>(sizeof(int64_t));

  virtual ~RowsInTurn() = default;
  /// One result, or two with one element for each row.
  virtual std::vector<const PendingResult*> results() const = 0;
  /// The input, if any, that each piece may need as a whole. A caller that makes many pieces on another device replaces
  /// it by a copy first.
  virtual Operand* whole_input() { return nullptr; }
  /// Makes at most the next most_rows rows, from at most most_intervals intervals if rows come from intervals. Both
  /// limits are 1 or more. Returns the number of rows, which is 0 if those intervals are all empty. Call it until there
  /// are results()[0]->count rows. d_out: the memory for each result's rows. Call it between the stream's Begin and
  /// Finish; it calls EndCopyIn itself.
  virtual absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                           absl::Span<void* const> d_out, OperatorReport* report) = 0;
  /// As in PhasedOperation. A fault is found before the first row is sent.
  virtual absl::Status FaultStatus(const OperatorReport& report) const = 0;
};

inline bool TakesRows(const std::shared_ptr<ResultTarget>& target) {
  return target != nullptr && target->TakesRowsInTurn();
}

/// Cuts the rows of consecutive intervals into pieces.
class IntervalCursor {
 public:
  struct Piece {
    int64_t first_interval = 0;
    int64_t skipped = 0;  // rows of the first interval in earlier pieces
    int64_t rows = 0;     // the sum of the counts
    std::vector<int64_t> counts;
  };

  /// The counts must be in host memory and outlive the cursor.
  explicit IntervalCursor(const Operand& counts) : counts_(counts) {}
  /// The next piece, of at most that many rows and intervals. Both limits are 1 or more. Empty at the end.
  Piece Next(int64_t most_rows, int64_t most_intervals);

 private:
  const Operand& counts_;
  int64_t interval_ = 0;
  int64_t taken_ = 0;  // rows taken of interval_
};

/// Elements [first, first + count) of an array, at the alignment of an element.
Operand Slice(const Operand& operand, int64_t first, int64_t count);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ROWS_IN_TURN_H_
