#include "server/run/rows_in_turn.h"

#include <algorithm>
#include <cstring>

#include "server/base/status_macros.h"

namespace corank {

IntervalCursor::Piece IntervalCursor::Next(int64_t most_rows, int64_t most_intervals) {
  Piece piece;
  piece.first_interval = interval_;
  piece.skipped = taken_;
  const auto* const bytes = static_cast<const char*>(counts_.bytes);
  while (interval_ < counts_.count && piece.rows < most_rows &&
         static_cast<int64_t>(piece.counts.size()) < most_intervals) {
    int64_t count;
    std::memcpy(&count, bytes + interval_ * static_cast<int64_t>(sizeof(count)), sizeof(count));  // may be unaligned
    const int64_t taken = std::min(count - taken_, most_rows - piece.rows);
    piece.counts.push_back(taken);
    piece.rows += taken;
    taken_ += taken;
    if (taken_ < count) break;
    ++interval_;
    taken_ = 0;
  }
  return piece;
}

absl::StatusOr<int64_t> IntervalOperation::MakeRows(EngineStream& stream, int64_t most_rows, int64_t most_intervals,
                                                    absl::Span<void* const> d_out, OperatorReport* report) {
  piece_ = cursor_.Next(most_rows, most_intervals);
  if (piece_.counts.empty()) return absl::InternalError("the intervals have fewer elements than their counts say");
  CORANK_RETURN_IF_ERROR(MakePiece(stream, piece_, d_out, report));
  return piece_.rows;
}

int64_t IntervalOperation::PieceBytes(int arrays) const {
  int64_t bytes = arrays * std::min(cursor_.counts().size_bytes(), kPieceBytes);
  for (const PendingResult& result : results()) {
    bytes += std::min(result.size_bytes(), kPieceBytes + result.element_bytes);
  }
  return bytes;
}

Operand Slice(const Operand& operand, int64_t first, int64_t count) {
  Operand slice = operand;
  slice.bytes = static_cast<const char*>(operand.bytes) + first * operand.element_bytes;
  slice.count = count;
  return slice;
}

}  // namespace corank
