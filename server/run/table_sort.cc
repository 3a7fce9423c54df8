#include "server/run/table_sort.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "server/base/status_macros.h"

namespace corank {

int64_t TableSorter::PieceRows(const TableShape& shape, int64_t rows, const JobMemory& memory) {
  // Each stream has a piece, its sorted rows and the workspace. Half of the memory is for rows that are larger than
  // estimated here, and for gaps between arrays.
  constexpr int64_t kWorkspaceBytes = 96;  // for each row
  const int64_t for_stream = memory.max_device_bytes() / 2 / kStreams;
  return shape.WholeRows(std::min(rows, for_stream / (2 * shape.row_bytes() + kWorkspaceBytes)));
}

int64_t TableSorter::HostBytes(const TableShape& shape, int64_t rows, int64_t limit, bool is_streamed,
                               const JobMemory& memory) {
  // Sums of sizes that callers only claim may not fit in 63 bits.
  constexpr int64_t kNobodyHas = int64_t{1} << 50;
  if (rows > kNobodyHas / shape.row_bytes()) return std::numeric_limits<int64_t>::max();
  const int64_t piece_rows = PieceRows(shape, rows, memory);
  const int64_t pieces = (rows + piece_rows - 1) / piece_rows;
  const bool keeps_all = limit < 0 || limit >= piece_rows;
  // Rows that arrive in chunks are sorted in place if all are kept.
  const int64_t arriving = is_streamed || keeps_all ? pieces * shape.BlockBytes(piece_rows) : 0;
  return arriving + (keeps_all ? 0 : pieces * shape.BlockBytes(limit));
}

TableSorter::TableSorter(const TableShape& shape, int64_t rows, int64_t limit, JobMemory* memory, Lane* lane,
                         v1::RequestStats* stats)
    : shape_(shape),
      rows_(rows),
      limit_(limit),
      piece_rows_(PieceRows(shape, rows, *memory)),
      memory_(memory),
      lane_(lane),
      pieces_(static_cast<size_t>((rows + piece_rows_ - 1) / piece_rows_)),
      runs_(pieces_.size()),
      turns_(*lane, kStreams, stats) {
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    for (size_t i = 0; i < shape_.inputs(); ++i) pieces_[piece].missing += shape_.arrays()[i].Bytes(RowsOf(piece));
  }
}

int64_t TableSorter::RowsOf(size_t piece) const {
  return std::min(piece_rows_, rows_ - static_cast<int64_t>(piece) * piece_rows_);
}

int64_t TableSorter::KeptOf(size_t piece) const { return limit_ < 0 ? RowsOf(piece) : std::min(limit_, RowsOf(piece)); }

absl::Status TableSorter::AddAll(RowSource& source) {
  const std::vector<RowSource::Array>& inputs = source.arrays();
  if (source.is_complete()) {
    for (size_t piece = 0; piece < pieces_.size(); ++piece) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const int64_t before = shape_.arrays()[i].Bytes(static_cast<int64_t>(piece) * piece_rows_);
        pieces_[piece].arrays.push_back(const_cast<char*>(inputs[i].rows) + before);  // is only read
      }
      CORANK_RETURN_IF_ERROR(Sort(piece, inputs.front().field));
    }
    return absl::OkStatus();
  }
  for (;;) {
    CORANK_ASSIGN_OR_RETURN(std::vector<InputChunk> chunks, source.Receive(*lane_));
    if (chunks.empty()) return absl::OkStatus();
    for (InputChunk& chunk : chunks) {
      CORANK_RETURN_IF_ERROR(CopyIn(chunk, inputs[chunk.input].field));
      chunk.bytes.reset();  // lets the caller continue
    }
  }
}

absl::Status TableSorter::CopyIn(const InputChunk& chunk, absl::string_view field) {
  const TableShape::Array& array = shape_.arrays()[chunk.input];
  const int64_t in_piece = array.Elements(piece_rows_), end = chunk.first_element + chunk.count;
  const char* from = static_cast<const char*>(chunk.bytes.get());
  for (int64_t element = chunk.first_element; element < end;) {
    const auto index = static_cast<size_t>(element / in_piece);
    Piece& piece = pieces_[index];
    if (piece.memory == nullptr) {
      CORANK_ASSIGN_OR_RETURN(piece.memory, memory_->AllocateHost(shape_.BlockBytes(RowsOf(index)), field));
      piece.arrays = shape_.Places(piece.memory->data(), RowsOf(index));
    }
    const int64_t count = std::min(end, (element / in_piece + 1) * in_piece) - element;
    const int64_t bytes = count * array.element_bytes;
    std::memcpy(piece.arrays[chunk.input] + element % in_piece * array.element_bytes, from, static_cast<size_t>(bytes));
    from += bytes;
    element += count;
    piece.missing -= bytes;
    if (piece.missing == 0) CORANK_RETURN_IF_ERROR(Sort(index, field));
  }
  return absl::OkStatus();
}

absl::Status TableSorter::Sort(size_t index, absl::string_view field) {
  CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
  Piece piece = std::move(pieces_[index]);
  TableRun& run = runs_[index];
  const int64_t rows = RowsOf(index);
  run.rows = KeptOf(index);
  if (piece.memory != nullptr && run.rows == rows) {
    run.memory = piece.memory;
  } else {
    CORANK_ASSIGN_OR_RETURN(run.memory, memory_->AllocateHost(shape_.BlockBytes(run.rows), field));
  }
  run.arrays = shape_.Places(run.memory->data(), run.rows);
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns_.Next());
  const auto report = std::make_shared<OperatorReport>();
  turns_.WhenDone([this, index, report, arrived = std::move(piece.memory)] {
    if (index == 0) algorithm_ = report->sort_algorithm;
  });
  CORANK_ASSIGN_OR_RETURN(void* const unsorted, stream->AllocateDevice(shape_.BlockBytes(rows)));
  CORANK_ASSIGN_OR_RETURN(void* const sorted, stream->AllocateDevice(shape_.BlockBytes(run.rows)));
  const std::vector<char*> from = shape_.Places(static_cast<char*>(unsorted), rows);
  const std::vector<char*> to = shape_.Places(static_cast<char*>(sorted), run.rows);
  for (size_t i = 0; i < shape_.inputs(); ++i) {
    CORANK_RETURN_IF_ERROR(stream->CopyToDevice(from[i], piece.arrays[i], shape_.arrays()[i].Bytes(rows)));
  }
  CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
  if (shape_.has_indices()) {
    CORANK_RETURN_IF_ERROR(stream->Iota(from.back(), shape_.arrays().back().element_bytes,
                                        static_cast<int64_t>(index) * piece_rows_, rows));
  }
  CORANK_RETURN_IF_ERROR(shape_.Sort(*stream, from, to, rows, run.rows, report.get()));
  CORANK_RETURN_IF_ERROR(stream->EndKernels());
  for (size_t i = 0; i < to.size(); ++i) {
    CORANK_RETURN_IF_ERROR(stream->CopyToHost(run.arrays[i], to[i], shape_.arrays()[i].Bytes(run.rows)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableRun>> TableSorter::Finish() {
  CORANK_RETURN_IF_ERROR(turns_.FinishAll());
  return std::move(runs_);
}

}  // namespace corank
