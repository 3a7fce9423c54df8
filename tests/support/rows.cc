#include "tests/support/rows.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace corank::testing {

int64_t TestColumn::rows() const {
  if (kind == ColumnKind::kStrings) return static_cast<int64_t>(offsets.size()) - 1;
  return static_cast<int64_t>(data.size()) / row_bytes;
}

std::string TestColumn::Row(int64_t row) const {
  const bool strings = kind == ColumnKind::kStrings;
  const auto at = static_cast<size_t>(row);
  const int64_t begin = strings ? offsets[at] : row * row_bytes;
  const int64_t end = strings ? offsets[at + 1] : begin + row_bytes;
  return std::string(data.begin() + begin, data.begin() + end);
}

TestColumn NumberColumn(KeyType type, Order order, Bytes data) {
  return {ColumnKind::kNumbers, type, order, KeyBytes(type), std::move(data), {}};
}

TestColumn BytesColumn(int row_bytes, Order order, Bytes data) {
  return {ColumnKind::kBytes, KeyType::kUint8, order, row_bytes, std::move(data), {}};
}

TestColumn StringColumn(Order order, const std::vector<std::string>& strings) {
  TestColumn column{ColumnKind::kStrings, KeyType::kUint8, order, 0, {}, {0}};
  for (const std::string& string : strings) {
    column.data.insert(column.data.end(), string.begin(), string.end());
    column.offsets.push_back(static_cast<int64_t>(column.data.size()));
  }
  return column;
}

std::vector<int64_t> StableRowOrder(const std::vector<TestColumn>& columns) {
  std::vector<int64_t> order(static_cast<size_t>(columns.front().rows()));
  std::iota(order.begin(), order.end(), int64_t{0});
  // The last column first: each stable sort keeps the order of the previous ones.
  for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
    if (column->kind == ColumnKind::kNumbers) {
      std::stable_sort(order.begin(), order.end(), KeyBefore(column->type, column->order, column->data));
      continue;
    }
    std::vector<std::string> rows;
    for (int64_t row = 0; row < column->rows(); ++row) rows.push_back(column->Row(row));
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      if (column->order == Order::kDescending) std::swap(a, b);
      return rows[static_cast<size_t>(a)] < rows[static_cast<size_t>(b)];
    });
  }
  return order;
}

TestColumn TakeRows(const TestColumn& column, const std::vector<int64_t>& rows) {
  TestColumn taken = column;
  taken.data.clear();
  if (column.kind == ColumnKind::kStrings) taken.offsets = {0};
  for (int64_t row : rows) {
    const std::string bytes = column.Row(row);
    taken.data.insert(taken.data.end(), bytes.begin(), bytes.end());
    if (column.kind == ColumnKind::kStrings) taken.offsets.push_back(static_cast<int64_t>(taken.data.size()));
  }
  return taken;
}

}  // namespace corank::testing
