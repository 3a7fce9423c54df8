#include "server/run/device_ops/sharded_segment_sort.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "server/base/status_macros.h"
#include "server/run/run_sort.h"

namespace corank {
namespace {

ColumnSortOperation::Spec WithoutSegments(ColumnSortOperation::Spec sort) {
  sort.segment_offsets.reset();
  return sort;
}

}  // namespace

bool ShardedSegmentSort::Takes(const SortOperation& whole) {
  return ShardedSegments::Takes(whole, whole.spec().segment_offsets, whole.spec().keys.count);
}

ShardedSegmentSort::ShardedSegmentSort(SortOperation::Spec sort, uint64_t devices)
    : ShardedSegments(std::make_unique<SortOperation>(sort), {*sort.segment_offsets, sort.keys.count, sort.limit},
                      devices),
      spec_(std::move(sort)),
      shape_(RunSorter::ShapeOf(spec_)) {}

int64_t ShardedSegmentSort::TileBytes(int64_t rows, int64_t segments, const Engine& engine) const {
  const int64_t any_offset = 0;
  SortArgs args = RunSorter::ArgsOf(spec_, rows);
  args.segment_offsets = &any_offset;
  // Engines sort one segment as an array without segments, which may take more than many short ones.
  int64_t workspace = 0;
  for (const int64_t count : {int64_t{1}, segments}) {
    args.segment_count = count;
    workspace = std::max(workspace, RunSorter::WorkspaceBytes(args, engine));
  }
  return SegmentTile::DeviceBytes(shape_, rows, segments) + workspace;
}

absl::StatusOr<std::vector<const void*>> ShardedSegmentSort::SortTile(EngineStream& stream, const SegmentTile& tile,
                                                                      OperatorReport* report) const {
  const auto take = [&](int column, void* d_to) {
    return CopyElements(stream, column == 0 ? spec_.keys : *spec_.values, tile.first(), tile.rows(), d_to);
  };
  CORANK_ASSIGN_OR_RETURN(const SortArgs args, tile.Sort(stream, spec_, take, report));
  std::vector<const void*> rows;
  for (const PendingResult& result : whole().results()) {
    rows.push_back(result.role == ResultRole::kKeys ? args.keys_out : args.values_out);
  }
  return rows;
}

bool ShardedSegmentColumnSort::Takes(const ColumnSortOperation& whole) {
  const ColumnSortOperation::Spec& sort = whole.spec();
  const auto is_string = [](const ColumnSortOperation::Column& column) { return column.offsets.has_value(); };
  return std::none_of(sort.columns.begin(), sort.columns.end(), is_string) &&
         ShardedSegments::Takes(whole, sort.segment_offsets, sort.rows());
}

ShardedSegmentColumnSort::ShardedSegmentColumnSort(ColumnSortOperation::Spec sort, uint64_t devices)
    : ShardedSegments(std::make_unique<ColumnSortOperation>(sort),
                      {*sort.segment_offsets, sort.rows(), sort.limit, TableShape(WithoutSegments(sort)).WholeRows(1)},
                      devices),
      spec_(WithoutSegments(std::move(sort))),
      shape_(spec_) {}

int64_t ShardedSegmentColumnSort::TileBytes(int64_t rows, int64_t segments, const Engine& engine) const {
  return SegmentTile::OffsetBytes(segments) + shape_.SegmentSortBytes(engine, {rows}, spec_.limit, segments);
}

absl::StatusOr<std::vector<const void*>> ShardedSegmentColumnSort::SortTile(EngineStream& stream,
                                                                            const SegmentTile& tile,
                                                                            OperatorReport* report) const {
  const TableSize size{tile.rows()}, before{tile.first()};
  CORANK_ASSIGN_OR_RETURN(const int64_t* const d_offsets, tile.UploadOffsets(stream));
  CORANK_ASSIGN_OR_RETURN(void* const unsorted, stream.AllocateDevice(shape_.BlockBytes(size)));
  CORANK_ASSIGN_OR_RETURN(void* const sorted, stream.AllocateDevice(shape_.BlockBytes(size)));
  const std::vector<char*> from = shape_.Places(static_cast<char*>(unsorted), size);
  std::vector<char*> to = shape_.Places(static_cast<char*>(sorted), size);
  const std::vector<const Operand*> inputs = ColumnSortOperation::ArraysOf(spec_);
  for (size_t i = 0; i < shape_.inputs(); ++i) {
    const TableShape::Array& array = shape_.arrays()[i];
    CORANK_RETURN_IF_ERROR(CopyElements(stream, *inputs[i], array.Elements(before), array.Elements(size), from[i]));
  }
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  if (shape_.has_indices()) {
    const int32_t bytes = shape_.arrays().back().element_bytes;
    CORANK_RETURN_IF_ERROR(stream.Iota(from.back(), bytes, tile.first(), tile.rows()));
  }
  // Results have the order of the arrays; values or indices come last.
  const size_t unwanted = spec_.want_columns ? 0 : shape_.key_arrays();
  std::fill(to.begin(), to.begin() + static_cast<int64_t>(unwanted), nullptr);
  CORANK_RETURN_IF_ERROR(
      shape_.SortSegments(stream, from, to, size, {d_offsets, tile.segments(), spec_.limit}, report));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  return std::vector<const void*>(to.begin() + static_cast<int64_t>(unwanted), to.end());
}

}  // namespace corank
