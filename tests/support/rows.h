// Tables of rows to sort by several columns, and the expected result, in plain std:: code.
#ifndef CORANK_TESTS_SUPPORT_ROWS_H_
#define CORANK_TESTS_SUPPORT_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/column_sort.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

/// A column that owns its data.
struct TestColumn {
  ColumnKind kind = ColumnKind::kNumbers;
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  int row_bytes = 0;  // of numbers and bytes
  Bytes data;
  std::vector<int64_t> offsets;  // of strings
  std::vector<bool> valid = {};  // one for each row; empty: the column has no validity
  NullOrder nulls = NullOrder::kLast;
  NanOrder nans = NanOrder::kGreatest;

  int64_t rows() const;
  /// The bytes of one row.
  std::string Row(int64_t row) const;
};

TestColumn NumberColumn(KeyType type, Order order, Bytes data);
TestColumn BytesColumn(int row_bytes, Order order, Bytes data);
TestColumn StringColumn(Order order, const std::vector<std::string>& strings);

/// The bitmap of these bits, the least significant first. Sets the bits after the last one to `rest`.
Bytes Bitmap(const std::vector<bool>& bits, bool rest = false);

/// The stable permutation that sorts rows by the first column, equal ones by the second, and so on. Numbers compare by
/// value, bytes and strings as std::string; nulls do not compare.
std::vector<int64_t> StableRowOrder(const std::vector<TestColumn>& columns);

/// The same by segments: sorts rows [segment_offsets[s], segment_offsets[s + 1]) by themselves, for every s.
std::vector<int64_t> StableRowOrder(const std::vector<TestColumn>& columns,
                                    const std::vector<int64_t>& segment_offsets);

/// How many distinct rows come before each row in the sorted order.
std::vector<int64_t> DenseRowRanks(const std::vector<TestColumn>& columns);

/// The column with these rows in this order.
TestColumn TakeRows(const TestColumn& column, const std::vector<int64_t>& rows);

/// A column with the rows of `first`, and then those of `second`. It has nulls if either column has.
TestColumn Concatenated(const TestColumn& first, const TestColumn& second);

/// The table after a sort of each run by itself: run r is rows [run_offsets[r], run_offsets[r + 1]).
std::vector<TestColumn> WithSortedRuns(const std::vector<TestColumn>& columns, const std::vector<int64_t>& run_offsets);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_ROWS_H_
