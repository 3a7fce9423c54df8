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

Bytes Bitmap(const std::vector<bool>& bits, bool rest) {
  Bytes bytes((bits.size() + 7) / 8, 0);
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    if (i < bits.size() ? bits[i] : rest) bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] | 1 << i % 8);
  }
  return bytes;
}

namespace {

// Whether a row is a NaN, for each of them.
std::vector<bool> FindNans(const TestColumn& column) {
  std::vector<bool> nans(static_cast<size_t>(column.rows()), false);
  if (column.kind != ColumnKind::kNumbers || !IsFloat(column.type)) return nans;
  Bytes keys = column.data;
  keys.insert(keys.end(), static_cast<size_t>(column.row_bytes), 0xFF);  // a NaN of every type
  const auto before = KeyBefore(column.type, Order::kAscending, keys);
  for (size_t row = 0; row < nans.size(); ++row) nans[row] = !before(static_cast<int64_t>(row), column.rows());
  return nans;
}

// Sorts rows by the values in a column, none of which is null.
void SortByValue(const TestColumn& column, std::vector<int64_t>& order) {
  if (column.kind == ColumnKind::kNumbers) {
    std::stable_sort(order.begin(), order.end(), KeyBefore(column.type, column.order, column.data));
    return;
  }
  std::vector<std::string> rows;
  for (int64_t row = 0; row < column.rows(); ++row) rows.push_back(column.Row(row));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (column.order == Order::kDescending) std::swap(a, b);
    return rows[static_cast<size_t>(a)] < rows[static_cast<size_t>(b)];
  });
}

}  // namespace

std::vector<int64_t> StableRowOrder(const std::vector<TestColumn>& columns) {
  std::vector<int64_t> order(static_cast<size_t>(columns.front().rows()));
  std::iota(order.begin(), order.end(), int64_t{0});
  // The last column first: each stable sort keeps the order of the previous ones.
  for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
    const std::vector<bool> is_nan = FindNans(*column);
    std::vector<int64_t> values, nans, nulls;
    for (int64_t row : order) {
      const auto at = static_cast<size_t>(row);
      const bool is_null = !column->valid.empty() && !column->valid[at];
      const bool stands_apart = is_nan[at] && column->nans != NanOrder::kGreatest;
      auto& group = is_null ? nulls : !stands_apart ? values : column->nans == NanOrder::kAsNulls ? nulls : nans;
      group.push_back(row);
    }
    SortByValue(*column, values);
    const bool nulls_first = column->nulls == NullOrder::kFirst;
    order.clear();
    for (const auto* group : {nulls_first ? &nulls : &values, &nans, nulls_first ? &values : &nulls}) {
      order.insert(order.end(), group->begin(), group->end());
    }
  }
  return order;
}

std::vector<int64_t> StableRowOrder(const std::vector<TestColumn>& columns,
                                    const std::vector<int64_t>& segment_offsets) {
  std::vector<int64_t> order = StableRowOrder(columns);
  std::vector<size_t> segment_of(order.size());
  for (size_t segment = 0; segment + 1 < segment_offsets.size(); ++segment) {
    std::fill(segment_of.begin() + segment_offsets[segment], segment_of.begin() + segment_offsets[segment + 1],
              segment);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return segment_of[static_cast<size_t>(a)] < segment_of[static_cast<size_t>(b)];
  });
  return order;
}

std::vector<int64_t> DenseRowRanks(const std::vector<TestColumn>& columns) {
  // Rows in the opposite order change places with their equals only. So a new rank begins where the first rows of both
  // orders are the same ones.
  const std::vector<int64_t> order = StableRowOrder(columns);
  const auto count = static_cast<int64_t>(order.size());
  std::vector<int64_t> backwards(order.size());
  std::iota(backwards.rbegin(), backwards.rend(), int64_t{0});
  std::vector<TestColumn> reversed;
  for (const TestColumn& column : columns) reversed.push_back(TakeRows(column, backwards));
  const std::vector<int64_t> opposite = StableRowOrder(reversed);
  std::vector<int64_t> ranks(order.size());
  std::vector<bool> is_in_one(order.size());
  int64_t in_one = 0, rank = 1;
  const auto toggle = [&](int64_t row) {
    const auto at = static_cast<size_t>(row);
    is_in_one[at] = !is_in_one[at];
    in_one += is_in_one[at] ? 1 : -1;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    ranks[static_cast<size_t>(order[i])] = rank;
    toggle(order[i]);
    toggle(count - 1 - opposite[i]);
    if (in_one == 0) ++rank;
  }
  return ranks;
}

TestColumn TakeRows(const TestColumn& column, const std::vector<int64_t>& rows) {
  TestColumn taken = column;
  taken.data.clear();
  if (column.kind == ColumnKind::kStrings) taken.offsets = {0};
  taken.valid.clear();
  for (int64_t row : rows) {
    if (!column.valid.empty()) taken.valid.push_back(column.valid[static_cast<size_t>(row)]);
    const std::string bytes = column.Row(row);
    taken.data.insert(taken.data.end(), bytes.begin(), bytes.end());
    if (column.kind == ColumnKind::kStrings) taken.offsets.push_back(static_cast<int64_t>(taken.data.size()));
  }
  return taken;
}

TestColumn Concatenated(const TestColumn& first, const TestColumn& second) {
  TestColumn all = first;
  all.data.insert(all.data.end(), second.data.begin(), second.data.end());
  for (size_t i = 1; i < second.offsets.size(); ++i) {
    all.offsets.push_back(static_cast<int64_t>(first.data.size()) + second.offsets[i]);
  }
  if (first.valid.empty() && second.valid.empty()) return all;
  all.valid.resize(static_cast<size_t>(first.rows()), true);
  for (int64_t row = 0; row < second.rows(); ++row) {
    all.valid.push_back(second.valid.empty() || second.valid[static_cast<size_t>(row)]);
  }
  return all;
}

std::vector<TestColumn> WithSortedRuns(const std::vector<TestColumn>& columns,
                                       const std::vector<int64_t>& run_offsets) {
  const std::vector<int64_t> order = StableRowOrder(columns);
  std::vector<int64_t> place(order.size()), rows(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  std::iota(rows.begin(), rows.end(), 0);
  for (size_t run = 1; run < run_offsets.size(); ++run) {
    std::sort(rows.begin() + run_offsets[run - 1], rows.begin() + run_offsets[run],
              [&](int64_t a, int64_t b) { return place[static_cast<size_t>(a)] < place[static_cast<size_t>(b)]; });
  }
  std::vector<TestColumn> sorted;
  for (const TestColumn& column : columns) sorted.push_back(TakeRows(column, rows));
  return sorted;
}

}  // namespace corank::testing
