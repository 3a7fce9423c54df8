#include "server/run/external_sort.h"

#include <algorithm>
#include <vector>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/overlap.h"
#include "server/run/row_source.h"
#include "server/run/run_merge.h"
#include "server/run/run_sort.h"
#include "server/run/segment_sort.h"

namespace corank {
namespace {

// Copies of this size reach the full speed of the bus. The first copy out waits for at most this much of the merge.
constexpr int64_t kSortTileBytes = int64_t{32} << 20;

// Whether the array comes, or has come and was collected, as a stream.
bool CameInStream(const Operand& array) { return array.is_streamed() || array.is_spilled; }

bool TakesStreams(const SortOperation::Spec& sort) {
  if (sort.values && !CameInStream(*sort.values)) return false;
  const int32_t value_bytes = RunSorter::ShapeOf(sort).value_bytes;
  const int64_t most = sort.limit >= 0 && sort.segment_offsets ? sort.result_count() : sort.limit;
  return (!sort.want_keys || TakesStreamedRows(sort.keys_target, sort.keys.element_bytes, most)) &&
         (value_bytes == 0 ||
          TakesStreamedRows(sort.values ? sort.values_target : sort.indices_target, value_bytes, most));
}

// Tiles of segments leave before later ones are read. So a result may lie exactly where its own input is, or apart from
// all inputs.
bool SparesInputs(const SortOperation::Spec& sort) {
  const auto spares = [&sort](const std::shared_ptr<ResultTarget>& target, int64_t bytes, const Operand* own) {
    const auto is_spared = [&](const Operand& input) {
      return !Overlaps(input, target, bytes) || (&input == own && BeginsWith(input, target));
    };
    return is_spared(sort.keys) && (!sort.values || is_spared(*sort.values));
  };
  return (!sort.want_keys || spares(sort.keys_target, sort.keys.size_bytes(), &sort.keys)) &&
         (!sort.values || spares(sort.values_target, sort.values->size_bytes(), &*sort.values)) &&
         (!sort.want_indices ||
          spares(sort.indices_target, sort.keys.count * RunSorter::ShapeOf(sort).value_bytes, nullptr));
}

bool Takes(const SortOperation::Spec& sort) {
  if (sort.limit == 0) return false;
  if (CameInStream(sort.keys)) return TakesStreams(sort);
  return sort.result_count() > 0 && RowSource::CanRead(sort.keys) &&
         (sort.keys.is_shared || (sort.values && sort.values->is_shared)) &&
         (!sort.want_keys || RowResult::CanHold(sort.keys_target)) &&
         (!sort.want_indices || RowResult::CanHold(sort.indices_target)) &&
         (!sort.values || (RowSource::CanRead(*sort.values) && RowResult::CanHold(sort.values_target))) &&
         (!sort.segment_offsets || SparesInputs(sort));
}

}  // namespace

std::unique_ptr<const ExternalWork> ExternalSort::For(const SortOperation::Spec& sort) {
  if (!Takes(sort)) return nullptr;
  auto work = std::make_unique<ExternalWork>();
  work->is_streamed = sort.keys.is_streamed();
  // Only the offsets tell where segments end, and they may be the last array to arrive.
  work->needs_whole_arrays = sort.segment_offsets.has_value();
  work->keeps_first_rows = sort.limit >= 0 && !sort.segment_offsets;
  work->prefers_whole = sort.segment_offsets.has_value();  // one launch sorts all segments
  // A plain sort of all rows needs no less memory as a whole.
  work->may_fit_whole = sort.limit >= 0 || sort.want_indices || work->prefers_whole;
  work->host_bytes = [sort](int64_t parts, int64_t piece_bytes, const JobMemory& memory) {
    return HostBytes(sort, parts, piece_bytes, memory);
  };
  work->make = [sort](ExternalMeans means) { return std::make_unique<ExternalSort>(sort, std::move(means)); };
  return work;
}

int64_t ExternalSort::HostBytes(const SortOperation::Spec& sort, int64_t parts, int64_t piece_bytes,
                                const JobMemory& memory) {
  int64_t arrays = 0;
  for (const Operand* const array : {&sort.keys, sort.values ? &*sort.values : nullptr}) {
    if (array == nullptr) continue;
    if (parts == 0) arrays += RowSource::CopyBytes(*array);
    if (parts > 0 && sort.segment_offsets) arrays += array->size_bytes();
  }
  if (!sort.segment_offsets) return arrays + RunSorter::HostBytes(sort, parts, piece_bytes, memory);
  if (RunSorter::Count(sort) < 0) return memory.max_host_bytes();
  const int64_t bytes = arrays + SegmentSorter::HostBytes(sort, piece_bytes, memory);
  if (!sort.segment_offsets->is_pending) return bytes;
  arrays += sort.segment_offsets->size_bytes();
  // Nobody knows yet how long the longest segment is. One that is too long is refused when it has come.
  return std::max(arrays, std::min(bytes, memory.max_host_bytes()));
}

int64_t ExternalSort::device_bytes(const Engine& engine) const {
  const int64_t tile_bytes = means_.pipe == nullptr ? kSortTileBytes : means_.pipe->tile_bytes();
  return (spec_.segment_offsets ? SegmentSorter::DeviceBytes : RunSorter::DeviceBytes)(
      spec_, means_.piece_bytes, tile_bytes, *means_.memory, engine);
}

int64_t ExternalSort::host_bytes() const {
  return HostBytes(spec_, means_.parts(), means_.piece_bytes, *means_.memory);
}

absl::Status ExternalSort::Work(Lane& lane, Outcome& outcome) {
  JobMemory& memory = *means_.memory;
  std::vector<std::pair<absl::string_view, const Operand*>> arrays = {{"keys", &spec_.keys}};
  if (spec_.values) arrays.emplace_back("values", &*spec_.values);
  CORANK_ASSIGN_OR_RETURN(RowSource source, RowSource::Open(arrays, means_.source(), memory));
  if (spec_.segment_offsets) {
    SegmentSorter sorter(spec_, source.arrays(), means_.piece_bytes, &memory, &lane, &outcome.stats);
    CORANK_RETURN_IF_ERROR(WriteResults(spec_.keys.count, lane, outcome,
                                        [&sorter](int64_t, RowSink& sink) { return sorter.SortInto(sink); }));
    outcome.stats.set_runs(static_cast<int32_t>(sorter.runs()));
    outcome.stats.set_out_of_core(true);
    outcome.sort_algorithm = ToWire(sorter.algorithm());
    return absl::OkStatus();
  }
  RunSorter sorter(spec_, source.arrays(), means_.piece_bytes, &memory, &lane, &outcome.stats);
  CORANK_RETURN_IF_ERROR(sorter.AddAll(source));
  CORANK_ASSIGN_OR_RETURN(std::vector<SortedRun> runs, sorter.Finish());
  outcome.stats.set_runs(runs.size() > 1 ? static_cast<int32_t>(runs.size()) : 0);
  outcome.stats.set_out_of_core(sorter.out_of_core());
  // Without keys nothing was sorted; the answer is that of Sort for an empty array.
  const SortAlgorithm taken = sorter.algorithm() == SortAlgorithm::kAuto ? spec_.algorithm : sorter.algorithm();
  outcome.sort_algorithm = ToWire(taken == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : taken);
  RunMerger merger(lane, RunSorter::ShapeOf(spec_), &outcome.stats);
  CORANK_RETURN_IF_ERROR(merger.Reduce(runs, memory, source.arrays().front().field));
  return WriteResults(sorter.row_count(), lane, outcome, [&](int64_t rows, RowSink& sink) {
    if (rows == 0) return absl::OkStatus();
    return merger.MergeRows(spec_.offset, spec_.offset + rows, runs, sink).status();
  });
}

absl::Status ExternalSort::WriteResults(int64_t count, Lane& lane, Outcome& outcome,
                                        absl::FunctionRef<absl::Status(int64_t rows, RowSink& sink)> write) const {
  lane.set_next_stage(Stage::kCopyOut);
  SortOperation::Spec sorted = spec_;
  sorted.keys.count = count;
  const SortOperation whole(std::move(sorted));
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole.results()));
  const RowShape shape = RunSorter::ShapeOf(spec_);
  RowSink sink(shape, spec_.want_keys ? results.front().column() : RowSink::Column(),
               shape.value_bytes > 0 ? results.back().column() : RowSink::Column(), means_.pipe.get(), &lane,
               std::min(kSortTileBytes, TileShare(*means_.memory)));
  if (spec_.want_indices) sink.NarrowValues(whole.results().back().element_bytes);
  CORANK_RETURN_IF_ERROR(write(whole.results().front().count, sink));
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

}  // namespace corank
