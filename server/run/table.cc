#include "server/run/table.h"

#include <algorithm>
#include <numeric>

#include "kernels/common/row_order.h"
#include "kernels/engine/alignment.h"
#include "server/base/status_macros.h"

namespace corank {

TableShape::TableShape(const ColumnSortOperation::Spec& sort)
    : algorithm_(sort.algorithm), has_indices_(sort.want_indices) {
  for (const ColumnSortOperation::Column& from : sort.columns) {
    columns_.push_back(ColumnSortOperation::KeyColumnOf(from));
    arrays_.push_back({from.data.element_bytes});
    has_validity_.push_back(from.validity.has_value());
    if (from.validity) arrays_.push_back({1, /*is_bitmap=*/true});
    has_bitmaps_ |= from.validity.has_value();
  }
  value_bytes_ = sort.values ? sort.values->element_bytes : has_indices_ ? IndexBytes(sort.rows() - 1) : 0;
  if (value_bytes_ > 0) arrays_.push_back({value_bytes_});
  for (const Array& array : arrays_) row_bytes_ += array.element_bytes;
}

int64_t TableShape::BlockBytes(int64_t rows) const {
  return std::accumulate(arrays_.begin(), arrays_.end(), int64_t{0},
                         [rows](int64_t bytes, const Array& array) { return bytes + AlignUp(array.Bytes(rows)); });
}

std::vector<char*> TableShape::Places(char* block, int64_t rows) const {
  std::vector<char*> places;
  for (const Array& array : arrays_) {
    places.push_back(block);
    block += AlignUp(array.Bytes(rows));
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
    if (has_validity_[i]) columns[i].validity = reinterpret_cast<const uint8_t*>(*array++);
  }
  return columns;
}

ColumnSortArgs TableShape::Args(const std::vector<char*>& from, const std::vector<char*>& to, int64_t rows,
                                int64_t kept, std::vector<KeyColumn>& columns) const {
  columns = Columns(from);
  auto out = to.begin();
  for (KeyColumn& column : columns) {
    column.data_out = *out++;
    if (column.validity != nullptr) column.validity_out = reinterpret_cast<uint8_t*>(*out++);
  }
  ColumnSortArgs args;
  args.columns = columns.data();
  args.column_count = static_cast<int32_t>(columns.size());
  args.algorithm = algorithm_;
  args.count = rows;
  args.limit = kept;
  args.value_bytes = value_bytes_;
  if (value_bytes_ > 0) {
    args.values_in = from.back();
    args.values_out = to.back();
  }
  return args;
}

absl::Status TableShape::Sort(EngineStream& stream, const std::vector<char*>& from, const std::vector<char*>& to,
                              int64_t rows, int64_t kept, OperatorReport* report) const {
  std::vector<KeyColumn> columns;
  return stream.SortColumns(Args(from, to, rows, kept, columns), report);
}

int64_t TableShape::SortBytes(const Engine& engine, int64_t rows, int64_t kept) const {
  char any = 0;
  const std::vector<char*> somewhere(arrays_.size(), &any);
  std::vector<KeyColumn> columns;
  return BlockBytes(rows) + BlockBytes(kept) + engine.WorkspaceBytes(Args(somewhere, somewhere, rows, kept, columns));
}

namespace {

// The order of two rows of different runs.
int CompareRows(const RowOrder& x, int64_t x_row, const RowOrder& y, int64_t y_row) {
  // Without strings, the first difference of two streams decides, and rows without a difference are equal.
  for (int64_t first = 0; first < x.stream_bytes(); first += 8) {
    const uint64_t x_word = x.Word(x_row, first), y_word = y.Word(y_row, first);
    if (x_word != y_word) return x_word < y_word ? -1 : 1;
  }
  return 0;
}

}  // namespace

std::vector<int64_t> CutTables(const TableShape& shape, const std::vector<TableRun>& runs,
                               const std::vector<int64_t>& begin, int64_t rows) {
  std::vector<RowOrder> orders;
  std::vector<int64_t> least = begin, most(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::vector<KeyColumn> columns = shape.Columns(runs[i].arrays);
    orders.emplace_back(columns.data(), static_cast<int>(columns.size()));
    most[i] = std::min(runs[i].rows, begin[i] + rows);
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

void AppendBits(uint8_t* to, int64_t to_bit, const uint8_t* from, int64_t from_bit, int64_t count) {
  while (count > 0) {
    const int shift = static_cast<int>(to_bit % 8), skip = static_cast<int>(from_bit % 8);
    const int64_t bits = std::min<int64_t>(count, 8 - std::max(shift, skip));
    const unsigned taken = (from[from_bit / 8] >> skip) & ((1U << bits) - 1);
    to[to_bit / 8] = static_cast<uint8_t>(to[to_bit / 8] | taken << shift);
    to_bit += bits;
    from_bit += bits;
    count -= bits;
  }
}

}  // namespace corank
