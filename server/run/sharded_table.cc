#include "server/run/sharded_table.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "kernels/engine/each_shard.h"
#include "kernels/engine/rounding.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"

namespace corank {
namespace {

// Streams of each device by their numbers: for its part, for the rows that tell the cuts, for pieces that it sends, and
// for tiles in turn.
constexpr int kPartStream = 0, kCutStream = 1, kCopyStream = 2, kFirstTileStream = 3;
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
  for (Part& part : parts_) static_cast<void>(FinishAll(part, absl::OkStatus()).ok());
}

std::vector<int64_t> ShardedTable::Kept() const {
  std::vector<int64_t> rows;
  for (const Part& part : parts_) rows.push_back(part.kept);
  return rows;
}

int64_t ShardedTable::AllKept() const {
  const std::vector<int64_t> rows = Kept();
  return std::accumulate(rows.begin(), rows.end(), int64_t{0});
}

int64_t ShardedTable::host_bytes() const {
  const auto parts = static_cast<int64_t>(parts_.size()), cuts = static_cast<int64_t>(positions_.size());
  // For pieces; results are then in host memory. See ShardedSort::HostBytes.
  const int64_t relays = are_linked_ ? 0 : parts * kRelayBytes;
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

absl::Status ShardedTable::TakeStreams() {
  for (Part& part : parts_) {
    CORANK_ASSIGN_OR_RETURN(part.sorter, lane_->StreamOn(part.device, kPartStream));
    CORANK_ASSIGN_OR_RETURN(part.cutter, lane_->StreamOn(part.device, kCutStream));
    CORANK_ASSIGN_OR_RETURN(part.copier, lane_->StreamOn(part.device, kCopyStream));
    part.turns.emplace(*lane_, part.device, kFirstTileStream, kTileStreams, &part.stats);
    CORANK_RETURN_IF_ERROR(part.turns->Make(std::min<size_t>(kTileStreams, part.tiles.size())));
  }
  return absl::OkStatus();
}

absl::Status ShardedTable::Begin(Part& part, EngineStream* stream) {
  CORANK_RETURN_IF_ERROR(stream->Begin());
  part.begun.push_back(stream);
  return absl::OkStatus();
}

absl::Status ShardedTable::FinishAll(Part& part, absl::Status status) {
  for (EngineStream* const stream : part.begun) {
    const absl::StatusOr<PhaseTimes> times = stream->Finish();
    status.Update(times.status());
    if (times.ok()) AddTimes(*times, stream->workspace_bytes(), &part.stats);
  }
  part.begun.clear();
  return status;
}

absl::Status ShardedTable::Sort(const std::vector<const Operand*>& inputs, const std::vector<Place>& places) {
  CORANK_RETURN_IF_ERROR(TakeStreams());
  cuts_.emplace(shape_, Kept(), positions_);
  size_t most_tiles = 0;
  for (const Part& part : parts_) most_tiles = std::max(most_tiles, part.tiles.size());
  Barrier barrier(parts_.size());
  return OnEachShard(parts_.size(), [&](size_t i) {
    Part& part = parts_[i];
    absl::Status status;
    const auto all_do = [&](absl::FunctionRef<absl::Status()> step) {
      if (status.ok() && i == 0) status = lane_->CheckWanted();
      if (status.ok()) status = step();
      return barrier.ArriveAndWait(status.ok());
    };
    bool all_ok = all_do([&] { return SortPart(i, inputs); });
    all_ok = all_ok && all_do([&] {
               if (i == 0) cuts_->FindRanges();
               return absl::OkStatus();
             });
    all_ok = all_ok && all_do([&] { return CopyRanges(i); });
    if (!all_ok) return status;
    if (i == 0) lane_->set_next_stage(Stage::kCopyOut);
    status = Begin(part, part.copier);
    for (size_t tile = 0; tile < most_tiles; ++tile) {
      all_ok = all_do([&] { return BeginTile(part, tile); });
      all_ok = all_ok && all_do([&] { return SendPieces(i, tile); });
      if (!all_ok) return status;
      status = MergeTile(i, tile, places);
    }
    if (status.ok()) status = part.turns->FinishAll();
    status = FinishAll(part, status);
    status.Update(part.merged);
    return status;
  });
}

absl::Status ShardedTable::CopyIn(Part& part, const std::vector<const Operand*>& inputs) const {
  const TableSize size{part.rows}, before{part.first};
  CORANK_ASSIGN_OR_RETURN(void* const unsorted, part.sorter->AllocateDevice(shape_.BlockBytes(size)));
  CORANK_ASSIGN_OR_RETURN(void* const sorted, part.sorter->AllocateDevice(shape_.BlockBytes({part.kept})));
  part.unsorted = shape_.Places(static_cast<char*>(unsorted), size);
  part.sorted = shape_.Places(static_cast<char*>(sorted), {part.kept});
  for (size_t i = 0; i < shape_.inputs(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    CORANK_RETURN_IF_ERROR(
        CopyElements(*part.sorter, *inputs[i], array.Elements(before), array.Elements(size), part.unsorted[i]));
  }
  return part.sorter->EndCopyIn();
}

absl::Status ShardedTable::SortPart(size_t number, const std::vector<const Operand*>& inputs) {
  Part& part = parts_[number];
  CORANK_RETURN_IF_ERROR(Begin(part, part.sorter));
  CORANK_RETURN_IF_ERROR(CopyIn(part, inputs));
  if (number == 0) {
    lane_->set_next_stage(Stage::kKernel);
    CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
  }
  if (shape_.has_indices()) {
    const int32_t bytes = shape_.arrays().back().element_bytes;
    CORANK_RETURN_IF_ERROR(part.sorter->Iota(part.unsorted.back(), bytes, part.first, part.rows));
  }
  CORANK_RETURN_IF_ERROR(shape_.Sort(*part.sorter, part.unsorted, part.sorted, {part.rows}, part.kept, &part.report));
  CORANK_RETURN_IF_ERROR(cuts_->CopySamples(number, part.sorted, *part.sorter));
  return FinishAll(part, part.sorter->EndKernels());
}

absl::Status ShardedTable::CopyRanges(size_t number) {
  Part& part = parts_[number];
  CORANK_RETURN_IF_ERROR(Begin(part, part.cutter));
  CORANK_RETURN_IF_ERROR(part.cutter->EndCopyIn());
  CORANK_RETURN_IF_ERROR(cuts_->CopyRanges(number, part.sorted, *part.cutter));
  return FinishAll(part, part.cutter->EndKernels());
}

absl::Status ShardedTable::BeginTile(Part& part, size_t number) const {
  if (number >= part.tiles.size()) return absl::OkStatus();
  Tile& tile = part.tiles[number];
  const int64_t whole = shape_.WholeRows(1);
  const std::vector<int64_t> begin = number == 0 ? cuts_->At(tile.cut) : part.cut;
  part.cut = cuts_->At(tile.cut + 1);
  tile.offsets = {0};
  for (size_t i = 0; i < parts_.size(); ++i) {
    const int64_t first = begin[i] / whole * whole;
    tile.first_of.push_back(first);
    tile.before += begin[i] - first;
    tile.offsets.push_back(tile.offsets.back() + std::min(RoundUp(part.cut[i], whole), parts_[i].kept) - first);
  }
  const TableSize size{tile.offsets.back()};
  CORANK_ASSIGN_OR_RETURN(tile.stream, part.turns->Next());
  CORANK_ASSIGN_OR_RETURN(void* const pieces, tile.stream->AllocateDevice(shape_.BlockBytes(size)));
  tile.pieces = shape_.Places(static_cast<char*>(pieces), size);
  tile.are_sent.resize(parts_.size());
  CORANK_ASSIGN_OR_RETURN(tile.has_memory, tile.stream->MarkPoint());
  return absl::OkStatus();
}

absl::Status ShardedTable::CopyPiece(EngineStream& stream, const Tile& tile, size_t part) const {
  const TableSize before{tile.offsets[part]}, size{tile.offsets[part + 1] - tile.offsets[part]};
  for (size_t a = 0; a < shape_.arrays().size(); ++a) {
    const TableShape::Array& array = shape_.arrays()[a];
    const char* const from = parts_[part].sorted[a] + array.Bytes({tile.first_of[part]});
    CORANK_RETURN_IF_ERROR(stream.Copy(tile.pieces[a] + array.Bytes(before), from, array.Bytes(size)));
  }
  return absl::OkStatus();
}

absl::Status ShardedTable::SendPieces(size_t from, size_t number) {
  EngineStream& copier = *parts_[from].copier;
  // To the next device first, so that the devices begin with different ones. Nothing keeps this order later: two may
  // send to one at a time (ShardedMerge::SendPieces has turns).
  for (size_t step = 1; step < parts_.size(); ++step) {
    std::vector<Tile>& tiles = parts_[(from + step) % parts_.size()].tiles;
    if (number >= tiles.size()) continue;
    Tile& tile = tiles[number];
    if (tile.offsets[from] == tile.offsets[from + 1]) continue;
    CORANK_RETURN_IF_ERROR(copier.After(tile.has_memory));
    CORANK_RETURN_IF_ERROR(CopyPiece(copier, tile, from));
    CORANK_ASSIGN_OR_RETURN(tile.are_sent[from], copier.MarkPoint());
  }
  return absl::OkStatus();
}

absl::Status ShardedTable::MergeTile(size_t part, size_t number, const std::vector<Place>& places) {
  std::vector<Tile>& tiles = parts_[part].tiles;
  if (number >= tiles.size()) return absl::OkStatus();
  const Tile& tile = tiles[number];
  EngineStream& stream = *tile.stream;
  const auto report = std::make_shared<OperatorReport>();
  parts_[part].turns->WhenDone([&merged = parts_[part].merged, report] {
    if (report->fault != OperatorReport::Fault::kNone) merged.Update(UnexpectedFault(*report));
  });
  const TableSize size{tile.offsets.back()}, merged{tile.before + tile.count};
  CORANK_ASSIGN_OR_RETURN(void* const rows, stream.AllocateDevice(shape_.BlockBytes(merged)));
  std::vector<char*> to = shape_.Places(static_cast<char*>(rows), merged);
  for (size_t a = 0; a < to.size(); ++a) {
    if (!places[a].is_wanted()) to[a] = nullptr;
  }
  CORANK_RETURN_IF_ERROR(CopyPiece(stream, tile, part));
  for (const void* const point : tile.are_sent) CORANK_RETURN_IF_ERROR(stream.After(point));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(shape_.Sort(stream, tile.pieces, to, size, merged.rows, report.get(), tile.offsets));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  for (size_t a = 0; a < to.size(); ++a) {
    if (to[a] == nullptr) continue;
    const TableShape::Array& array = shape_.arrays()[a];
    CORANK_RETURN_IF_ERROR(Return(stream, tile, array, to[a] + array.Bytes({tile.before}), places[a]));
  }
  return absl::OkStatus();
}

absl::Status ShardedTable::Return(EngineStream& stream, const Tile& tile, const TableShape::Array& array,
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
