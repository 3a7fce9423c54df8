#include "server/run/external_sort.h"

#include <algorithm>
#include <vector>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/row_sink.h"
#include "server/run/row_source.h"
#include "server/run/run_merge.h"
#include "server/run/run_sort.h"

namespace corank {
namespace {

// Copies of this size reach the full speed of the bus. The first copy out waits for at most this much of the merge.
constexpr int64_t kSortTileBytes = int64_t{32} << 20;

bool TakesStreams(const SortOperation::Spec& sort) {
  // The number of keys determines the width of indices.
  if (sort.want_indices && !sort.keys.has_count) return false;
  if (sort.values && sort.values->stream_input < 0) return false;
  const int32_t value_bytes = RunSorter::ShapeOf(sort).value_bytes;
  return (!sort.want_keys || TakesStreamedRows(sort.keys_target, sort.keys.element_bytes, sort.limit)) &&
         (value_bytes == 0 ||
          TakesStreamedRows(sort.values ? sort.values_target : sort.indices_target, value_bytes, sort.limit));
}

bool Takes(const SortOperation::Spec& sort) {
  if (sort.segment_offsets || sort.limit == 0) return false;
  if (sort.keys.stream_input >= 0) return TakesStreams(sort);
  return sort.keys.count > 0 && RowSource::IsOnHost(sort.keys) &&
         (sort.keys.is_shared || (sort.values && sort.values->is_shared)) &&
         (!sort.want_keys || RowResult::CanHold(sort.keys_target)) &&
         (!sort.want_indices || RowResult::CanHold(sort.indices_target)) &&
         (!sort.values || (RowSource::IsOnHost(*sort.values) && RowResult::CanHold(sort.values_target)));
}

class SortWork final : public ExternalWork {
 public:
  explicit SortWork(SortOperation::Spec sort) : sort_(std::move(sort)) {}

  Strategy strategy() const override { return Strategy::kExternalSort; }
  bool is_streamed() const override { return sort_.keys.stream_input >= 0; }
  bool keeps_first_rows() const override { return sort_.limit >= 0; }
  // A plain sort of all rows needs no less memory as a whole.
  bool may_fit_whole() const override { return sort_.limit >= 0 || sort_.want_indices; }
  int64_t HostBytes(int64_t parts, int64_t piece_bytes, const JobMemory& memory) const override {
    return ExternalSort::HostBytes(sort_, parts, piece_bytes, memory);
  }
  std::unique_ptr<Operation> Make(ExternalMeans means) const override {
    return std::make_unique<ExternalSort>(sort_, std::move(means));
  }

 private:
  const SortOperation::Spec sort_;
};

}  // namespace

std::unique_ptr<const ExternalWork> ExternalSort::For(const SortOperation::Spec& sort) {
  return Takes(sort) ? std::make_unique<SortWork>(sort) : nullptr;
}

int64_t ExternalSort::HostBytes(const SortOperation::Spec& sort, int64_t parts, int64_t piece_bytes,
                                const JobMemory& memory) {
  const int64_t copies =
      parts > 0 ? 0 : RowSource::CopyBytes(sort.keys) + (sort.values ? RowSource::CopyBytes(*sort.values) : 0);
  return copies + RunSorter::HostBytes(sort, parts, piece_bytes, memory);
}

int64_t ExternalSort::device_bytes(const Engine& engine) const {
  const int64_t tile_bytes = means_.pipe == nullptr ? kSortTileBytes : means_.pipe->tile_bytes();
  return RunSorter::DeviceBytes(spec_, means_.piece_bytes, tile_bytes, *means_.memory, engine);
}

int64_t ExternalSort::host_bytes() const {
  return HostBytes(spec_, means_.parts(), means_.piece_bytes, *means_.memory);
}

absl::Status ExternalSort::Work(Lane& lane, Outcome& outcome) {
  JobMemory& memory = *means_.memory;
  std::vector<std::pair<absl::string_view, const Operand*>> arrays = {{"keys", &spec_.keys}};
  if (spec_.values) arrays.emplace_back("values", &*spec_.values);
  CORANK_ASSIGN_OR_RETURN(RowSource source, RowSource::Open(arrays, means_.pipe.get(), memory));
  RunSorter sorter(spec_, source.arrays(), means_.piece_bytes, &memory, &lane, &outcome.stats);
  CORANK_RETURN_IF_ERROR(sorter.AddAll(source));
  CORANK_ASSIGN_OR_RETURN(std::vector<SortedRun> runs, sorter.Finish());
  lane.set_next_stage(Stage::kCopyOut);
  outcome.stats.set_runs(runs.size() > 1 ? static_cast<int32_t>(runs.size()) : 0);
  outcome.stats.set_out_of_core(sorter.out_of_core());
  // Without keys nothing was sorted; the answer is that of Sort for an empty array.
  const SortAlgorithm taken = sorter.algorithm() == SortAlgorithm::kAuto ? spec_.algorithm : sorter.algorithm();
  outcome.sort_algorithm = ToWire(taken == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : taken);
  const RowShape shape = RunSorter::ShapeOf(spec_);
  CORANK_RETURN_IF_ERROR(ReduceRuns(lane, shape, memory, source.arrays().front().field, runs, &outcome.stats));
  SortOperation::Spec whole = spec_;
  whole.keys.count = sorter.row_count();
  const SortOperation results_of(std::move(whole));
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(results_of.results()));
  const int64_t count = results_of.results().front().count;
  if (count > 0) {
    RowSink sink(shape, spec_.want_keys ? results.front().column() : RowSink::Column(),
                 shape.value_bytes > 0 ? results.back().column() : RowSink::Column(), means_.pipe.get(), &lane,
                 std::min(kSortTileBytes, TileShare(memory)));
    CORANK_RETURN_IF_ERROR(MergeFirstRows(lane, shape, runs, count, sink, &outcome.stats).status());
  }
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

}  // namespace corank
