#include "server/run/table.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/common/row_order.h"
#include "kernels/engine/alignment.h"

namespace corank {

TableShape::TableShape(const ColumnSortOperation::Spec& sort)
    : algorithm_(sort.algorithm), has_indices_(sort.want_indices) {
  if (sort.segment_offsets) {
    columns_.push_back(SegmentColumn(sort.segment_offsets->count - 1, nullptr));
    arrays_.push_back({columns_.back().row_bytes});
    has_validity_.push_back(false);
  }
  for (const ColumnSortOperation::Column& from : sort.columns) {
    columns_.push_back(KeyColumnOf(from));
    if (from.offsets) {
      const size_t strings = mean_string_bytes_.size();
      arrays_.push_back({1, Array::Kind::kStrings, strings});
      arrays_.push_back({sizeof(int64_t), Array::Kind::kOffsets, strings});
      mean_string_bytes_.push_back(from.data.count / std::max<int64_t>(1, from.rows()) + 1);
      row_bytes_ += mean_string_bytes_.back() - 1;  // an element of the data counts below
    } else {
      arrays_.push_back({from.data.element_bytes});
    }
    has_validity_.push_back(from.validity.has_value());
    if (from.validity) arrays_.push_back({1, Array::Kind::kBitmap});
    has_bitmaps_ |= from.validity.has_value();
  }
  value_bytes_ = sort.values ? sort.values->element_bytes : has_indices_ ? IndexBytes(sort.rows() - 1) : 0;
  if (value_bytes_ > 0) arrays_.push_back({value_bytes_});
  for (const Array& array : arrays_) row_bytes_ += array.element_bytes;
}

int64_t TableShape::Array::Elements(const TableSize& size) const {
  switch (kind) {
    case Kind::kBitmap:
      return ValidityBytes(size.rows);
    case Kind::kOffsets:
      return size.rows + 1;
    case Kind::kStrings:
      return size.string_bytes[strings];
    default:
      return size.rows;
  }
}

int64_t TableShape::BlockBytes(const TableSize& size) const {
  return std::accumulate(arrays_.begin(), arrays_.end(), int64_t{0},
                         [&size](int64_t bytes, const Array& array) { return bytes + AlignUp(array.Bytes(size)); });
}

std::vector<char*> TableShape::Places(char* block, const TableSize& size) const {
  std::vector<char*> places;
  for (const Array& array : arrays_) {
    places.push_back(block);
    block += AlignUp(array.Bytes(size));
  }
  return places;
}

int64_t TableShape::WholeRows(int64_t rows) const {
  return has_bitmaps_ ? std::max<int64_t>(8, rows / 8 * 8) : std::max<int64_t>(1, rows);
}

std::vector<KeyColumn> TableShape::Columns(const std::vector<char*>& arrays) const {
  std::vector<KeyColumn> columns = columns_;
  auto array = arrays.begin();
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].data = *array++;
    if (columns[i].kind == ColumnKind::kStrings) columns[i].offsets = reinterpret_cast<const int64_t*>(*array++);
    if (has_validity_[i]) columns[i].validity = reinterpret_cast<const uint8_t*>(*array++);
  }
  return columns;
}

ColumnSortArgs TableShape::Args(const std::vector<char*>& from, const std::vector<char*>& to, const TableSize& size,
                                std::vector<KeyColumn>& columns) const {
  columns = Columns(from);
  auto out = to.begin();
  auto string_bytes = size.string_bytes.begin();
  for (KeyColumn& column : columns) {
    column.data_out = *out++;
    if (column.kind == ColumnKind::kStrings) {
      column.data_bytes = *string_bytes++;
      column.offsets_out = reinterpret_cast<int64_t*>(*out++);
    }
    if (column.validity != nullptr) column.validity_out = reinterpret_cast<uint8_t*>(*out++);
  }
  ColumnSortArgs args;
  args.columns = columns.data();
  args.column_count = static_cast<int32_t>(columns.size());
  args.algorithm = algorithm_;
  args.count = size.rows;
  args.value_bytes = value_bytes_;
  if (value_bytes_ > 0) {
    args.values_in = from.back();
    args.values_out = to.back();
  }
  return args;
}

namespace {

void SetRuns(const std::vector<int64_t>& offsets, ColumnSortArgs& args) {
  if (offsets.empty()) return;
  args.run_offsets = offsets.data();
  args.run_count = static_cast<int32_t>(offsets.size()) - 1;
}

void SetSegments(const TableShape::Segments& segments, ColumnSortArgs& args) {
  args.segment_offsets = segments.offsets;
  args.segment_count = segments.count;
  args.limit = segments.limit;
}

}  // namespace

absl::Status TableShape::Sort(EngineStream& stream, const std::vector<char*>& from, const std::vector<char*>& to,
                              const TableSize& size, int64_t kept, OperatorReport* report,
                              const std::vector<int64_t>& run_offsets) const {
  std::vector<KeyColumn> columns;
  ColumnSortArgs args = Args(from, to, size, columns);
  args.limit = kept;
  SetRuns(run_offsets, args);
  return stream.SortColumns(args, report);
}

int64_t TableShape::SortBytes(const Engine& engine, const TableSize& size, int64_t kept, size_t runs) const {
  char any = 0;
  const std::vector<char*> somewhere(arrays_.size(), &any);
  std::vector<int64_t> run_offsets;
  if (runs > 0) {  // any take as much memory
    run_offsets.resize(runs + 1, size.rows);
    run_offsets.front() = 0;
  }
  std::vector<KeyColumn> columns;
  ColumnSortArgs args = Args(somewhere, somewhere, size, columns);
  args.limit = kept;
  SetRuns(run_offsets, args);
  return BlockBytes(size) + BlockBytes({kept, size.string_bytes}) + engine.WorkspaceBytes(args);
}

absl::Status TableShape::SortSegments(EngineStream& stream, const std::vector<char*>& from,
                                      const std::vector<char*>& to, const TableSize& size, const Segments& segments,
                                      OperatorReport* report) const {
  std::vector<KeyColumn> columns;
  ColumnSortArgs args = Args(from, to, size, columns);
  SetSegments(segments, args);
  return stream.SortColumns(args, report);
}

int64_t TableShape::SegmentSortBytes(const Engine& engine, const TableSize& size, int64_t limit,
                                     int64_t segments) const {
  char any = 0;
  const std::vector<char*> somewhere(arrays_.size(), &any);
  const int64_t any_offset = 0;
  std::vector<KeyColumn> columns;
  ColumnSortArgs args = Args(somewhere, somewhere, size, columns);
  // One segment is sorted as a table without segments, which may take more.
  int64_t workspace = 0;
  for (const int64_t count : {int64_t{1}, segments}) {
    SetSegments({&any_offset, count, limit}, args);
    workspace = std::max(workspace, engine.WorkspaceBytes(args));
  }
  return 2 * BlockBytes(size) + workspace;
}

namespace {

// The order of the rows of a run, by groups of columns: a column of strings ends its group.
std::vector<RowOrder> OrderOf(const TableShape& shape, const TableRun& run) {
  const std::vector<KeyColumn> columns = shape.Columns(run.arrays);
  std::vector<RowOrder> groups;
  size_t first = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].kind != ColumnKind::kStrings && i + 1 < columns.size()) continue;
    groups.emplace_back(&columns[first], static_cast<int>(i + 1 - first));
    first = i + 1;
  }
  return groups;
}

// The order of two rows of different runs, by a group of columns.
int CompareRows(const RowOrder& x, int64_t x_row, const RowOrder& y, int64_t y_row) {
  constexpr int64_t kTailBytes = 7;
  for (int64_t first = 0; x.ends_in_strings(); first += kTailBytes) {
    const uint64_t x_tail = x.Tail(x_row, first), y_tail = y.Tail(y_row, first);
    if (x_tail != y_tail) return x_tail < y_tail ? -1 : 1;
    if (x.TailDecides(x_tail)) return 0;
  }
  // Without strings, the first difference of two streams decides, and rows without a difference are equal.
  for (int64_t first = 0; first < x.stream_bytes(); first += 8) {
    const uint64_t x_word = x.Word(x_row, first), y_word = y.Word(y_row, first);
    if (x_word != y_word) return x_word < y_word ? -1 : 1;
  }
  return 0;
}

int CompareRows(const std::vector<RowOrder>& x, int64_t x_row, const std::vector<RowOrder>& y, int64_t y_row) {
  int order = 0;
  for (size_t group = 0; group < x.size() && order == 0; ++group) {
    order = CompareRows(x[group], x_row, y[group], y_row);
  }
  return order;
}

}  // namespace

std::vector<int64_t> CutTables(const TableShape& shape, const std::vector<TableRun>& runs,
                               const std::vector<int64_t>& begin, int64_t rows) {
  std::vector<std::vector<RowOrder>> orders;
  std::vector<int64_t> least = begin, most(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    orders.push_back(OrderOf(shape, runs[i]));
    most[i] = std::min(runs[i].end(), begin[i] + rows);
  }
  // Run i ends between least[i] and most[i]. Each step takes the middle row of the longest range and counts the rows
  // before it, which tells whether that row is among the wanted ones.
  std::vector<int64_t> before(runs.size());
  for (;;) {
    size_t widest = 0;
    for (size_t i = 1; i < runs.size(); ++i) {
      if (most[i] - least[i] > most[widest] - least[widest]) widest = i;
    }
    if (most[widest] == least[widest]) return least;
    const int64_t middle = least[widest] + (most[widest] - least[widest]) / 2;
    int64_t count = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      int64_t low = least[i], high = most[i];
      if (i == widest) low = high = middle;
      while (low < high) {
        const int64_t row = low + (high - low) / 2;
        const int order = CompareRows(orders[i], row, orders[widest], middle);
        if (order < 0 || (order == 0 && i < widest)) {
          low = row + 1;
        } else {
          high = row;
        }
      }
      before[i] = low;
      count += low - begin[i];
    }
    if (count < rows) {
      least = before;
      ++least[widest];  // the row itself
    } else {
      most = before;
    }
  }
}

int64_t FirstUnsorted(const TableShape& shape, const TableRun& run, int64_t begin, int64_t end) {
  const std::vector<KeyColumn> columns = shape.Columns(run.arrays);
  const RowOrder order(columns.data(), static_cast<int>(columns.size()));
  for (int64_t row = std::max(begin, run.first + 1); row < std::min(end, run.end()); ++row) {
    if (order.Compare(row, row - 1, /*equal_bytes=*/0) < 0) return row;
  }
  return end;
}

bool InOrderAt(const TableShape& shape, const std::vector<TableRun>& runs, const std::vector<int64_t>& rows) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (FirstUnsorted(shape, runs[i], rows[i], rows[i] + 1) == rows[i]) return false;
  }
  return true;
}

TableSize SizeOf(const TableShape& shape, const std::vector<TableRun>& runs, const std::vector<int64_t>& begin,
                 const std::vector<int64_t>& end) {
  TableSize size{0, std::vector<int64_t>(shape.mean_string_bytes().size(), 0)};
  for (size_t i = 0; i < runs.size(); ++i) {
    size.rows += end[i] - begin[i];
    for (size_t a = 0; a < shape.arrays().size(); ++a) {
      const TableShape::Array& array = shape.arrays()[a];
      if (array.kind != TableShape::Array::Kind::kOffsets) continue;
      const auto* const offsets = reinterpret_cast<const int64_t*>(runs[i].arrays[a]);
      size.string_bytes[array.strings] += offsets[end[i]] - offsets[begin[i]];
    }
  }
  return size;
}

void AppendBits(uint8_t* to, int64_t to_bit, const uint8_t* from, int64_t from_bit, int64_t count) {
  while (count > 0) {
    const int shift = static_cast<int>(to_bit % 8), skip = static_cast<int>(from_bit % 8);
    if (shift == 0 && skip == 0 && count >= 8) {
      const int64_t bytes = count / 8;
      std::memcpy(to + to_bit / 8, from + from_bit / 8, static_cast<size_t>(bytes));
      to_bit += 8 * bytes;
      from_bit += 8 * bytes;
      count -= 8 * bytes;
      continue;
    }
    const int64_t bits = std::min<int64_t>(count, 8 - std::max(shift, skip));
    const unsigned taken = (from[from_bit / 8] >> skip) & ((1U << bits) - 1);
    to[to_bit / 8] = static_cast<uint8_t>(to[to_bit / 8] | taken << shift);
    to_bit += bits;
    from_bit += bits;
    count -= bits;
  }
}

}  // namespace corank
