#include "server/run/table_cuts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/engine/alignment.h"
#include "kernels/engine/range_copier.h"
#include "server/base/status_macros.h"

namespace corank {

using Kind = TableShape::Array::Kind;

namespace {

// Ranges of whole rows begin with a byte of a bitmap.
constexpr int64_t kWhole = 8;

constexpr int64_t Ceil(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }
constexpr int64_t RoundUp(int64_t value) { return Ceil(value, kWhole) * kWhole; }

// Enqueues copies of ranges of the key columns' rows, and of the bytes of their bitmaps. Returns where they come to be,
// by array.
absl::StatusOr<std::vector<char*>> CopyToHost(EngineStream& stream, const TableShape& shape, const TableCuts::Run& run,
                                              const Ranges& rows, const Ranges& bytes,
                                              std::deque<OperatorReport>& reports) {
  std::vector<char*> copies(shape.arrays().size(), nullptr);
  if (rows.total() == 0) return copies;
  RangeCopier row_copier(&stream, rows), byte_copier(&stream, bytes);
  for (size_t i = 0; i < shape.key_arrays(); ++i) {
    const TableShape::Array& array = shape.arrays()[i];
    RangeCopier& copier = array.kind == Kind::kBitmap ? byte_copier : row_copier;
    CORANK_ASSIGN_OR_RETURN(copies[i], copier.CopyToHost(run.arrays[i], array.element_bytes, &reports.emplace_back()));
  }
  return copies;
}

// The device memory for that.
int64_t CopyBytes(const TableShape& shape, int64_t ranges, int64_t rows, const Engine& engine) {
  int64_t bytes = 2 * RangeCopier::RangesBytes(ranges);
  for (size_t i = 0; i < shape.key_arrays(); ++i) {
    bytes += RangeCopier::DeviceBytes(shape.arrays()[i].element_bytes, ranges, rows, engine);
  }
  return bytes;
}

// The pinned memory for copies of some ranges of several runs.
int64_t HostCopyBytes(const TableShape& shape, int64_t runs, int64_t ranges, int64_t rows) {
  const int64_t blocks = runs * (6 + static_cast<int64_t>(shape.key_arrays()));  // each begins aligned
  int64_t bytes = blocks * kArrayAlignment + (shape.has_bitmaps() ? 2 : 1) * RangeCopier::RangesBytes(ranges);
  for (size_t i = 0; i < shape.key_arrays(); ++i) bytes += rows * shape.arrays()[i].element_bytes;
  return bytes;
}

// Makes the bitmap of the rows in place: the lowest bit of each byte is that of a row.
void PackBits(char* bytes, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const int bit = bytes[row] & 1;
    bytes[row / 8] = static_cast<char>(row % 8 == 0 ? bit : bytes[row / 8] | bit << row % 8);
  }
}

// There are about as many samples as rows in all ranges, which keeps their sum least.
int64_t SpaceOf(int64_t all_rows, int64_t runs, int64_t positions) {
  const auto cuts = static_cast<double>(std::max<int64_t>(1, positions) * (runs + 2));
  return std::max(kWhole, RoundUp(static_cast<int64_t>(std::sqrt(static_cast<double>(all_rows) / cuts))));
}

int64_t RowsOf(const std::vector<TableCuts::Run>& runs) {
  int64_t rows = 0;
  for (const TableCuts::Run& run : runs) rows += run.rows;
  return rows;
}

}  // namespace

TableCuts::TableCuts(const TableShape& shape, std::vector<Run> runs, std::vector<int64_t> positions)
    : shape_(shape),
      runs_(std::move(runs)),
      positions_(std::move(positions)),
      space_(SpaceOf(RowsOf(runs_), static_cast<int64_t>(runs_.size()), static_cast<int64_t>(positions_.size()))),
      samples_(runs_.size()),
      copied_(runs_.size()),
      cuts_(positions_.size()) {
  const std::vector<char*> none(shape.arrays().size(), nullptr);
  for (TableRun& run : samples_) run.arrays = none;
  for (TableRun& run : copied_) run.arrays = none;
}

int64_t TableCuts::DeviceBytes(const TableShape& shape, int64_t rows, int64_t all_rows, int64_t runs, int64_t positions,
                               const Engine& engine) {
  const int64_t space = SpaceOf(all_rows, runs, positions);
  const int64_t samples = Ceil(rows, space);
  // FindRanges: the samples at both ends of a range are runs + 1 apart, or a range begins with its run.
  const int64_t range = std::min(RoundUp(rows), (runs + 2) * space + 2 * kWhole);
  return CopyBytes(shape, samples, samples, engine) + CopyBytes(shape, positions, positions * range, engine);
}

int64_t TableCuts::HostBytes(const TableShape& shape, int64_t all_rows, int64_t runs, int64_t positions) {
  const int64_t space = SpaceOf(all_rows, runs, positions), samples = all_rows / space + runs;
  // FindRanges: between the samples at both ends of the ranges of a position there are runs + 1 spaces in all runs
  // together. Beside these each range has less than one space, and what makes it whole at either end.
  const int64_t rows = std::min(all_rows + runs * kWhole, (2 * runs + 1) * space + 2 * runs * kWhole);
  return HostCopyBytes(shape, runs, samples, samples) + HostCopyBytes(shape, runs, positions * runs, positions * rows);
}

absl::Status TableCuts::CopySamples(size_t run, EngineStream& stream) {
  TableRun& samples = samples_[run];
  samples.rows = Ceil(runs_[run].rows, space_);
  Ranges rows, bytes;
  for (int64_t sample = 0; sample < samples.rows; ++sample) {
    rows.Add(sample * space_, 1, 1);
    bytes.Add(sample * space_ / 8, 1, 1);
  }
  CORANK_ASSIGN_OR_RETURN(samples.arrays, CopyToHost(stream, shape_, runs_[run], rows, bytes, reports_));
  return absl::OkStatus();
}

void TableCuts::FindRanges() {
  int64_t all_samples = 0;
  for (TableRun& samples : samples_) {
    all_samples += samples.rows;
    for (size_t i = 0; i < shape_.key_arrays(); ++i) {
      if (shape_.arrays()[i].kind == Kind::kBitmap) PackBits(samples.arrays[i], samples.rows);
    }
  }
  const auto runs = static_cast<int64_t>(runs_.size());
  const int64_t all_rows = RowsOf(runs_);
  std::vector<int64_t> low(runs_.size(), 0), copied(runs_.size(), 0);
  int64_t low_samples = 0;
  for (const int64_t position : positions_) {
    std::vector<Range>& ranges = ranges_.emplace_back(runs_.size());
    if (position == 0 || position == all_rows) {
      for (size_t i = 0; i < runs_.size() && position > 0; ++i) ranges[i].begin = ranges[i].end = runs_[i].rows;
      continue;
    }
    // At most `position` rows come before the first sample that is not among so many: there is a space of rows before
    // each that is.
    const int64_t more = position / space_ - low_samples;
    low = CutTables(shape_, samples_, low, more);
    low_samples += more;
    // At least `position` rows come before the end of so many samples: of each run, all spaces between its samples.
    const int64_t high_samples = Ceil(position, space_) + runs;
    const bool are_all = high_samples >= all_samples;
    const std::vector<int64_t> high =
        are_all ? std::vector<int64_t>() : CutTables(shape_, samples_, low, high_samples - low_samples);
    for (size_t i = 0; i < runs_.size(); ++i) {
      Range& range = ranges[i];
      range.begin = low[i] == 0 ? 0 : ((low[i] - 1) * space_ + 1) / kWhole * kWhole;
      range.end = are_all ? runs_[i].rows : std::min(runs_[i].rows, high[i] * space_);
      range.copied_to = copied[i];
      copied[i] += RoundUp(range.end - range.begin);
    }
  }
}

absl::Status TableCuts::CopyRanges(size_t run, EngineStream& stream) {
  if (ranges_.empty()) FindRanges();
  Ranges rows, bytes;
  for (const std::vector<Range>& ranges : ranges_) {
    const Range& range = ranges[run];
    const int64_t count = range.end - range.begin;
    if (count == 0) continue;
    rows.Add(range.begin, count, RoundUp(count));
    bytes.Add(range.begin / 8, ValidityBytes(count), ValidityBytes(count));
  }
  CORANK_ASSIGN_OR_RETURN(copied_[run].arrays, CopyToHost(stream, shape_, runs_[run], rows, bytes, reports_));
  return absl::OkStatus();
}

const std::vector<int64_t>& TableCuts::At(size_t position) {
  std::vector<int64_t>& cut = cuts_[position];
  if (!cut.empty()) return cut;
  const std::vector<Range>& ranges = ranges_[position];
  int64_t rows = positions_[position];
  std::vector<int64_t> begin;
  for (size_t i = 0; i < runs_.size(); ++i) {
    begin.push_back(ranges[i].copied_to);
    copied_[i].first = ranges[i].copied_to;
    copied_[i].rows = ranges[i].end - ranges[i].begin;
    rows -= ranges[i].begin;
  }
  cut = CutTables(shape_, copied_, begin, rows);
  for (size_t i = 0; i < runs_.size(); ++i) cut[i] += ranges[i].begin - ranges[i].copied_to;
  return cut;
}

}  // namespace corank
