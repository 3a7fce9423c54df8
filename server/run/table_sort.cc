#include "server/run/table_sort.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/engine/alignment.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/run/stream_options.h"

namespace corank {

using Kind = TableShape::Array::Kind;

TableSize TableSorter::PieceSize(const TableShape& shape, int64_t rows, const JobMemory& memory) {
  // Each stream has a piece, its sorted rows and the workspace. Half of the memory is for rows that are larger than
  // estimated here, and for gaps between arrays.
  constexpr int64_t kWorkspaceBytes = 96;  // for each row
  const int64_t for_stream = memory.max_device_bytes() / 2 / kStreams;
  TableSize size;
  size.rows = shape.WholeRows(std::min(rows, for_stream / (2 * shape.row_bytes() + kWorkspaceBytes)));
  for (const int64_t mean : shape.mean_string_bytes()) size.string_bytes.push_back(2 * mean * size.rows);
  return size;
}

int64_t TableSorter::HostBytes(const TableShape& shape, int64_t rows, int64_t limit, bool is_streamed,
                               const JobMemory& memory) {
  // Sums of sizes that callers only claim may not fit in 63 bits.
  if (rows > kMostPlausibleBytes / shape.row_bytes()) return std::numeric_limits<int64_t>::max();
  TableSize size = PieceSize(shape, rows, memory);
  const auto strings = static_cast<int64_t>(size.string_bytes.size());
  const auto arrays = static_cast<int64_t>(shape.arrays().size());
  constexpr auto kOffsetBytes = static_cast<int64_t>(sizeof(int64_t));
  // Offsets on their way to the device are relative to their piece or tile.
  const int64_t copies = kStreams * strings * (size.rows + 1) * kOffsetBytes;
  // A piece that ends early has, with the next one, more strings than one may have: as many as two of mean length.
  const int64_t pieces = (1 + strings) * ((rows + size.rows - 1) / size.rows);
  const int64_t gaps = pieces * arrays * (kArrayAlignment + kOffsetBytes);
  for (size_t i = 0; i < size.string_bytes.size(); ++i) size.string_bytes[i] = shape.mean_string_bytes()[i] * rows;
  const auto bytes = [&](int64_t of_rows) { return shape.BlockBytes({of_rows, size.string_bytes}) + gaps; };
  // Rows that arrive in chunks are sorted in place if all are kept.
  const bool keeps_all = limit < 0 || limit >= size.rows;
  return copies + (is_streamed || keeps_all ? bytes(rows) : 0) + (keeps_all ? 0 : bytes(pieces * limit));
}

TableSorter::TableSorter(const TableShape& shape, int64_t rows, int64_t limit, JobMemory* memory, Lane* lane,
                         v1::RequestStats* stats)
    : shape_(shape),
      rows_(rows),
      limit_(limit),
      most_(PieceSize(shape, rows, *memory)),
      memory_(memory),
      lane_(lane),
      turns_(*lane, kStreams, stats) {}

int64_t TableSorter::KeptOf(size_t piece) const { return limit_ < 0 ? RowsOf(piece) : std::min(limit_, RowsOf(piece)); }

absl::Status TableSorter::CheckLongest(const TableShape& shape, const TableSize& piece,
                                       const std::vector<RowSource::Array>& inputs, int64_t rows) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TableShape::Array& array = shape.arrays()[i];
    if (array.kind != Kind::kOffsets) continue;
    const auto* const offsets = reinterpret_cast<const int64_t*>(inputs[i].rows);
    int64_t longest = 0;
    for (int64_t row = 0; row < rows; ++row) longest = std::max(longest, offsets[row + 1] - offsets[row]);
    // So many rows may have to stay together, in a piece or in a tile of the result.
    const int64_t room = piece.string_bytes[array.strings] / shape.WholeRows(1);
    if (longest > room) {
      return TooLargeField(inputs[i].field, absl::StrCat("a string of ", longest, " bytes, but a table that is sorted ",
                                                         "in pieces may have strings of ", room,
                                                         ": raise --max-device-bytes, or sort long strings apart"));
    }
  }
  return absl::OkStatus();
}

absl::Status TableSorter::CutPieces(const std::vector<RowSource::Array>& inputs) {
  CORANK_RETURN_IF_ERROR(CheckLongest(shape_, most_, inputs, rows_));
  std::vector<const int64_t*> offsets;  // of each column of strings
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (shape_.arrays()[i].kind == Kind::kOffsets) offsets.push_back(reinterpret_cast<const int64_t*>(inputs[i].rows));
  }
  for (int64_t first = 0; first < rows_;) {
    int64_t rows = std::min(most_.rows, rows_ - first);
    for (size_t i = 0; i < offsets.size(); ++i) {
      const int64_t* const begin = offsets[i] + first;
      const int64_t fitting = std::upper_bound(begin, begin + rows + 1, *begin + most_.string_bytes[i]) - begin - 1;
      if (fitting < rows) rows = shape_.WholeRows(fitting);
    }
    Piece& piece = pieces_.emplace_back();
    piece.first_row = first;
    piece.size.rows = rows;
    for (const int64_t* const column : offsets) piece.size.string_bytes.push_back(column[first + rows] - column[first]);
    for (size_t i = 0; i < shape_.inputs(); ++i) piece.missing += shape_.arrays()[i].Bytes(piece.size);
    first += rows;
  }
  runs_.resize(pieces_.size());
  return absl::OkStatus();
}

absl::Status TableSorter::AddAll(RowSource& source) {
  const std::vector<RowSource::Array>& inputs = source.arrays();
  CORANK_RETURN_IF_ERROR(CutPieces(inputs));
  if (source.is_complete()) {
    TableSize before{0, std::vector<int64_t>(most_.string_bytes.size(), 0)};
    for (size_t piece = 0; piece < pieces_.size(); ++piece) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        char* const rows = const_cast<char*>(inputs[i].rows);  // is only read
        pieces_[piece].arrays.push_back(rows + shape_.arrays()[i].BytesBefore(before));
      }
      const TableSize& size = pieces_[piece].size;
      before.rows += size.rows;
      for (size_t i = 0; i < size.string_bytes.size(); ++i) before.string_bytes[i] += size.string_bytes[i];
      CORANK_RETURN_IF_ERROR(Sort(piece, inputs.front().field));
    }
    return absl::OkStatus();
  }
  return source.ReceiveAll(*lane_, [&](std::vector<InputChunk> chunks) -> absl::Status {
    for (InputChunk& chunk : chunks) {
      CORANK_RETURN_IF_ERROR(CopyIn(chunk, inputs[chunk.input].field));
      chunk.bytes.reset();  // lets the caller continue
    }
    return absl::OkStatus();
  });
}

absl::Status TableSorter::CopyIn(const InputChunk& chunk, absl::string_view field) {
  const TableShape::Array& array = shape_.arrays()[chunk.input];
  const int64_t in_piece = array.Elements(most_), end = chunk.first_element + chunk.count;
  const char* from = static_cast<const char*>(chunk.bytes.get());
  for (int64_t element = chunk.first_element; element < end;) {
    const auto index = static_cast<size_t>(element / in_piece);
    Piece& piece = pieces_[index];
    if (piece.memory == nullptr) {
      CORANK_ASSIGN_OR_RETURN(piece.memory, memory_->AllocateHost(shape_.BlockBytes(piece.size), field));
      piece.arrays = shape_.Places(piece.memory->data(), piece.size);
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
  TableRun& run = runs_[index];
  const int64_t rows = RowsOf(index);
  run.rows = KeptOf(index);
  Piece piece = std::exchange(pieces_[index], {});
  const TableSize kept{run.rows, piece.size.string_bytes};
  if (piece.memory != nullptr && run.rows == rows) {
    run.memory = piece.memory;
  } else {
    CORANK_ASSIGN_OR_RETURN(run.memory, memory_->AllocateHost(shape_.BlockBytes(kept), field));
  }
  run.arrays = shape_.Places(run.memory->data(), kept);
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns_.Next());
  const auto report = std::make_shared<OperatorReport>();
  turns_.WhenDone([this, index, report, arrived = std::move(piece.memory)] {
    if (index == 0) algorithm_ = report->sort_algorithm;
  });
  CORANK_ASSIGN_OR_RETURN(void* const unsorted, stream->AllocateDevice(shape_.BlockBytes(piece.size)));
  CORANK_ASSIGN_OR_RETURN(void* const sorted, stream->AllocateDevice(shape_.BlockBytes(kept)));
  const std::vector<char*> from = shape_.Places(static_cast<char*>(unsorted), piece.size);
  const std::vector<char*> to = shape_.Places(static_cast<char*>(sorted), kept);
  for (size_t i = 0; i < shape_.inputs(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    const char* bytes = piece.arrays[i];
    if (array.kind == Kind::kOffsets) {
      const auto* const offsets = reinterpret_cast<const int64_t*>(bytes);
      CORANK_ASSIGN_OR_RETURN(void* const memory, stream->AllocateHost(array.Bytes(piece.size)));
      std::transform(offsets, offsets + rows + 1, static_cast<int64_t*>(memory),
                     [base = offsets[0]](int64_t offset) { return offset - base; });
      bytes = static_cast<const char*>(memory);
    }
    CORANK_RETURN_IF_ERROR(stream->CopyToDevice(from[i], bytes, array.Bytes(piece.size)));
  }
  CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
  if (shape_.has_indices()) {
    CORANK_RETURN_IF_ERROR(stream->Iota(from.back(), shape_.arrays().back().element_bytes, piece.first_row, rows));
  }
  CORANK_RETURN_IF_ERROR(shape_.Sort(*stream, from, to, piece.size, run.rows, report.get()));
  CORANK_RETURN_IF_ERROR(stream->EndKernels());
  for (size_t i = 0; i < to.size(); ++i) {
    CORANK_RETURN_IF_ERROR(stream->CopyToHost(run.arrays[i], to[i], shape_.arrays()[i].Bytes(kept)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableRun>> TableSorter::Finish() {
  CORANK_RETURN_IF_ERROR(turns_.FinishAll());
  return std::move(runs_);
}

}  // namespace corank
