#include "server/run/external_column_sort.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/model/offsets.h"
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

bool Takes(const Spec& sort) {
  if (sort.want_ranks || !sort.run_offsets.empty() || sort.limit == 0 || !sort.has_rows() || sort.rows() == 0) {
    return false;
  }
  const Inputs inputs = InputsOf(sort);
  const bool is_streamed = sort.columns.front().data.stream_input >= 0;
  const auto is_taken = [is_streamed](const auto& input) {
    return is_streamed ? input.second->stream_input >= 0 && input.second->has_count
                       : input.second->stream_input < 0 && RowSource::IsOnHost(*input.second);
  };
  if (!std::all_of(inputs.begin(), inputs.end(), is_taken)) return false;
  const auto is_shared = [](const auto& input) { return input.second->is_shared; };
  if (!is_streamed && std::none_of(inputs.begin(), inputs.end(), is_shared)) return false;
  const ColumnSortOperation whole(sort);
  return std::all_of(whole.results().begin(), whole.results().end(), [&](const PendingResult& result) {
    if (!is_streamed) return RowResult::CanHold(result.target);
    // A row of strings has many elements.
    const int64_t row_bytes = sort.limit > 0 ? result.size_bytes() / sort.limit : 0;
    return TakesStreamedRows(result.target, std::max<int64_t>(result.element_bytes, row_bytes), sort.limit);
  });
}

class ColumnSortWork final : public ExternalWork {
 public:
  explicit ColumnSortWork(Spec sort) : sort_(std::move(sort)) {}

  Strategy strategy() const override { return Strategy::kExternalSort; }
  bool is_streamed() const override { return sort_.columns.front().data.stream_input >= 0; }
  bool may_fit_whole() const override { return true; }
  bool prefers_whole() const override { return true; }
  int64_t HostBytes(int64_t parts, int64_t, const JobMemory& memory) const override {
    return ExternalColumnSort::HostBytes(sort_, parts, memory);
  }
  std::unique_ptr<Operation> Make(ExternalMeans means) const override {
    return std::make_unique<ExternalColumnSort>(sort_, std::move(means));
  }

 private:
  const Spec sort_;
};

}  // namespace

std::unique_ptr<const ExternalWork> ExternalColumnSort::For(const Spec& sort) {
  return Takes(sort) ? std::make_unique<ColumnSortWork>(sort) : nullptr;
}

int64_t ExternalColumnSort::HostBytes(const Spec& sort, int64_t parts, const JobMemory& memory) {
  const TableShape shape(sort);
  // Where pieces begin is known only from the offsets of strings, so their streams are received first.
  const bool is_received = parts > 0 && shape.has_strings();
  int64_t copies = 0;
  for (const auto& [field, input] : InputsOf(sort)) {
    if (is_received || parts == 0) copies += is_received ? input->size_bytes() : RowSource::CopyBytes(*input);
  }
  return copies + TableSorter::HostBytes(shape, sort.rows(), sort.limit, parts > 0 && !is_received, memory);
}

int64_t ExternalColumnSort::device_bytes(const Engine& engine) const {
  // Tiles of the result are no larger than pieces.
  const TableSize size = TableSorter::PieceSize(shape_, spec_.rows(), *means_.memory);
  return TableSorter::kStreams * shape_.SortBytes(engine, size, size.rows);
}

int64_t ExternalColumnSort::host_bytes() const { return HostBytes(spec_, means_.parts(), *means_.memory); }

absl::Status ExternalColumnSort::Work(Lane& lane, Outcome& outcome) {
  JobMemory& memory = *means_.memory;
  const Inputs inputs = InputsOf(spec_);
  CORANK_ASSIGN_OR_RETURN(RowSource source, RowSource::Open({inputs.begin(), inputs.end()}, means_.pipe.get(), memory));
  if (shape_.has_strings() && !source.is_complete()) {
    CORANK_RETURN_IF_ERROR(source.ReceiveAll(lane, memory));
    for (size_t i = 0; i < source.arrays().size(); ++i) {
      if (shape_.arrays()[i].kind != TableShape::Array::Kind::kOffsets) continue;
      const RowSource::Array &offsets = source.arrays()[i], &strings = source.arrays()[i - 1];
      CORANK_RETURN_IF_ERROR(
          CheckRisingOffsets(Int64View(offsets.rows, offsets.count), offsets.field, strings.count, "strings", "bytes"));
    }
  }
  TableSorter sorter(shape_, spec_.rows(), spec_.limit, &memory, &lane, &outcome.stats);
  CORANK_RETURN_IF_ERROR(sorter.AddAll(source));
  CORANK_ASSIGN_OR_RETURN(const std::vector<TableRun> runs, sorter.Finish());
  lane.set_next_stage(Stage::kCopyOut);
  outcome.stats.set_runs(runs.size() > 1 ? static_cast<int32_t>(runs.size()) : 0);
  outcome.stats.set_out_of_core(true);
  outcome.sort_algorithm = ToWire(sorter.algorithm());
  const ColumnSortOperation whole(spec_);
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole.results()));
  std::vector<RowSink::Column> places;
  auto result = results.begin();
  for (const ColumnSortOperation::Column& column : spec_.columns) {
    for (int array = 0; array < 1 + (column.offsets ? 1 : 0) + (column.validity ? 1 : 0); ++array) {
      places.push_back(spec_.want_columns ? (result++)->column() : RowSink::Column());
    }
  }
  if (spec_.values || spec_.want_indices) places.push_back(results.back().column());
  TableSize most = TableSorter::PieceSize(shape_, spec_.rows(), memory);
  most.rows = std::min(most.rows, std::max<int64_t>(1, kTileBytes / shape_.row_bytes()));
  TableSink sink(shape_, std::move(places), std::move(most), means_.pipe.get(), &lane);
  const int64_t rows = spec_.limit < 0 ? spec_.rows() : std::min(spec_.limit, spec_.rows());
  CORANK_RETURN_IF_ERROR(MergeTables(lane, shape_, runs, rows, sink, &outcome.stats));
  auto string_bytes = sink.taken().string_bytes.begin();
  for (const RowResult& made : results) {
    outcome.results.push_back(made.Collect());
    if (outcome.results.back().role == ResultRole::kColumnOffsets) {
      (outcome.results.end() - 2)->count = *string_bytes++;
    }
  }
  return absl::OkStatus();
}

}  // namespace corank
