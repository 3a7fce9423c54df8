// Operations that can make their results some rows at a time, so that an answer may be larger than its memory.
#ifndef CORANK_SERVER_RUN_ROWS_IN_TURN_H_
#define CORANK_SERVER_RUN_ROWS_IN_TURN_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/model/operand.h"
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
  /// Of the first interval and of the last one, a piece may have a part.
  struct Piece {
    int64_t first_interval = 0;
    int64_t intervals = 0;
    int64_t skipped = 0;  // rows of the first interval in earlier pieces
    int64_t rows = 0;
    int64_t first_count = 0;  // rows of the first interval in this piece
    int64_t last_count = 0;
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

/// An operator whose rows come from intervals. Several devices can share it (device_ops/sharded_intervals.h).
class IntervalOperation : public RowsInTurn {
 public:
  using Piece = IntervalCursor::Piece;
  /// Several devices take less time than one from about this many bytes of arrays and results for each interval on: the
  /// host reads each count twice, in about 1.3 ns, in which a bus brings 70 bytes.
  static constexpr int64_t kLeastSharedBytes = 128;

  bool is_light() const final { return true; }
  Sharing sharing() const override;
  absl::StatusOr<int64_t> MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                   absl::Span<void* const> d_out, OperatorReport* report) final;

  const Operand& counts() const { return cursor_.counts(); }
  /// Makes the rows of a piece, as MakeRows does.
  virtual absl::Status MakePiece(EngineStream& stream, const Piece& piece, absl::Span<void* const> d_out,
                                 OperatorReport* report) const = 0;
  /// Device memory that a piece takes for each of its intervals.
  virtual int64_t interval_bytes() const = 0;
  /// Pinned memory that a piece takes for each of its intervals.
  virtual int64_t interval_host_bytes() const { return 0; }
  /// Device memory that a piece takes at most, without its rows.
  int64_t PieceBytes(const Engine& engine, int64_t intervals, int64_t rows) const {
    return intervals * interval_bytes() + PieceWorkspace(engine, intervals, rows);
  }

 protected:
  explicit IntervalOperation(const Operand& counts) : cursor_(counts) {}
  /// Device memory of the largest piece that MakeRows makes.
  int64_t InTurnBytes(const Engine& engine) const;
  /// Enqueue copies to memory of the stream's device, which they return: of a piece's counts, and of offsets where its
  /// intervals begin.
  absl::StatusOr<const int64_t*> CopyCounts(EngineStream& stream, const Piece& piece) const;
  static absl::StatusOr<const int64_t*> CopyOffsets(EngineStream& stream, const Operand& offsets, const Piece& piece);

 private:
  virtual int64_t PieceWorkspace(const Engine& engine, int64_t intervals, int64_t rows) const = 0;

  IntervalCursor cursor_;
};

/// Elements [first, first + count) of an array, at the alignment of an element.
Operand Slice(const Operand& operand, int64_t first, int64_t count);
/// Element `index` of an array of INT64 in host memory, at any alignment.
inline int64_t NumberAt(const Operand& numbers, int64_t index) {
  int64_t number;
  std::memcpy(&number, static_cast<const char*>(numbers.bytes) + index * int64_t{sizeof(number)}, sizeof(number));
  return number;
}
/// Makes them readable by kernels of the stream's device. Copies them unless they lie on one device.
absl::StatusOr<const void*> TakeSlice(EngineStream& stream, const Operand& operand, int64_t first, int64_t count);
/// Whether TakeSlice copies for every device.
inline bool IsCopied(const Operand& operand) { return IsSharded(operand) || IsOnHost(operand); }

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ROWS_IN_TURN_H_
