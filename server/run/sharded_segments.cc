#include "server/run/sharded_segments.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <utility>

#include "kernels/engine/alignment.h"
#include "kernels/engine/each_shard.h"
#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/model/offsets.h"
#include "server/model/parts.h"
#include "server/run/sharded_operation.h"
#include "server/run/table.h"

namespace corank {
namespace {

// The first segment, or the end of all, that begins at `row` or later.
int64_t FirstFrom(const Int64View& offsets, int64_t row) {
  int64_t begin = 0, end = offsets.size() - 1;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (offsets[middle] < row) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool IsBits(const PendingResult& result) { return result.role == ResultRole::kColumnValidity; }

}  // namespace

// A device's ranges. Streams wait for each other only in turn.
class ShardedSegments::Part {
 public:
  Part(Lane& lane, int device)
      : turns(lane, device, /*first=*/0, kStreams, &stats), bits(lane, device, kStreams, /*count=*/1, &stats) {}

  v1::RequestStats stats;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // of the first range that has rows
  EngineStreamRing turns;
  EngineStreamRing bits;  // of sharded results
  EngineStream* bits_stream = nullptr;

  absl::StatusOr<EngineStream*> BitsStream() {
    if (bits_stream == nullptr) {
      CORANK_ASSIGN_OR_RETURN(bits_stream, bits.Next());
    }
    return bits_stream;
  }
};

bool ShardedSegments::Takes(const KernelOperation& whole, const std::optional<Operand>& segment_offsets, int64_t rows) {
  if (!segment_offsets || segment_offsets->is_pending || whole.OverwritesInputs()) return false;
  if (!CanShare(whole)) return false;
  if (AnySharded(whole)) return true;
  const Int64View offsets(*segment_offsets);
  const int64_t middle = offsets[FirstFrom(offsets, rows / 2)];
  return whole.results().front().count > 0 && middle <= rows - rows / 4;
}

ShardedSegments::ShardedSegments(std::unique_ptr<const KernelOperation> whole, Options options, uint64_t devices)
    : whole_(std::move(whole)), options_(std::move(options)), devices_(SharingDevices(devices)) {
  const Int64View offsets(options_.segment_offsets);
  const int64_t ranges = this->devices() * kRangesOfDevice;
  Range range;
  for (int64_t i = 1; i <= ranges; ++i) {
    range.end = i == ranges ? offsets.size() - 1 : FirstFrom(offsets, PartBegin(options_.rows, ranges, i));
    ranges_.push_back(range);
    for (int64_t segment = range.first; options_.limit >= 0 && segment < range.end; ++segment) {
      range.result += std::min(options_.limit, offsets[segment + 1] - offsets[segment]);
    }
    if (options_.limit < 0) range.result = offsets[range.end];
    range.first = range.end;
  }
}

bool ShardedSegments::HasRows(const Range& range) const {
  const Int64View offsets(options_.segment_offsets);
  return offsets[range.end] > offsets[range.first];
}

SegmentTile ShardedSegments::TileOf(const Range& range) const {
  const Int64View offsets(options_.segment_offsets);
  SegmentTile tile(offsets[range.first] / options_.whole_rows * options_.whole_rows);
  for (int64_t segment = range.first; segment <= range.end; ++segment) tile.Add(offsets[segment]);
  return tile;
}

int64_t ShardedSegments::BitsBytes(const PendingResult& result, int64_t rows) const {
  return IsBits(result) ? AlignUp(ValidityBytes(rows)) : 0;
}

template <typename BytesOf>
int64_t ShardedSegments::SumOfStreams(int64_t device, const BytesOf& bytes_of) const {
  const Int64View offsets(options_.segment_offsets);
  std::array<int64_t, kStreams> most{};
  size_t sorted = 0;
  for (int64_t turn = 0; turn < kRangesOfDevice; ++turn) {
    const Range& range = RangeOf(device, turn);
    if (!HasRows(range)) continue;
    const int64_t first = offsets[range.first] / options_.whole_rows * options_.whole_rows;
    int64_t& of_stream = most[sorted++ % most.size()];
    of_stream = std::max(of_stream, bytes_of(offsets[range.end] - first, range.end - range.first + 1));
  }
  int64_t sum = 0;
  for (const int64_t bytes : most) sum += bytes;
  return sum;
}

int64_t ShardedSegments::device_bytes(const Engine& engine) const {
  int64_t most = 0;
  for (int64_t i = 0; i < devices(); ++i) {
    const int64_t bytes =
        SumOfStreams(i, [&](int64_t rows, int64_t segments) { return TileBytes(rows, segments, engine); });
    most = std::max(most, bytes);
  }
  return most;
}

int64_t ShardedSegments::host_bytes() const {
  int64_t bytes = 0;
  for (const PendingResult& result : whole_->results()) {
    if (IsSharded(result.target)) bytes += IsBits(result) ? AlignUp(result.count) : 0;
  }
  for (int64_t i = 0; i < devices(); ++i) {
    bytes += SumOfStreams(i, [this](int64_t rows, int64_t segments) {
      int64_t of_range = AlignUp(SegmentTile::OffsetBytes(segments));
      for (const PendingResult& result : whole_->results()) of_range += BitsBytes(result, rows);
      return of_range;
    });
  }
  return bytes;
}

absl::StatusOr<std::vector<ShardedSegments::Place>> ShardedSegments::PlacesOf(const std::vector<RowResult>& results,
                                                                              std::deque<Part>& parts) const {
  std::vector<Place> places(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const PendingResult& result = whole_->results()[i];
    Place& place = places[i];
    place.host = results[i].column().place;
    for (size_t shard = 0; IsSharded(result.target) && shard < devices_.size(); ++shard) {
      CORANK_ASSIGN_OR_RETURN(place.shards.emplace_back(), result.target->AllocateShard(shard));
    }
    if (!IsBits(result) || result.count == 0) continue;
    if (!place.shards.empty()) {
      CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, parts.front().BitsStream());
      CORANK_ASSIGN_OR_RETURN(void* const h_bits, stream->AllocateHost(result.count));
      place.host = static_cast<char*>(h_bits);
    }
    std::memset(place.host, 0, static_cast<size_t>(result.count));
  }
  return places;
}

absl::Status ShardedSegments::Return(EngineStream& stream, const PendingResult& result, const Place& place,
                                     const char* d_from, int64_t first, int64_t count) const {
  const int64_t element_bytes = result.element_bytes;
  if (place.host != nullptr)
    return stream.CopyToHost(place.host + first * element_bytes, d_from, count * element_bytes);
  const auto copy = [&](size_t part, int64_t at, int64_t elements, int64_t before) {
    return stream.Copy(static_cast<char*>(place.shards[part]) + at * element_bytes, d_from + before * element_bytes,
                       elements * element_bytes);
  };
  return ForEachPart(result.count, devices(), first, count, copy);
}

absl::Status ShardedSegments::SortRange(Part& part, const Range& range, const std::vector<Place>& places) {
  if (!HasRows(range)) return absl::OkStatus();
  const SegmentTile tile = TileOf(range);
  const int64_t rows_before = Int64View(options_.segment_offsets)[range.first] - tile.first();
  const int64_t before = options_.limit < 0 ? rows_before : std::min(options_.limit, rows_before);
  const int64_t results = tile.ResultCount(options_.limit) - before;
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, part.turns.Next());
  // Lives until the stream has finished, whatever fails.
  struct Made {
    OperatorReport report;
    std::vector<Bits> bits;
  };
  const auto made = std::make_shared<Made>();
  part.turns.WhenDone([this, &part, made, at = range.result, before, results] {
    if (part.algorithm == SortAlgorithm::kAuto) part.algorithm = made->report.sort_algorithm;
    const absl::MutexLock lock(&bits_mutex_);
    for (const Bits& bits : made->bits) AppendBits(bits.to, at, bits.h_bits, before, results);
  });
  CORANK_ASSIGN_OR_RETURN(const std::vector<const void*> rows, SortTile(*stream, tile, &made->report));
  for (size_t i = 0; i < places.size() && results > 0; ++i) {
    const PendingResult& result = whole_->results()[i];
    const auto* const d_rows = static_cast<const char*>(rows[i]);
    if (!IsBits(result)) {
      const char* const d_from = d_rows + before * result.element_bytes;
      CORANK_RETURN_IF_ERROR(Return(*stream, result, places[i], d_from, range.result, results));
      continue;
    }
    const int64_t bytes = ValidityBytes(before + results);
    CORANK_ASSIGN_OR_RETURN(void* const h_bits, stream->AllocateHost(bytes));
    CORANK_RETURN_IF_ERROR(stream->CopyToHost(h_bits, d_rows, bytes));
    made->bits.push_back({reinterpret_cast<uint8_t*>(places[i].host), static_cast<const uint8_t*>(h_bits)});
  }
  return absl::OkStatus();
}

absl::Status ShardedSegments::ReturnBits(const std::vector<Place>& places, std::deque<Part>& parts) const {
  for (size_t i = 0; i < places.size(); ++i) {
    const PendingResult& result = whole_->results()[i];
    if (!IsBits(result) || places[i].shards.empty()) continue;
    const auto copy = [&](size_t shard, int64_t, int64_t bytes, int64_t before) -> absl::Status {
      CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, parts[shard].BitsStream());
      return stream->CopyToDevice(places[i].shards[shard], places[i].host + before, bytes);
    };
    CORANK_RETURN_IF_ERROR(ForEachPart(result.count, devices(), 0, result.count, copy));
  }
  for (Part& part : parts) CORANK_RETURN_IF_ERROR(part.bits.FinishAll());
  return absl::OkStatus();
}

absl::Status ShardedSegments::Execute(Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole_->results()));
  std::deque<Part> parts;
  for (const int device : devices_) {
    CORANK_RETURN_IF_ERROR(parts.emplace_back(lane, device).turns.Make(kStreams));
  }
  CORANK_ASSIGN_OR_RETURN(const std::vector<Place> places, PlacesOf(results, parts));
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(
      RetryForThreads(OnEachShard(parts.size(), [&](size_t i, const std::atomic<bool>& has_failed) -> absl::Status {
        for (int64_t turn = 0; turn < kRangesOfDevice && !has_failed; ++turn) {
          CORANK_RETURN_IF_ERROR(lane.CheckWanted());
          CORANK_RETURN_IF_ERROR(SortRange(parts[i], RangeOf(static_cast<int64_t>(i), turn), places));
        }
        return parts[i].turns.FinishAll();
      })));
  CORANK_RETURN_IF_ERROR(ReturnBits(places, parts));
  std::vector<const v1::RequestStats*> stats;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  for (Part& part : parts) {
    stats.push_back(&part.stats);
    if (algorithm == SortAlgorithm::kAuto) algorithm = part.algorithm;
  }
  AddLongest(stats, &outcome.stats);
  outcome.SetDevices(op(), static_cast<int>(devices()));
  outcome.sort_algorithm = ToWire(algorithm == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : algorithm);
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

}  // namespace corank
