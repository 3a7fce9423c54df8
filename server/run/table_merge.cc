#include "server/run/table_merge.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/engine/alignment.h"
#include "server/base/status_macros.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/table_sort.h"

namespace corank {

using Kind = TableShape::Array::Kind;

TableSink::TableSink(const TableShape& shape, std::vector<RowSink::Column> places, TableSize most, ChunkPipe* pipe,
                     Lane* lane)
    : shape_(shape), places_(std::move(places)), pipe_(pipe), lane_(lane), most_(std::move(most)) {
  taken_.string_bytes.resize(most_.string_bytes.size());
  if (const int64_t sent = SentBytes({1, shape_.mean_string_bytes()}); sent > 0) {
    // Gaps between the arrays of a tile are no larger than the arrays of one row with theirs.
    int64_t row_bytes = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      const TableShape::Array& array = shape_.arrays()[i];
      if (!places_[i].stream_id) continue;
      row_bytes += array.kind == Kind::kStrings ? shape_.mean_string_bytes()[array.strings] : array.element_bytes;
    }
    most_.rows = std::min(most_.rows, std::max<int64_t>(0, pipe_->tile_bytes() - sent) / row_bytes);
  }
  most_.rows = shape_.WholeRows(most_.rows);
}

bool TableSink::Fits(const TableSize& size) const {
  for (size_t i = 0; i < size.string_bytes.size(); ++i) {
    if (size.string_bytes[i] > most_.string_bytes[i]) return false;
  }
  const int64_t sent = SentBytes(size);
  return sent == 0 || sent <= pipe_->tile_bytes();
}

int64_t TableSink::SentBytes(const TableSize& size) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].stream_id) bytes += AlignUp(shape_.arrays()[i].Bytes(size));
  }
  return bytes;
}

absl::StatusOr<TableSink::Tile> TableSink::Take(const TableSize& size, EngineStreamRing& turns) {
  Tile tile{taken_, size, {}};
  if (const int64_t bytes = SentBytes(size); bytes > 0) {
    CORANK_ASSIGN_OR_RETURN(tile.memory, TakeRoom(*pipe_, *lane_, bytes, &turns));
  }
  auto* next = static_cast<char*>(tile.memory.get());
  for (size_t i = 0; i < places_.size(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    if (places_[i].stream_id) {
      tile.arrays.push_back(next);
      next += AlignUp(array.Bytes(size));
    } else {
      tile.arrays.push_back(places_[i].place == nullptr ? nullptr : places_[i].place + array.BytesBefore(taken_));
    }
  }
  taken_.rows += size.rows;
  for (size_t i = 0; i < size.string_bytes.size(); ++i) taken_.string_bytes[i] += size.string_bytes[i];
  return tile;
}

void TableSink::Done(const Tile& tile) {
  for (size_t i = 0; i < places_.size(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    if (array.kind == Kind::kOffsets && tile.arrays[i] != nullptr) {
      const int64_t before = tile.before.string_bytes[array.strings];
      if (tile.before.rows == 0) std::memset(tile.arrays[i], 0, sizeof(int64_t));
      for (int64_t row = 1; row <= tile.size.rows && before > 0; ++row) {
        char* const place = tile.arrays[i] + row * array.element_bytes;  // may be unaligned
        int64_t offset;
        std::memcpy(&offset, place, sizeof(offset));
        offset += before;
        std::memcpy(place, &offset, sizeof(offset));
      }
    }
    if (!places_[i].stream_id) continue;
    // The first offset is the last one of the tile before.
    const int64_t sent = array.kind == Kind::kOffsets && tile.before.rows > 0 ? 1 : 0;
    SendChunks(*pipe_, *places_[i].stream_id, array.BytesBefore(tile.before) / array.element_bytes + sent,
               array.Elements(tile.size) - sent, array.element_bytes, tile.arrays[i] + sent * array.element_bytes,
               tile.memory);
  }
}

namespace {

// Where in each run the rows of a tile lie: [begin[i], end[i]).
struct Cut {
  std::vector<int64_t> begin, end;
  TableSize size;
  int64_t wanted_rows = 0;  // as many as size has, if the runs are sorted

  // The number of rows of each run, added up.
  std::vector<int64_t> Offsets() const {
    std::vector<int64_t> offsets = {0};
    for (size_t i = 0; i < begin.size(); ++i) offsets.push_back(offsets.back() + end[i] - begin[i]);
    return offsets;
  }
};

// The next rows of all runs that fit into a tile, at most `rows`.
Cut NextTile(const TableShape& shape, const std::vector<TableRun>& runs, const std::vector<int64_t>& begin,
             int64_t rows, const TableSink& sink) {
  for (;; rows = shape.WholeRows(rows / 2)) {
    Cut cut{begin, CutTables(shape, runs, begin, rows), {}, rows};
    cut.size = SizeOf(shape, runs, cut.begin, cut.end);
    if (sink.Fits(cut.size) || rows <= shape.WholeRows(1)) return cut;
  }
}

absl::Status GatherBits(EngineStream& stream, const std::vector<TableRun>& runs, const Cut& cut, size_t array,
                        char* to) {
  const int64_t bytes = ValidityBytes(cut.size.rows);
  CORANK_ASSIGN_OR_RETURN(void* const memory, stream.AllocateHost(bytes));
  auto* const bits = static_cast<uint8_t*>(memory);
  std::memset(bits, 0, static_cast<size_t>(bytes));
  int64_t first = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const int64_t count = cut.end[i] - cut.begin[i];
    AppendBits(bits, first, reinterpret_cast<const uint8_t*>(runs[i].arrays[array]), cut.begin[i], count);
    first += count;
  }
  return stream.CopyToDevice(to, bits, bytes);
}

// The bytes of strings, and their offsets in the array behind them.
absl::Status GatherStrings(EngineStream& stream, const std::vector<TableRun>& runs, const Cut& cut, size_t array,
                           char* to_strings, char* to_offsets) {
  const int64_t bytes = (cut.size.rows + 1) * static_cast<int64_t>(sizeof(int64_t));
  CORANK_ASSIGN_OR_RETURN(void* const memory, stream.AllocateHost(bytes));
  auto* next = static_cast<int64_t*>(memory);
  *next = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto* const offsets = reinterpret_cast<const int64_t*>(runs[i].arrays[array + 1]);
    const int64_t first = offsets[cut.begin[i]], before = *next;
    CORANK_RETURN_IF_ERROR(
        stream.CopyToDevice(to_strings + before, runs[i].arrays[array] + first, offsets[cut.end[i]] - first));
    for (int64_t row = cut.begin[i]; row < cut.end[i]; ++row) *++next = offsets[row + 1] - first + before;
  }
  return stream.CopyToDevice(to_offsets, memory, bytes);
}

// Puts a tile's rows of all runs into one table on the device.
absl::Status Gather(EngineStream& stream, const TableShape& shape, const std::vector<TableRun>& runs, const Cut& cut,
                    const std::vector<char*>& to) {
  for (size_t a = 0; a < to.size(); ++a) {
    const TableShape::Array& array = shape.arrays()[a];
    if (array.kind == Kind::kBitmap) {
      CORANK_RETURN_IF_ERROR(GatherBits(stream, runs, cut, a, to[a]));
    } else if (array.kind == Kind::kStrings) {
      CORANK_RETURN_IF_ERROR(GatherStrings(stream, runs, cut, a, to[a], to[a + 1]));
    } else if (array.kind == Kind::kRows && runs.front().arrays[a] != nullptr) {
      int64_t first = 0;
      for (size_t i = 0; i < runs.size(); ++i) {
        const int64_t count = cut.end[i] - cut.begin[i];
        CORANK_RETURN_IF_ERROR(stream.CopyToDevice(
            to[a] + array.Bytes({first}), runs[i].arrays[a] + array.Bytes({cut.begin[i]}), array.Bytes({count})));
        first += count;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t TileHostBytes(const TableShape& shape, const TableSize& tile) {
  int64_t bytes = 0;
  for (const TableShape::Array& array : shape.arrays()) {
    // Gathered on the host; other arrays are copied from where they are.
    if (array.kind == Kind::kOffsets || array.kind == Kind::kBitmap) bytes += AlignUp(array.Bytes(tile));
  }
  return TableSorter::kStreams * bytes;
}

absl::Status MergeTables(const std::vector<TableRun>& runs, int64_t rows, TableSink& sink, v1::RequestStats* stats,
                         TableCheck* check) {
  const TableShape& shape = sink.shape();
  EngineStreamRing turns(sink.lane(), TableSorter::kStreams, stats);
  std::vector<int64_t> begin;
  int64_t last = rows;  // of the rows that go to the device
  for (const TableRun& run : runs) begin.push_back(run.first);
  if (check != nullptr) {
    last = 0;
    for (const TableRun& run : runs) last += run.rows;
  }
  for (int64_t done = 0; done < last;) {
    CORANK_RETURN_IF_ERROR(sink.lane().CheckWanted());
    const bool is_wanted = done < rows;
    const int64_t most_rows = std::min(sink.tile_rows(), (is_wanted ? rows : last) - done);
    const Cut cut = NextTile(shape, runs, begin, most_rows, sink);
    if (check != nullptr) {
      check->in_order &= cut.size.rows == cut.wanted_rows && InOrderAt(shape, runs, begin);
      if (!check->in_order) break;
    }
    TableSink::Tile tile;
    if (is_wanted) {
      CORANK_ASSIGN_OR_RETURN(tile, sink.Take(cut.size, turns));
    }
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns.Next());
    const auto report = std::make_shared<OperatorReport>();
    turns.WhenDone([&sink, check, tile, report] {
      if (check != nullptr) {
        check->in_order &= report->fault == OperatorReport::Fault::kNone;
        if (check->algorithm == SortAlgorithm::kAuto) check->algorithm = report->sort_algorithm;
      }
      if (!tile.arrays.empty()) sink.Done(tile);
    });
    CORANK_ASSIGN_OR_RETURN(void* const unsorted, stream->AllocateDevice(shape.BlockBytes(cut.size)));
    CORANK_ASSIGN_OR_RETURN(void* const sorted, stream->AllocateDevice(shape.BlockBytes(cut.size)));
    const std::vector<char*> from = shape.Places(static_cast<char*>(unsorted), cut.size);
    const std::vector<char*> to = shape.Places(static_cast<char*>(sorted), cut.size);
    CORANK_RETURN_IF_ERROR(Gather(*stream, shape, runs, cut, from));
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    const std::vector<int64_t> offsets = cut.Offsets();
    for (size_t i = 0; i < runs.size() && runs[i].arrays.back() == nullptr; ++i) {
      const int32_t bytes = shape.arrays().back().element_bytes;
      if (offsets[i + 1] == offsets[i]) continue;
      CORANK_RETURN_IF_ERROR(
          stream->Iota(from.back() + offsets[i] * bytes, bytes, cut.begin[i], offsets[i + 1] - offsets[i]));
    }
    CORANK_RETURN_IF_ERROR(shape.Sort(*stream, from, to, cut.size, cut.size.rows, report.get(),
                                      check != nullptr ? offsets : std::vector<int64_t>()));
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
    for (size_t i = 0; i < tile.arrays.size(); ++i) {
      if (tile.arrays[i] == nullptr) continue;
      const TableShape::Array& array = shape.arrays()[i];
      // The first offset belongs to the tile before, which may still be on its way.
      const int64_t kept = array.kind == Kind::kOffsets ? array.element_bytes : 0;
      CORANK_RETURN_IF_ERROR(stream->CopyToHost(tile.arrays[i] + kept, to[i] + kept, array.Bytes(cut.size) - kept));
    }
    begin = cut.end;
    done += cut.size.rows;
  }
  return turns.FinishAll();
}

}  // namespace corank
