#include "server/run/external_column_sort.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/run/row_sink.h"
#include "server/run/row_source.h"
#include "server/run/table_merge.h"
#include "server/run/table_sort.h"

namespace corank {
namespace {

using Spec = ColumnSortOperation::Spec;

// Copies of this size reach the full speed of the bus, and cutting runs on the host takes less time than the copies.
constexpr int64_t kTileBytes = int64_t{64} << 20;

using Inputs = std::vector<std::pair<std::string, const Operand*>>;

// The inputs with their fields, in the order of TableShape.
Inputs InputsOf(const Spec& sort) {
  Inputs inputs;
  for (size_t i = 0; i < sort.columns.size(); ++i) {
    const std::string path = absl::StrCat("key_columns[", i, "]");
    inputs.emplace_back(path + ".data", &sort.columns[i].data);
    if (sort.columns[i].offsets) inputs.emplace_back(path + ".offsets", &*sort.columns[i].offsets);
    if (sort.columns[i].validity) inputs.emplace_back(path + ".validity", &*sort.columns[i].validity);
  }
  if (sort.values) inputs.emplace_back("values", &*sort.values);
  return inputs;
}

// Whether nobody has announced how long some array is.
bool IsUnknown(const Spec& sort, const Inputs& inputs) {
  return (sort.segment_offsets && !sort.segment_offsets->has_count) ||
         std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return !input.second->has_count; });
}

// Where pieces begin is known only from the lengths of all arrays and the offsets of strings; where segments begin,
// from their offsets. Sorted runs are merged from where they are.
bool NeedsWhole(const Spec& sort, const Inputs& inputs) {
  return IsUnknown(sort, inputs) || sort.segment_offsets || !sort.run_offsets.empty() ||
         std::any_of(sort.columns.begin(), sort.columns.end(), [](const auto& column) { return column.offsets; }) ||
         !std::all_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.second->is_streamed(); });
}

bool Takes(const Spec& sort) {
  // The merge of its pieces does not see where segments end.
  if ((sort.segment_offsets && sort.limit >= 0) || sort.offset > 0) return false;
  if (sort.want_ranks || sort.limit == 0 || (sort.has_rows() && sort.rows() == 0)) return false;
  const Inputs inputs = InputsOf(sort);
  bool is_streamed = false, is_shared = false;
  for (const auto& [field, input] : inputs) {
    if (!input->is_streamed() && !RowSource::CanRead(*input)) return false;
    is_streamed |= input->is_streamed() || input->is_spilled;
    is_shared |= input->is_shared;
  }
  if (!is_streamed && !is_shared) return false;
  const bool needs_streams = IsUnknown(sort, inputs);  // of strings, because they may be long
  const ColumnSortOperation whole(sort);
  // Merged tiles leave before later ones are read.
  if (!is_streamed && !sort.run_offsets.empty() && whole.OverwritesInputs()) return false;
  return std::all_of(whole.results().begin(), whole.results().end(), [&](const PendingResult& result) {
    if (!is_streamed) return RowResult::CanHold(result.target);
    // A row of strings has many elements.
    const int64_t row_bytes = sort.limit > 0 ? result.size_bytes() / sort.limit : 0;
    const bool has_stream = result.target != nullptr && result.target->stream_id();
    return has_stream ||
           (!needs_streams &&
            TakesStreamedRows(result.target, std::max<int64_t>(result.element_bytes, row_bytes), sort.limit));
  });
}

}  // namespace

std::unique_ptr<const ExternalWork> ExternalColumnSort::For(const Spec& sort) {
  if (!Takes(sort)) return nullptr;
  const Inputs inputs = InputsOf(sort);
  auto work = std::make_unique<ExternalWork>();
  work->is_streamed =
      std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.second->is_streamed(); });
  work->needs_whole_arrays = NeedsWhole(sort, inputs);
  work->may_fit_whole = work->prefers_whole = true;
  work->host_bytes = [sort](int64_t parts, int64_t, const JobMemory& memory) { return HostBytes(sort, parts, memory); };
  work->make = [sort](ExternalMeans means) { return std::make_unique<ExternalColumnSort>(sort, std::move(means)); };
  return work;
}

int64_t ExternalColumnSort::HostBytes(const Spec& sort, int64_t parts, const JobMemory& memory) {
  const Inputs inputs = InputsOf(sort);
  if (IsUnknown(sort, inputs)) return memory.max_host_bytes();
  const TableShape shape(sort);
  const bool is_collected = parts > 0 && NeedsWhole(sort, inputs);
  int64_t arrays = 0;
  for (const auto& [field, input] : inputs) {
    if (parts == 0 || is_collected) arrays += input->is_streamed() ? input->size_bytes() : RowSource::CopyBytes(*input);
  }
  if (sort.segment_offsets) {
    arrays += sort.rows() * shape.arrays().front().element_bytes;
    if (sort.segment_offsets->is_streamed()) arrays += sort.segment_offsets->size_bytes();
  }
  if (!sort.run_offsets.empty()) {
    return arrays + TileHostBytes(shape, TableSorter::PieceSize(shape, sort.rows(), memory));
  }
  const int64_t sorting = TableSorter::HostBytes(shape, sort.rows(), sort.limit, parts > 0 && !is_collected, memory);
  return sorting > std::numeric_limits<int64_t>::max() - arrays ? sorting : arrays + sorting;
}

int64_t ExternalColumnSort::device_bytes(const Engine& engine) const {
  // Tiles of the result are no larger than pieces.
  const TableSize size = TableSorter::PieceSize(shape_, spec_.rows(), *means_.memory);
  const size_t runs = spec_.run_offsets.empty() ? 0 : spec_.run_offsets.size() - 1;
  return TableSorter::kStreams * shape_.SortBytes(engine, size, size.rows, runs);
}

int64_t ExternalColumnSort::host_bytes() const { return HostBytes(spec_, means_.parts(), *means_.memory); }

absl::Status ExternalColumnSort::Work(Lane& lane, Outcome& outcome) {
  JobMemory& memory = *means_.memory;
  Inputs inputs = InputsOf(spec_);
  Operand segments;
  if (spec_.segment_offsets) {
    const std::string table = inputs.front().first;  // of errors: it has too many rows
    CORANK_ASSIGN_OR_RETURN(segments, SegmentNumbers(table));
    inputs.emplace(inputs.begin(), table, &segments);
  }
  CORANK_ASSIGN_OR_RETURN(RowSource source, RowSource::Open({inputs.begin(), inputs.end()}, means_.source(), memory));
  TableSize most = TableSorter::PieceSize(shape_, spec_.rows(), memory);
  std::vector<TableRun> runs;
  TableCheck check;
  const bool is_merge = !spec_.run_offsets.empty();
  if (is_merge) {
    CORANK_RETURN_IF_ERROR(TableSorter::CheckLongest(shape_, most, source.arrays(), spec_.rows()));
    runs = GivenRuns(source.arrays());
  } else {
    TableSorter sorter(shape_, spec_.rows(), spec_.limit, &memory, &lane, &outcome.stats);
    CORANK_RETURN_IF_ERROR(sorter.AddAll(source));
    CORANK_ASSIGN_OR_RETURN(runs, sorter.Finish());
    check.algorithm = sorter.algorithm();
  }
  lane.set_next_stage(Stage::kCopyOut);
  outcome.stats.set_runs(runs.size() > 1 ? static_cast<int32_t>(runs.size()) : 0);
  outcome.stats.set_out_of_core(true);
  const ColumnSortOperation whole(spec_);
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole.results()));
  std::vector<RowSink::Column> places;
  if (spec_.segment_offsets) places.emplace_back();  // nobody wants the numbers
  auto result = results.begin();
  for (const ColumnSortOperation::Column& column : spec_.columns) {
    for (int array = 0; array < 1 + (column.offsets ? 1 : 0) + (column.validity ? 1 : 0); ++array) {
      places.push_back(spec_.want_columns ? (result++)->column() : RowSink::Column());
    }
  }
  if (spec_.values || spec_.want_indices) places.push_back(results.back().column());
  most.rows = std::min(most.rows, std::max<int64_t>(1, kTileBytes / shape_.row_bytes()));
  TableSink sink(shape_, std::move(places), std::move(most), means_.pipe.get(), &lane);
  const int64_t rows = spec_.limit < 0 ? spec_.rows() : std::min(spec_.limit, spec_.rows());
  CORANK_RETURN_IF_ERROR(MergeTables(runs, rows, sink, &outcome.stats, is_merge ? &check : nullptr));
  if (!check.in_order) return Unsorted(runs, lane);
  outcome.sort_algorithm = ToWire(check.algorithm);
  auto string_bytes = sink.taken().string_bytes.begin();
  for (const RowResult& made : results) {
    outcome.results.push_back(made.Collect());
    if (outcome.results.back().role == ResultRole::kColumnOffsets) {
      (outcome.results.end() - 2)->count = *string_bytes++;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Operand> ExternalColumnSort::SegmentNumbers(absl::string_view field) const {
  Operand numbers;
  numbers.element_bytes = shape_.arrays().front().element_bytes;
  numbers.count = spec_.rows();
  numbers.is_snapshot = true;
  CORANK_ASSIGN_OR_RETURN(const std::shared_ptr<StreamBlock> memory,
                          means_.memory->AllocateHost(numbers.size_bytes(), field));
  NumberSegments(static_cast<const int64_t*>(spec_.segment_offsets->bytes), spec_.segment_offsets->count - 1, 0,
                 numbers.count, memory->data());
  numbers.bytes = memory->data();
  numbers.owner = memory;
  return numbers;
}

std::vector<TableRun> ExternalColumnSort::GivenRuns(const std::vector<RowSource::Array>& inputs) const {
  std::vector<char*> arrays;
  for (const RowSource::Array& input : inputs) arrays.push_back(const_cast<char*>(input.rows));  // are only read
  arrays.resize(shape_.arrays().size(), nullptr);
  std::vector<TableRun> runs;
  for (size_t i = 1; i < spec_.run_offsets.size(); ++i) {
    const int64_t first = spec_.run_offsets[i - 1];
    runs.push_back({spec_.run_offsets[i] - first, arrays, nullptr, first});
  }
  return runs;
}

absl::Status ExternalColumnSort::Unsorted(const std::vector<TableRun>& runs, Lane& lane) const {
  constexpr int64_t kRowsAtOnce = 1 << 20;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (int64_t row = runs[i].first; row < runs[i].end(); row += kRowsAtOnce) {
      CORANK_RETURN_IF_ERROR(lane.CheckWanted());
      const int64_t end = std::min(row + kRowsAtOnce, runs[i].end());
      const int64_t found = FirstUnsorted(shape_, runs[i], row, end);
      if (found < end) return ColumnSortOperation::UnsortedRun(i, found);
    }
  }
  return InvalidField("run_offsets", "the runs changed while they were merged");
}

}  // namespace corank
