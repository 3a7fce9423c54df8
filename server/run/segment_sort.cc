#include "server/run/segment_sort.h"

#include <algorithm>
#include <memory>

#include "server/base/status_macros.h"
#include "server/model/offsets.h"
#include "server/run/rows_in_turn.h"
#include "server/run/run_merge.h"
#include "server/run/run_sort.h"

namespace corank {
namespace {

// One stream uploads a tile, one sorts and one downloads.
constexpr int kSegmentStreams = 3;
// A tile's share of a job's device memory: before and after the sort, with its offsets and the workspace, on each
// stream.
constexpr int64_t kTileShare = 16;
constexpr auto kOffsetBytes = static_cast<int64_t>(sizeof(int64_t));

// The most that a tile holds. Its offsets take no more memory than its rows. Empty segments have none.
struct TileLimits {
  int64_t rows, segments;
};

TileLimits LimitsOf(const RowShape& shape, int64_t tile_bytes, const JobMemory& memory) {
  const int64_t bytes = std::min(tile_bytes, memory.max_device_bytes() / kTileShare);
  return {std::max<int64_t>(1, bytes / shape.row_bytes()), std::max<int64_t>(1, bytes / kOffsetBytes)};
}

// The sort of a part of the array without segments. Indices still count from the start of the whole array.
SortOperation::Spec PartOf(const SortOperation::Spec& sort, int64_t first, int64_t count) {
  SortOperation::Spec part = sort;
  part.keys = Slice(sort.keys, first, count);
  if (sort.values) part.values = Slice(*sort.values, first, count);
  part.segment_offsets.reset();
  part.first_index = first;
  part.index_bytes = RunSorter::ShapeOf(sort).value_bytes;
  return part;
}

// An array of the longest segment alone; of all keys, while the offsets are pending.
SortOperation::Spec Longest(const SortOperation::Spec& sort) {
  const Int64View offsets(*sort.segment_offsets);
  int64_t longest = sort.segment_offsets->is_pending ? sort.keys.count : 0;
  for (int64_t i = 1; i < offsets.size(); ++i) longest = std::max(longest, offsets[i] - offsets[i - 1]);
  return PartOf(sort, 0, longest);
}

}  // namespace

SegmentSorter::SegmentSorter(const SortOperation::Spec& sort, const std::vector<RowSource::Array>& arrays,
                             int64_t piece_bytes, JobMemory* memory, Lane* lane, v1::RequestStats* stats)
    : sort_(sort),
      arrays_(arrays),
      shape_(RunSorter::ShapeOf(sort)),
      piece_bytes_(piece_bytes),
      memory_(memory),
      lane_(lane),
      stats_(stats) {}

int64_t SegmentSorter::DeviceBytes(const SortOperation::Spec& sort, int64_t piece_bytes, int64_t tile_bytes,
                                   const JobMemory& memory, const Engine& engine) {
  const RowShape shape = RunSorter::ShapeOf(sort);
  TileLimits most = LimitsOf(shape, tile_bytes, memory);
  most.rows = std::min(most.rows, sort.keys.count);
  const int64_t any_offset = 0;
  SortArgs args = RunSorter::ArgsOf(sort, most.rows);
  args.segment_offsets = &any_offset;
  // Engines sort a tile of one segment as an array without segments, which may take more than many short ones.
  int64_t workspace = 0;
  for (const int64_t segments : {int64_t{1}, most.segments}) {
    args.segment_count = segments;
    workspace = std::max(workspace, RunSorter::WorkspaceBytes(args, engine));
  }
  const int64_t tiles = kSegmentStreams * (SegmentTile::DeviceBytes(shape, most.rows, most.segments) + workspace);
  const SortOperation::Spec longest = Longest(sort);
  // The streams of the tiles also sort long segments, and keep their memory meanwhile.
  const int64_t of_segment =
      longest.keys.count <= most.rows ? 0 : RunSorter::DeviceBytes(longest, piece_bytes, tile_bytes, memory, engine);
  return std::min(memory.max_device_bytes(), tiles + of_segment);
}

int64_t SegmentSorter::HostBytes(const SortOperation::Spec& sort, int64_t piece_bytes, const JobMemory& memory) {
  const int64_t offsets = memory.max_device_bytes() / kTileShare + kOffsetBytes;  // of a tile, on their way
  return kSegmentStreams * offsets + RunSorter::HostBytes(Longest(sort), /*parts=*/0, piece_bytes, memory);
}

absl::Status SegmentSorter::SortInto(RowSink& sink) {
  const TileLimits most = LimitsOf(shape_, sink.tile_rows() * shape_.row_bytes(), *memory_);
  const Int64View offsets(*sort_.segment_offsets);
  const int64_t segments = offsets.size() - 1;
  EngineStreamRing turns(*lane_, kSegmentStreams, stats_);
  for (int64_t segment = 0; segment < segments;) {
    const int64_t first = offsets[segment];
    SegmentTile tile(first);
    for (; segment < segments && tile.segments() < most.segments; ++segment) {
      if (offsets[segment + 1] - first > most.rows) break;
      tile.Add(offsets[segment + 1]);
    }
    if (tile.rows() > 0) {
      CORANK_RETURN_IF_ERROR(SortTile(tile, turns, sink));
    } else if (segment < segments) {
      CORANK_RETURN_IF_ERROR(turns.FinishAll());  // the sorter of the segment uses the same streams
      CORANK_RETURN_IF_ERROR(SortSegment(first, offsets[segment + 1], sink));
      ++segment;
    }
  }
  return turns.FinishAll();
}

int64_t SegmentTile::ResultCount(int64_t limit) const {
  if (limit < 0) return rows();
  int64_t results = 0;
  for (size_t i = 1; i < offsets_.size(); ++i) results += std::min(limit, offsets_[i] - offsets_[i - 1]);
  return results;
}

absl::StatusOr<const int64_t*> SegmentTile::UploadOffsets(EngineStream& stream) const {
  const int64_t bytes = OffsetBytes(segments());
  CORANK_ASSIGN_OR_RETURN(void* const h_offsets, stream.AllocateHost(bytes));
  CORANK_ASSIGN_OR_RETURN(void* const d_offsets, stream.AllocateDevice(bytes));
  std::copy(offsets_.begin(), offsets_.end(), static_cast<int64_t*>(h_offsets));
  CORANK_RETURN_IF_ERROR(stream.CopyToDevice(d_offsets, h_offsets, bytes));
  return static_cast<const int64_t*>(d_offsets);
}

absl::StatusOr<SortArgs> SegmentTile::Sort(EngineStream& stream, const SortOperation::Spec& sort, Take take,
                                           OperatorReport* report) const {
  const RowShape shape = RunSorter::ShapeOf(sort);
  SortArgs args = RunSorter::ArgsOf(sort, rows());
  args.segment_count = segments();
  CORANK_ASSIGN_OR_RETURN(args.segment_offsets, UploadOffsets(stream));
  CORANK_ASSIGN_OR_RETURN(void* const keys, stream.AllocateDevice(rows() * shape.key_bytes));
  CORANK_ASSIGN_OR_RETURN(args.keys_out, stream.AllocateDevice(rows() * shape.key_bytes));
  CORANK_RETURN_IF_ERROR(take(0, keys));
  args.keys_in = keys;
  void* values = nullptr;
  if (shape.value_bytes > 0) {
    CORANK_ASSIGN_OR_RETURN(values, stream.AllocateDevice(rows() * shape.value_bytes));
    CORANK_ASSIGN_OR_RETURN(args.values_out, stream.AllocateDevice(rows() * shape.value_bytes));
    args.values_in = values;
  }
  if (sort.values) CORANK_RETURN_IF_ERROR(take(1, values));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  if (sort.want_indices) CORANK_RETURN_IF_ERROR(stream.Iota(values, shape.value_bytes, first_, rows()));
  CORANK_RETURN_IF_ERROR(stream.Sort(args, report));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  return args;
}

absl::Status SegmentSorter::SortTile(const SegmentTile& segments, EngineStreamRing& turns, RowSink& sink) {
  CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
  const int64_t results = segments.ResultCount(sort_.limit);
  CORANK_ASSIGN_OR_RETURN(const RowSink::Tile tile, sink.Take(results, &turns));
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns.Next());
  const auto report = std::make_shared<OperatorReport>();
  turns.WhenDone([this, &sink, tile, report] {
    Note(report->sort_algorithm);
    sink.Done(tile);
  });
  const auto take = [&](int column, void* d_to) {
    const RowSource::Array& array = arrays_[static_cast<size_t>(column)];
    return stream->CopyToDevice(d_to, array.rows + segments.first() * array.element_bytes,
                                segments.rows() * array.element_bytes);
  };
  CORANK_ASSIGN_OR_RETURN(const SortArgs args, segments.Sort(*stream, sort_, take, report.get()));
  if (tile.keys != nullptr) {
    CORANK_RETURN_IF_ERROR(stream->CopyToHost(tile.keys, args.keys_out, results * shape_.key_bytes));
  }
  if (tile.values != nullptr) {
    CORANK_RETURN_IF_ERROR(stream->CopyToHost(tile.values, args.values_out, results * shape_.value_bytes));
  }
  return absl::OkStatus();
}

absl::Status SegmentSorter::SortSegment(int64_t begin, int64_t end, RowSink& sink) {
  const SortOperation::Spec part = PartOf(sort_, begin, end - begin);
  std::vector<RowSource::Array> arrays = arrays_;
  for (RowSource::Array& array : arrays) {
    array.rows += begin * array.element_bytes;
    array.count = end - begin;
  }
  RunSorter sorter(part, arrays, piece_bytes_, memory_, lane_, stats_);
  CORANK_RETURN_IF_ERROR(sorter.AddAll({arrays[0].rows, part.values ? arrays[1].rows : nullptr}));
  CORANK_ASSIGN_OR_RETURN(std::vector<SortedRun> runs, sorter.Finish());
  Note(sorter.algorithm());
  if (runs.size() > 1) runs_ += static_cast<int64_t>(runs.size());
  RunMerger merger(*lane_, shape_, stats_);
  CORANK_RETURN_IF_ERROR(merger.Reduce(runs, *memory_, arrays[0].field));
  return merger.MergeRows(0, part.result_count(), runs, sink).status();
}

}  // namespace corank
