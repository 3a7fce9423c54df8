#include "server/run/rows_in_turn.h"

#include <algorithm>

#include "server/base/status_macros.h"
#include "server/run/device_ops/sharded_intervals.h"
#include "server/run/sharded_operation.h"

namespace corank {
namespace {

constexpr auto kNumberBytes = static_cast<int64_t>(sizeof(int64_t));

// Counts that are added up at once: so many that the compiler uses vectors.
constexpr int64_t kBlock = 256;

int64_t SumOfBlock(const Operand& counts, int64_t first) {
  int64_t sum = 0;
  for (int64_t i = 0; i < kBlock; ++i) sum += NumberAt(counts, first + i);
  return sum;
}

// Writes a number to device memory, without host memory that must last until the stream has finished.
absl::Status SetNumber(EngineStream& stream, int64_t* d_number, int64_t number) {
  return stream.Iota(d_number, kNumberBytes, number, 1);
}

absl::StatusOr<void*> CopySlice(EngineStream& stream, const Operand& operand, int64_t first, int64_t count) {
  CORANK_ASSIGN_OR_RETURN(void* const copy, stream.AllocateDevice(count * operand.element_bytes));
  CORANK_RETURN_IF_ERROR(CopyElements(stream, operand, first, count, copy));
  return copy;
}

}  // namespace

IntervalCursor::Piece IntervalCursor::Next(int64_t most_rows, int64_t most_intervals) {
  Piece piece;
  piece.first_interval = interval_;
  piece.skipped = taken_;
  while (interval_ < counts_.count && piece.rows < most_rows && piece.intervals < most_intervals) {
    int64_t intervals = std::min({kBlock, counts_.count - interval_, most_intervals - piece.intervals});
    int64_t rows = -1;
    if (intervals == kBlock) rows = SumOfBlock(counts_, interval_);
    if (rows < 0 || taken_ > 0 || rows > most_rows - piece.rows) {
      intervals = 1;
      rows = std::min(NumberAt(counts_, interval_) - taken_, most_rows - piece.rows);
    }
    if (piece.intervals == 0) piece.first_count = std::min(NumberAt(counts_, interval_) - taken_, most_rows);
    piece.last_count = intervals == 1 ? rows : NumberAt(counts_, interval_ + intervals - 1);
    piece.intervals += intervals;
    piece.rows += rows;
    if (intervals == 1 && taken_ + rows < NumberAt(counts_, interval_)) {
      taken_ += rows;
      break;
    }
    interval_ += intervals;
    taken_ = 0;
  }
  return piece;
}

Sharing IntervalOperation::sharing() const {
  if (!ShardedIntervals::Takes(*this)) return {};
  if (!AnySharded(*this) && work_bytes() < kLeastSharedBytes * counts().count) return {};
  return {static_cast<int64_t>(input_count()), Exchange::kNone};
}

absl::StatusOr<int64_t> IntervalOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                                    absl::Span<void* const> d_out, OperatorReport* report) {
  const Piece piece = cursor_.Next(most_rows, most_intervals);
  if (piece.intervals == 0) return absl::InternalError("the intervals have fewer elements than their counts say");
  CORANK_RETURN_IF_ERROR(MakePiece(stream, piece, d_out, report));
  return piece.rows;
}

int64_t IntervalOperation::InTurnBytes(const Engine& engine) const {
  int64_t rows_bytes = 0, rows = 0;
  for (const PendingResult& result : results()) {
    rows_bytes += std::min(result.size_bytes(), kPieceBytes + result.element_bytes);
    rows = std::min(result.count, kPieceBytes / result.element_bytes + 1);
  }
  return rows_bytes + PieceBytes(engine, std::min(counts().count, kPieceIntervals), rows);
}

absl::StatusOr<const int64_t*> IntervalOperation::CopyCounts(EngineStream& stream, const Piece& piece) const {
  CORANK_ASSIGN_OR_RETURN(void* const copy, CopySlice(stream, counts(), piece.first_interval, piece.intervals));
  auto* const d_counts = static_cast<int64_t*>(copy);
  CORANK_RETURN_IF_ERROR(SetNumber(stream, d_counts, piece.first_count));
  CORANK_RETURN_IF_ERROR(SetNumber(stream, d_counts + piece.intervals - 1, piece.last_count));
  return d_counts;
}

absl::StatusOr<const int64_t*> IntervalOperation::CopyOffsets(EngineStream& stream, const Operand& offsets,
                                                              const Piece& piece) {
  CORANK_ASSIGN_OR_RETURN(void* const copy, CopySlice(stream, offsets, piece.first_interval, piece.intervals));
  auto* const d_offsets = static_cast<int64_t*>(copy);
  const int64_t first = NumberAt(offsets, piece.first_interval);
  CORANK_RETURN_IF_ERROR(SetNumber(stream, d_offsets, first + piece.skipped));
  return d_offsets;
}

Operand Slice(const Operand& operand, int64_t first, int64_t count) {
  Operand slice = operand;
  slice.bytes = static_cast<const char*>(operand.bytes) + first * operand.element_bytes;
  slice.count = count;
  return slice;
}

absl::StatusOr<const void*> TakeSlice(EngineStream& stream, const Operand& operand, int64_t first, int64_t count) {
  if (operand.on_device && !IsSharded(operand)) return Upload(stream, Slice(operand, first, count));
  return CopySlice(stream, operand, first, count);
}

}  // namespace corank
