#include "server/run/table_cuts.h"

#include <algorithm>
#include <utility>

#include "kernels/engine/alignment.h"
#include "kernels/engine/range_copier.h"
#include "kernels/engine/rounding.h"
#include "server/base/status_macros.h"

namespace corank {

using Kind = TableShape::Array::Kind;

namespace {

// Ranges of whole rows begin with a byte of a bitmap.
constexpr int64_t kWhole = 8;

// Enqueues copies of ranges of the key columns' rows, and of the bytes of their bitmaps. Returns where they come to be,
// by array.
absl::StatusOr<std::vector<char*>> CopyToHost(EngineStream& stream, const TableShape& shape,
                                              const std::vector<char*>& arrays, const Ranges& rows, const Ranges& bytes,
                                              std::deque<OperatorReport>& reports) {
  std::vector<char*> copies(shape.arrays().size(), nullptr);
  if (rows.total() == 0) return copies;
  RangeCopier row_copier(&stream, rows), byte_copier(&stream, bytes);
  for (size_t i = 0; i < shape.key_arrays(); ++i) {
    const TableShape::Array& array = shape.arrays()[i];
    RangeCopier& copier = array.kind == Kind::kBitmap ? byte_copier : row_copier;
    CORANK_ASSIGN_OR_RETURN(copies[i], copier.CopyToHost(arrays[i], array.element_bytes, &reports.emplace_back()));
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

}  // namespace

TableCuts::TableCuts(const TableShape& shape, const std::vector<int64_t>& rows, const std::vector<int64_t>& positions)
    : shape_(shape),
      ranges_(rows, positions, kWhole),
      samples_(rows.size()),
      copied_(rows.size()),
      reports_(rows.size()) {
  const std::vector<char*> none(shape.arrays().size(), nullptr);
  for (TableRun& run : samples_) run.arrays = none;
  for (TableRun& run : copied_) run.arrays = none;
}

int64_t TableCuts::DeviceBytes(const TableShape& shape, int64_t rows, int64_t all_rows, int64_t runs, int64_t positions,
                               const Engine& engine) {
  const int64_t samples = CutRanges::MostSamples(rows, all_rows, runs, positions, kWhole);
  const int64_t copied = CutRanges::MostRows(rows, all_rows, runs, positions, kWhole);
  return CopyBytes(shape, samples, samples, engine) + CopyBytes(shape, positions, copied, engine);
}

int64_t TableCuts::HostBytes(const TableShape& shape, int64_t all_rows, int64_t runs, int64_t positions) {
  const int64_t samples = CutRanges::MostSamples(all_rows, all_rows, runs, positions, kWhole) + runs;
  const int64_t copied = CutRanges::MostRowsOfAll(all_rows, runs, positions, kWhole);
  return HostCopyBytes(shape, runs, samples, samples) + HostCopyBytes(shape, runs, positions * runs, copied);
}

absl::Status TableCuts::CopySamples(size_t run, const std::vector<char*>& arrays, EngineStream& stream) {
  TableRun& samples = samples_[run];
  samples.rows = ranges_.Samples(run);
  Ranges rows, bytes;
  for (int64_t sample = 0; sample < samples.rows; ++sample) {
    rows.Add(sample * ranges_.space(), 1, 1);
    bytes.Add(sample * ranges_.space() / 8, 1, 1);
  }
  CORANK_ASSIGN_OR_RETURN(samples.arrays, CopyToHost(stream, shape_, arrays, rows, bytes, reports_[run]));
  return absl::OkStatus();
}

void TableCuts::FindRanges() {
  for (TableRun& samples : samples_) {
    for (size_t i = 0; i < shape_.key_arrays(); ++i) {
      if (shape_.arrays()[i].kind == Kind::kBitmap) PackBits(samples.arrays[i], samples.rows);
    }
  }
  ranges_.Find(
      [this](const std::vector<int64_t>& begin, int64_t steps) { return CutTables(shape_, samples_, begin, steps); });
}

absl::Status TableCuts::CopyRanges(size_t run, const std::vector<char*>& arrays, EngineStream& stream) {
  Ranges rows, bytes;
  for (const std::vector<CutRanges::Range>& ranges : ranges_.ranges()) {
    const CutRanges::Range& range = ranges[run];
    const int64_t count = range.end - range.begin;
    if (count == 0) continue;
    rows.Add(range.begin, count, RoundUp(count, kWhole));
    bytes.Add(range.begin / 8, ValidityBytes(count), ValidityBytes(count));
  }
  CORANK_ASSIGN_OR_RETURN(copied_[run].arrays, CopyToHost(stream, shape_, arrays, rows, bytes, reports_[run]));
  return absl::OkStatus();
}

std::vector<int64_t> TableCuts::At(size_t position) const {
  std::vector<TableRun> runs = copied_;
  for (size_t i = 0; i < runs.size(); ++i) {
    const CutRanges::Range& range = ranges_.ranges()[position][i];
    runs[i].first = range.fetched_to;
    runs[i].rows = range.end - range.begin;
  }
  return ranges_.At(position, [&](const std::vector<int64_t>& begin, int64_t steps) {
    return CutTables(shape_, runs, begin, steps);
  });
}

}  // namespace corank
