#include "server/run/device_ops/sharded_segment_sort.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>

#include "kernels/engine/alignment.h"
#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/model/offsets.h"
#include "server/model/parts.h"
#include "server/run/run_sort.h"
#include "server/run/segment_sort.h"
#include "server/run/sharded_operation.h"

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

}  // namespace

// A device's ranges. Streams wait for each other only in turn.
class ShardedSegmentSort::Part {
 public:
  Part(Lane& lane, int device) : turns(lane, device, /*first=*/0, kStreams, &stats) {}

  v1::RequestStats stats;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // of the first range that has rows
  EngineStreamRing turns;
};

bool ShardedSegmentSort::Takes(const SortOperation& whole) {
  const SortOperation::Spec& sort = whole.spec();
  if (!sort.segment_offsets || sort.segment_offsets->is_pending || whole.OverwritesInputs()) return false;
  if (!CanShare(whole)) return false;
  if (AnySharded(whole)) return true;
  const int64_t rows = sort.keys.count;
  const Int64View offsets(*sort.segment_offsets);
  const int64_t middle = offsets[FirstFrom(offsets, rows / 2)];
  return whole.results().front().count > 0 && middle <= rows - rows / 4;
}

ShardedSegmentSort::ShardedSegmentSort(SortOperation::Spec sort, uint64_t devices)
    : spec_(std::move(sort)), whole_(spec_), shape_(RunSorter::ShapeOf(spec_)), devices_(SharingDevices(devices)) {
  const Int64View offsets(*spec_.segment_offsets);
  const int64_t ranges = this->devices() * kRangesOfDevice;
  Range range;
  for (int64_t i = 1; i <= ranges; ++i) {
    range.end = i == ranges ? offsets.size() - 1 : FirstFrom(offsets, PartBegin(spec_.keys.count, ranges, i));
    ranges_.push_back(range);
    for (int64_t segment = range.first; spec_.limit >= 0 && segment < range.end; ++segment) {
      range.result += std::min(spec_.limit, offsets[segment + 1] - offsets[segment]);
    }
    if (spec_.limit < 0) range.result = offsets[range.end];
    range.first = range.end;
  }
}

int64_t ShardedSegmentSort::RowsOf(const Range& range) const {
  const Int64View offsets(*spec_.segment_offsets);
  return offsets[range.end] - offsets[range.first];
}

int64_t ShardedSegmentSort::RangeBytes(const Range& range, const Engine& engine) const {
  const int64_t rows = RowsOf(range);
  const int64_t any_offset = 0;
  SortArgs args = RunSorter::ArgsOf(spec_, rows);
  args.segment_offsets = &any_offset;
  // Engines sort one segment as an array without segments, which may take more than many short ones.
  int64_t workspace = 0;
  for (const int64_t segments : {int64_t{1}, range.end - range.first}) {
    args.segment_count = segments;
    workspace = std::max(workspace, RunSorter::WorkspaceBytes(args, engine));
  }
  return SegmentTile::DeviceBytes(shape_, rows, range.end - range.first) + workspace;
}

template <typename BytesOf>
int64_t ShardedSegmentSort::SumOfStreams(int64_t device, const BytesOf& bytes_of) const {
  std::array<int64_t, kStreams> most{};
  size_t sorted = 0;
  for (int64_t turn = 0; turn < kRangesOfDevice; ++turn) {
    const Range& range = RangeOf(device, turn);
    if (RowsOf(range) == 0) continue;
    int64_t& of_stream = most[sorted++ % most.size()];
    of_stream = std::max(of_stream, bytes_of(range));
  }
  int64_t sum = 0;
  for (const int64_t bytes : most) sum += bytes;
  return sum;
}

int64_t ShardedSegmentSort::device_bytes(const Engine& engine) const {
  int64_t most = 0;
  for (int64_t i = 0; i < devices(); ++i) {
    most = std::max(most, SumOfStreams(i, [&](const Range& range) { return RangeBytes(range, engine); }));
  }
  return most;
}

int64_t ShardedSegmentSort::host_bytes() const {
  int64_t bytes = 0;
  for (int64_t i = 0; i < devices(); ++i) {
    bytes +=
        SumOfStreams(i, [](const Range& range) { return AlignUp(SegmentTile::OffsetBytes(range.end - range.first)); });
  }
  return bytes;
}

absl::Status ShardedSegmentSort::Return(EngineStream& stream, const PendingResult& result, const Place& place,
                                        const void* d_from, int64_t first, int64_t count) const {
  const int64_t element_bytes = result.element_bytes;
  if (place.host != nullptr)
    return stream.CopyToHost(place.host + first * element_bytes, d_from, count * element_bytes);
  const auto copy = [&](size_t part, int64_t at, int64_t elements, int64_t before) {
    return stream.Copy(static_cast<char*>(place.shards[part]) + at * element_bytes,
                       static_cast<const char*>(d_from) + before * element_bytes, elements * element_bytes);
  };
  return ForEachPart(result.count, devices(), first, count, copy);
}

absl::Status ShardedSegmentSort::SortRange(Part& part, const Range& range, const std::vector<Place>& places) const {
  if (RowsOf(range) == 0) return absl::OkStatus();
  const Int64View offsets(*spec_.segment_offsets);
  SegmentTile tile(offsets[range.first]);
  for (int64_t segment = range.first; segment < range.end; ++segment) tile.Add(offsets[segment + 1]);
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, part.turns.Next());
  const auto report = std::make_shared<OperatorReport>();
  part.turns.WhenDone([&part, report] {
    if (part.algorithm == SortAlgorithm::kAuto) part.algorithm = report->sort_algorithm;
  });
  const auto take = [&](int column, void* d_to) {
    return CopyElements(*stream, column == 0 ? spec_.keys : *spec_.values, tile.first(), tile.rows(), d_to);
  };
  CORANK_ASSIGN_OR_RETURN(const SortArgs args, tile.Sort(*stream, spec_, take, report.get()));
  const int64_t results = tile.ResultCount(spec_.limit);
  for (size_t i = 0; i < places.size() && results > 0; ++i) {
    const PendingResult& result = whole_.results()[i];
    const void* const d_from = result.role == ResultRole::kKeys ? args.keys_out : args.values_out;
    CORANK_RETURN_IF_ERROR(Return(*stream, result, places[i], d_from, range.result, results));
  }
  return absl::OkStatus();
}

absl::Status ShardedSegmentSort::Execute(Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole_.results()));
  std::vector<Place> places(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::shared_ptr<ResultTarget>& target = whole_.results()[i].target;
    places[i].host = results[i].column().place;
    for (size_t shard = 0; IsSharded(target) && shard < devices_.size(); ++shard) {
      CORANK_ASSIGN_OR_RETURN(places[i].shards.emplace_back(), target->AllocateShard(shard));
    }
  }
  lane.set_next_stage(Stage::kCopyOut);
  std::deque<Part> parts;
  for (const int device : devices_) parts.emplace_back(lane, device);
  for (int64_t turn = 0; turn < kRangesOfDevice; ++turn) {
    for (int64_t i = 0; i < devices(); ++i) {
      CORANK_RETURN_IF_ERROR(lane.CheckWanted());
      CORANK_RETURN_IF_ERROR(SortRange(parts[static_cast<size_t>(i)], RangeOf(i, turn), places));
    }
  }
  std::vector<const v1::RequestStats*> stats;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  for (Part& part : parts) {
    CORANK_RETURN_IF_ERROR(part.turns.FinishAll());
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
