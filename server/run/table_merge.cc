#include "server/run/table_merge.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/engine/alignment.h"
#include "server/base/status_macros.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/table_sort.h"

namespace corank {

TableSink::TableSink(const TableShape& shape, std::vector<RowSink::Column> places, int64_t most_rows, ChunkPipe* pipe,
                     Lane* lane)
    : shape_(shape), places_(std::move(places)), pipe_(pipe), lane_(lane), tile_rows_(most_rows) {
  if (const int64_t sent = SentBytes(1); sent > 0) {
    // Gaps between the arrays of a tile are no larger than the arrays of one row with theirs.
    int64_t row_bytes = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].stream_id) row_bytes += shape_.arrays()[i].element_bytes;
    }
    tile_rows_ = std::min(tile_rows_, std::max<int64_t>(0, pipe_->tile_bytes() - sent) / row_bytes);
  }
  tile_rows_ = shape_.WholeRows(tile_rows_);
}

int64_t TableSink::SentBytes(int64_t rows) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].stream_id) bytes += AlignUp(shape_.arrays()[i].Bytes(rows));
  }
  return bytes;
}

absl::StatusOr<TableSink::Tile> TableSink::Take(int64_t first, int64_t count, bool wait) {
  Tile tile;
  if (const int64_t bytes = SentBytes(count); bytes > 0) {
    CORANK_ASSIGN_OR_RETURN(tile.memory, pipe_->TakeBuffer(*lane_, bytes, wait));
    if (tile.memory == nullptr) return tile;
  }
  auto* next = static_cast<char*>(tile.memory.get());
  for (size_t i = 0; i < places_.size(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    if (places_[i].stream_id) {
      tile.arrays.push_back(next);
      next += AlignUp(array.Bytes(count));
    } else {
      tile.arrays.push_back(places_[i].place == nullptr ? nullptr : places_[i].place + array.Bytes(first));
    }
  }
  return tile;
}

void TableSink::Done(int64_t first, int64_t count, const Tile& tile) {
  for (size_t i = 0; i < places_.size(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    if (!places_[i].stream_id) continue;
    SendChunks(*pipe_, *places_[i].stream_id, array.Elements(first), array.Elements(count), array.element_bytes,
               tile.arrays[i], tile.memory);
  }
}

namespace {

// Puts rows [begin[i], end[i]) of all runs into one table on the device.
absl::Status Gather(EngineStream& stream, const TableShape& shape, const std::vector<TableRun>& runs,
                    const std::vector<int64_t>& begin, const std::vector<int64_t>& end, int64_t rows,
                    const std::vector<char*>& to) {
  for (size_t a = 0; a < to.size(); ++a) {
    const TableShape::Array& array = shape.arrays()[a];
    uint8_t* bits = nullptr;
    if (array.is_bitmap) {
      CORANK_ASSIGN_OR_RETURN(void* const memory, stream.AllocateHost(array.Bytes(rows)));
      bits = static_cast<uint8_t*>(memory);
      std::memset(bits, 0, static_cast<size_t>(array.Bytes(rows)));
    }
    int64_t first = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      const int64_t count = end[i] - begin[i];
      if (count == 0) continue;
      if (array.is_bitmap) {
        AppendBits(bits, first, reinterpret_cast<const uint8_t*>(runs[i].arrays[a]), begin[i], count);
      } else {
        CORANK_RETURN_IF_ERROR(stream.CopyToDevice(to[a] + array.Bytes(first),
                                                   runs[i].arrays[a] + array.Bytes(begin[i]), array.Bytes(count)));
      }
      first += count;
    }
    if (array.is_bitmap) CORANK_RETURN_IF_ERROR(stream.CopyToDevice(to[a], bits, array.Bytes(rows)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MergeTables(Lane& lane, const TableShape& shape, const std::vector<TableRun>& runs, int64_t rows,
                         TableSink& sink, v1::RequestStats* stats) {
  EngineStreamRing turns(lane, TableSorter::kStreams, stats);
  std::vector<int64_t> begin(runs.size(), 0);
  for (int64_t first = 0; first < rows; first += sink.tile_rows()) {
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    const int64_t count = std::min(sink.tile_rows(), rows - first);
    const std::vector<int64_t> end = CutTables(shape, runs, begin, count);
    CORANK_ASSIGN_OR_RETURN(TableSink::Tile tile, sink.Take(first, count, /*wait=*/false));
    if (tile.arrays.empty()) {
      CORANK_RETURN_IF_ERROR(turns.FinishAll());
      CORANK_ASSIGN_OR_RETURN(tile, sink.Take(first, count, /*wait=*/true));
    }
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns.Next());
    const auto report = std::make_shared<OperatorReport>();
    turns.WhenDone([&sink, first, count, tile, report] { sink.Done(first, count, tile); });
    CORANK_ASSIGN_OR_RETURN(void* const unsorted, stream->AllocateDevice(shape.BlockBytes(count)));
    CORANK_ASSIGN_OR_RETURN(void* const sorted, stream->AllocateDevice(shape.BlockBytes(count)));
    const std::vector<char*> from = shape.Places(static_cast<char*>(unsorted), count);
    const std::vector<char*> to = shape.Places(static_cast<char*>(sorted), count);
    CORANK_RETURN_IF_ERROR(Gather(*stream, shape, runs, begin, end, count, from));
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    CORANK_RETURN_IF_ERROR(shape.Sort(*stream, from, to, count, count, report.get()));
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
    for (size_t i = 0; i < to.size(); ++i) {
      if (tile.arrays[i] == nullptr) continue;
      CORANK_RETURN_IF_ERROR(stream->CopyToHost(tile.arrays[i], to[i], shape.arrays()[i].Bytes(count)));
    }
    begin = end;
  }
  return turns.FinishAll();
}

}  // namespace corank
