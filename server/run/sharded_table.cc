#include "server/run/sharded_table.h"

#include <algorithm>

#include "kernels/engine/rounding.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"

namespace corank {
namespace {

// Streams of each device by their numbers: for its part, for the rows that tell the cuts, and for tiles in turn.
constexpr int kPartStream = 0, kCutStream = 1, kFirstTileStream = 2;
constexpr int kTileStreams = 3;

// More tiles hide more of the first copy in and the last copy out; more cuts take the host longer.
constexpr int64_t kMostTiles = 16, kMostCuts = 64;

int64_t ResultRows(const ShardedTable::Options& options) {
  return options.limit >= 0 ? std::min(options.limit, options.rows) : options.rows;
}

// Where a device's part of `rows` rows begins. Parts have whole rows, and the first part is a largest one.
int64_t FirstOf(int64_t rows, int64_t whole, int64_t parts, int64_t part) {
  return std::min(rows, whole * PartBegin(CeilDiv(rows, whole), parts, part));
}

int64_t TileRows(const TableShape& shape, const ShardedTable::Options& options, int64_t parts, int64_t part_rows) {
  const int64_t most = std::clamp<int64_t>(kMostCuts / parts, 1, kMostTiles);
  const int64_t tiles = std::clamp<int64_t>(part_rows * shape.row_bytes() / options.tile_bytes, 1, most);
  return RoundUp(CeilDiv(part_rows, tiles), shape.WholeRows(1));
}

}  // namespace

ShardedTable::ShardedTable(const TableShape& shape, const Options& options, const std::vector<int>& devices, Lane* lane)
    : shape_(shape), lane_(lane), are_linked_(options.are_linked) {
  const int64_t whole = shape.WholeRows(1), result_rows = ResultRows(options);
  const auto parts = static_cast<int64_t>(devices.size());
  tile_rows_ = TileRows(shape, options, parts, FirstOf(result_rows, whole, parts, 1));
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = FirstOf(options.rows, whole, parts, i);
    const int64_t rows = FirstOf(options.rows, whole, parts, i + 1) - first;
    if (rows == 0) break;  // and so have all others, in the result too
    Part& part = parts_.emplace_back();
    part.device = devices[static_cast<size_t>(i)];
    part.first = first;
    part.rows = rows;
    part.kept = std::min(rows, RoundUp(result_rows, whole));
    const int64_t end = FirstOf(result_rows, whole, parts, i + 1);
    for (int64_t begin = FirstOf(result_rows, whole, parts, i); begin < end; begin += tile_rows_) {
      part.tiles.push_back({begin, std::min(tile_rows_, end - begin), positions_.size()});
      positions_.push_back(begin);
    }
  }
  positions_.push_back(result_rows);
}

ShardedTable::~ShardedTable() {
  // The destructor may ignore an error: it was returned before, or the next use of the stream returns it.
  static_cast<void>(FinishAll(absl::OkStatus()).ok());
}

int64_t ShardedTable::AllKept() const {
  int64_t rows = 0;
  for (const Part& part : parts_) rows += part.kept;
  return rows;
}

int64_t ShardedTable::host_bytes() const {
  const auto parts = static_cast<int64_t>(parts_.size()), cuts = static_cast<int64_t>(positions_.size());
  const int64_t relays = are_linked_ ? 0 : parts * kTileStreams * kRelayBytes;
  return relays + TableCuts::HostBytes(shape_, AllKept(), parts, cuts);
}

int64_t ShardedTable::device_bytes(const Engine& engine) const {
  const Part& part = parts_.front();  // a largest one
  const auto parts = static_cast<int64_t>(parts_.size()), cuts = static_cast<int64_t>(positions_.size());
  const int64_t pieces = tile_rows_ + 2 * (shape_.WholeRows(1) - 1) * parts;
  return shape_.SortBytes(engine, {part.rows}, part.kept) +
         TableCuts::DeviceBytes(shape_, part.kept, AllKept(), parts, cuts, engine) +
         std::min<int64_t>(kTileStreams, static_cast<int64_t>(part.tiles.size())) *
             shape_.SortBytes(engine, {pieces}, pieces, parts_.size());
}

absl::StatusOr<EngineStream*> ShardedTable::Begin(Part& part, int number) {
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, lane_->StreamOn(part.device, number));
  CORANK_RETURN_IF_ERROR(stream->Begin());
  begun_.emplace_back(stream, &part);
  return stream;
}

absl::Status ShardedTable::FinishAll(absl::Status status) {
  for (const auto& [stream, part] : begun_) {
    const absl::StatusOr<PhaseTimes> times = stream->Finish();
    status.Update(times.status());
    if (times.ok()) AddTimes(*times, stream->workspace_bytes(), &part->stats);
  }
  begun_.clear();
  return status;
}

absl::Status ShardedTable::CopyIn(Part& part, const std::vector<const Operand*>& inputs) {
  CORANK_ASSIGN_OR_RETURN(part.stream, Begin(part, kPartStream));
  const TableSize size{part.rows}, before{part.first};
  CORANK_ASSIGN_OR_RETURN(void* const unsorted, part.stream->AllocateDevice(shape_.BlockBytes(size)));
  CORANK_ASSIGN_OR_RETURN(void* const sorted, part.stream->AllocateDevice(shape_.BlockBytes({part.kept})));
  part.unsorted = shape_.Places(static_cast<char*>(unsorted), size);
  part.sorted = shape_.Places(static_cast<char*>(sorted), {part.kept});
  for (size_t i = 0; i < shape_.inputs(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    CORANK_RETURN_IF_ERROR(
        CopyElements(*part.stream, *inputs[i], array.Elements(before), array.Elements(size), part.unsorted[i]));
  }
  return part.stream->EndCopyIn();
}

absl::Status ShardedTable::Sort(Part& part) {
  if (shape_.has_indices()) {
    const int32_t bytes = shape_.arrays().back().element_bytes;
    CORANK_RETURN_IF_ERROR(part.stream->Iota(part.unsorted.back(), bytes, part.first, part.rows));
  }
  return shape_.Sort(*part.stream, part.unsorted, part.sorted, {part.rows}, part.kept, &part.report);
}

absl::Status ShardedTable::SortParts(const std::vector<const Operand*>& inputs) {
  // A sort may wait for the copies before it, so all copies come first.
  absl::Status status;
  for (Part& part : parts_) {
    if (status.ok()) status = CopyIn(part, inputs);
  }
  lane_->set_next_stage(Stage::kKernel);
  if (status.ok()) status = lane_->CheckWanted();
  std::vector<TableCuts::Run> runs;
  for (Part& part : parts_) {
    if (status.ok()) status = Sort(part);
    runs.push_back({part.sorted, part.kept});
  }
  cuts_ = std::make_unique<TableCuts>(shape_, std::move(runs), positions_);
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (status.ok()) status = cuts_->CopySamples(i, *parts_[i].stream);
    if (status.ok()) status = parts_[i].stream->EndKernels();
  }
  return FinishAll(status);
}

absl::Status ShardedTable::CopyRanges() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, Begin(parts_[i], kCutStream));
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    CORANK_RETURN_IF_ERROR(cuts_->CopyRanges(i, *stream));
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
  }
  return absl::OkStatus();
}

absl::Status ShardedTable::MergeParts(const std::vector<Place>& places) {
  CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
  CORANK_RETURN_IF_ERROR(FinishAll(CopyRanges()));
  lane_->set_next_stage(Stage::kCopyOut);
  std::deque<EngineStreamRing> turns;  // of each part's device
  size_t most_tiles = 0;
  for (Part& part : parts_) {
    turns.emplace_back(*lane_, part.device, kFirstTileStream, kTileStreams, &part.stats);
    most_tiles = std::max(most_tiles, part.tiles.size());
  }
  // Tile by tile, so that no device waits until all of another's work is enqueued.
  for (size_t tile = 0; tile < most_tiles; ++tile) {
    CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
    for (size_t i = 0; i < parts_.size(); ++i) {
      const std::vector<Tile>& tiles = parts_[i].tiles;
      if (tile < tiles.size()) CORANK_RETURN_IF_ERROR(MergeTile(tiles[tile], turns[i], places));
    }
  }
  for (EngineStreamRing& streams : turns) CORANK_RETURN_IF_ERROR(streams.FinishAll());
  return merged_;
}

absl::Status ShardedTable::MergeTile(const Tile& tile, EngineStreamRing& turns, const std::vector<Place>& places) {
  const int64_t whole = shape_.WholeRows(1);
  const std::vector<int64_t>&begin = cuts_->At(tile.cut), &end = cuts_->At(tile.cut + 1);
  std::vector<int64_t> first(parts_.size()), offsets = {0};
  int64_t before = 0;  // rows of the pieces that belong to an earlier tile
  for (size_t i = 0; i < parts_.size(); ++i) {
    first[i] = begin[i] / whole * whole;
    before += begin[i] - first[i];
    offsets.push_back(offsets.back() + std::min(RoundUp(end[i], whole), parts_[i].kept) - first[i]);
  }
  const TableSize size{offsets.back()}, merged{before + tile.count};
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns.Next());
  const auto report = std::make_shared<OperatorReport>();
  turns.WhenDone([this, report] {
    if (report->fault != OperatorReport::Fault::kNone) merged_.Update(UnexpectedFault(*report));
  });
  CORANK_ASSIGN_OR_RETURN(void* const pieces, stream->AllocateDevice(shape_.BlockBytes(size)));
  CORANK_ASSIGN_OR_RETURN(void* const rows, stream->AllocateDevice(shape_.BlockBytes(merged)));
  const std::vector<char*> from = shape_.Places(static_cast<char*>(pieces), size);
  std::vector<char*> to = shape_.Places(static_cast<char*>(rows), merged);
  for (size_t a = 0; a < from.size(); ++a) {
    const TableShape::Array& array = shape_.arrays()[a];
    for (size_t i = 0; i < parts_.size(); ++i) {
      const int64_t bytes = array.Bytes({offsets[i + 1] - offsets[i]});
      if (bytes == 0) continue;
      CORANK_RETURN_IF_ERROR(
          stream->Copy(from[a] + array.Bytes({offsets[i]}), parts_[i].sorted[a] + array.Bytes({first[i]}), bytes));
    }
    if (!places[a].is_wanted()) to[a] = nullptr;
  }
  CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
  CORANK_RETURN_IF_ERROR(shape_.Sort(*stream, from, to, size, merged.rows, report.get(), offsets));
  CORANK_RETURN_IF_ERROR(stream->EndKernels());
  for (size_t a = 0; a < to.size(); ++a) {
    if (to[a] == nullptr) continue;
    const TableShape::Array& array = shape_.arrays()[a];
    CORANK_RETURN_IF_ERROR(Send(*stream, tile, array, to[a] + array.Bytes({before}), places[a]));
  }
  return absl::OkStatus();
}

absl::Status ShardedTable::Send(EngineStream& stream, const Tile& tile, const TableShape::Array& array,
                                const char* d_rows, const Place& place) const {
  const int64_t first = array.Elements({tile.first}), count = array.Elements({tile.count});
  const int64_t element_bytes = array.element_bytes;
  if (place.host != nullptr)
    return stream.CopyToHost(place.host + first * element_bytes, d_rows, count * element_bytes);
  const auto copy = [&](size_t part, int64_t to, int64_t elements, int64_t before) {
    char* const d_to = static_cast<char*>(place.shards[part]) + to * element_bytes;
    return stream.Copy(d_to, d_rows + before * element_bytes, elements * element_bytes);
  };
  return ForEachPart(array.Elements({positions_.back()}), static_cast<int64_t>(place.shards.size()), first, count,
                     copy);
}

void ShardedTable::AddTimesTo(v1::RequestStats* stats) const {
  std::vector<const v1::RequestStats*> of_parts;
  for (const Part& part : parts_) of_parts.push_back(&part.stats);
  AddLongest(of_parts, stats);
}

}  // namespace corank
