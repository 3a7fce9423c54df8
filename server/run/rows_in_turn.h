// Operations that can make their results some rows at a time, so that an answer may be larger than its memory.
#ifndef CORANK_SERVER_RUN_ROWS_IN_TURN_H_
#define CORANK_SERVER_RUN_ROWS_IN_TURN_H_

#include <algorithm>
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

/// An operation with one result, or two of equal length, that can make them by MakeRows instead of Execute. Not
/// thread-safe.
class RowsInTurn : public PhasedOperation {
 public:
  /// Most bytes of rows, and most intervals, that are made at a time.
  static constexpr int64_t kPieceBytes = int64_t{16} << 20;
  static constexpr int64_t kPieceIntervals = kPieceBytes / static_cast<int64_t>(sizeof(int64_t));

  RowsInTurn* rows_in_turn() final { return InTurn() ? this : nullptr; }
  /// The inputs of which any piece may read any element. Before a caller makes many pieces, it copies the inputs that
  /// lie elsewhere to its device.
  virtual std::vector<Operand*> whole_inputs() { return {}; }
  /// Makes at most the next most_rows rows, from at most most_intervals intervals if rows come from intervals. Both
  /// limits are 1 or more. Returns the number of rows, which is 0 if those intervals are all empty. Call it until there
  /// are results()[0].count rows. d_out: the memory for each result's rows. Call it between the stream's Begin and
  /// Finish; it calls EndCopyIn itself. A fault is found before the first row is sent.
  virtual absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                           absl::Span<void* const> d_out, OperatorReport* report) = 0;

 private:
  virtual bool InTurn() const = 0;
};

/// Cuts the rows of consecutive intervals into pieces.
class IntervalCursor {
 public:
  struct Piece {
    int64_t first_interval = 0;
    int64_t skipped = 0;  // rows of the first interval in earlier pieces
    int64_t rows = 0;     // the sum of the counts
    std::vector<int64_t> counts;
  };

  /// The counts must be in host memory when Next is called.
  explicit IntervalCursor(const Operand& counts) : counts_(counts) {}
  const Operand& counts() const { return counts_; }
  /// The next piece, of at most that many rows and intervals. Both limits are 1 or more. Empty at the end.
  Piece Next(int64_t most_rows, int64_t most_intervals);

 private:
  const Operand counts_;
  int64_t interval_ = 0;
  int64_t taken_ = 0;  // rows taken of interval_
};

/// An operator whose rows come from intervals.
class IntervalOperation : public RowsInTurn {
 public:
  bool is_light() const final { return true; }
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) final;

 protected:
  explicit IntervalOperation(const Operand& counts) : cursor_(counts) {}
  /// Device memory of a piece without its inputs and its workspace. `arrays`: number of interval arrays beside the
  /// rows.
  int64_t PieceBytes(int arrays) const;
  /// The kernel arguments of a piece, as far as they determine the workspace.
  template <typename Args>
  static Args OfPiece(Args args) {
    args.interval_count = std::min(args.interval_count, kPieceIntervals);
    args.total = std::min(args.total, kPieceBytes / args.element_bytes + 1);
    return args;
  }

 private:
  // The piece lives until the stream has finished.
  virtual absl::Status MakePiece(EngineStream& stream, const IntervalCursor::Piece& piece,
                                 absl::Span<void* const> d_out, OperatorReport* report) = 0;

  IntervalCursor cursor_;
  IntervalCursor::Piece piece_;  // the piece in progress
};

/// Elements [first, first + count) of an array, at the alignment of an element.
Operand Slice(const Operand& operand, int64_t first, int64_t count);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ROWS_IN_TURN_H_
