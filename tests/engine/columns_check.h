// The check and the columns that the suites of operators by key columns share.
#ifndef CORANK_TESTS_ENGINE_COLUMNS_CHECK_H_
#define CORANK_TESTS_ENGINE_COLUMNS_CHECK_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"
#include "tests/support/sampling.h"

namespace corank::testing {

constexpr auto kAscending = Order::kAscending;
constexpr auto kDescending = Order::kDescending;
constexpr NullOrder kNullOrders[] = {NullOrder::kLast, NullOrder::kFirst};
constexpr NanOrder kNanOrders[] = {NanOrder::kGreatest, NanOrder::kBesideNulls, NanOrder::kAsNulls};

class OnColumns : public OnEngineUnderTest<::testing::Test> {
 protected:
  // Sorts in all ways that the case leaves open, and compares all outputs with the oracle.
  void Check(const std::vector<TestColumn>& columns) {
    ColumnSortCase test;
    test.columns = columns;
    const std::vector<int64_t> order = StableRowOrder(test.columns);
    const int64_t count = test.columns.front().rows();
    test.value_bytes = count % 2 == 0 ? 4 : 3;
    test.values = MakeBytes(count * test.value_bytes, 9);
    for (SortAlgorithm algorithm : kSortAlgorithms) {
      test.algorithm = algorithm;
      for (bool want_columns : {true, false}) {
        test.want_columns = want_columns;
        test.want_indices = true;
        test.want_ranks = !want_columns;
        CheckOnce(test, order);
      }
    }
    test.want_ranks = false;
    test.algorithm = SortAlgorithm::kAuto;
    test.want_columns = true;
    test.want_indices = false;
    for (int64_t limit : {int64_t{0}, int64_t{1}, count / 3, count + 5}) {
      test.limit = limit;
      test.offset = 0;
      CheckOnce(test, order);
      test.offset = count / 2;
      test.want_indices = !test.want_indices;
      CheckOnce(test, order);
    }
    test.limit = -1;
    for (int64_t offset : {int64_t{1}, count, std::numeric_limits<int64_t>::max()}) {
      test.offset = offset;
      CheckOnce(test, order);
    }
  }

  void CheckOnce(const ColumnSortCase& test, const std::vector<int64_t>& order) {
    if (!RunsNextCase()) return;
    SCOPED_TRACE(::testing::Message() << "n=" << order.size() << " algorithm=" << SortAlgorithmName(test.algorithm)
                                      << " limit=" << test.limit << " offset=" << test.offset
                                      << " columns=" << test.want_columns);
    const Outcome outcome = harness().SortColumns(test);
    const std::vector<int64_t> wanted = FirstOfOrder(order, test.limit, test.segment_offsets, test.offset);
    EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kNone);
    EXPECT_NE(outcome.report.sort_algorithm, SortAlgorithm::kAuto);
    EXPECT_TRUE(outcome.outputs[0] == Gather(test.values, test.value_bytes, wanted)) << "values";
    if (test.want_indices) {
      EXPECT_TRUE(outcome.outputs[1] == IndexArray(wanted, 4)) << "indices";
    }
    if (test.want_ranks) {
      EXPECT_TRUE(outcome.outputs.back() == IndexArray(DenseRowRanks(test.columns), 4)) << "ranks";
    }
    if (!test.want_columns) return;
    size_t output = 2;
    for (size_t i = 0; i < test.columns.size(); ++i) {
      const TestColumn expected = TakeRows(test.columns[i], wanted);
      Bytes data = outcome.outputs[output++];
      if (expected.kind == ColumnKind::kStrings) {
        EXPECT_TRUE(outcome.outputs[output++] == IndexArray(expected.offsets, 8)) << "offsets of column " << i;
        // The output has room for all strings. A limit leaves the rest unused.
        ASSERT_GE(data.size(), expected.data.size());
        data.resize(expected.data.size());
      }
      EXPECT_TRUE(data == expected.data) << "column " << i;
      if (test.columns[i].valid.empty()) continue;
      EXPECT_TRUE(outcome.outputs[output++] == Bitmap(expected.valid)) << "validity of column " << i;
    }
  }
};

inline TestColumn Numbers(KeyType type, Order order, Distribution distribution, int64_t rows, uint64_t seed) {
  return NumberColumn(type, order, MakeKeys(type, distribution, rows, seed));
}

// Rows with few distinct values, so that many are equal: byte strings with bytes 0 to `kinds` - 1 after a common
// beginning.
inline Bytes FewBytes(int64_t rows, int row_bytes, int common, int64_t kinds, uint64_t seed) {
  Random random(seed);
  Bytes bytes;
  for (int64_t row = 0; row < rows; ++row) {
    for (int i = 0; i < row_bytes; ++i) {
      bytes.push_back(i < common ? static_cast<uint8_t>(200 + i % 50) : static_cast<uint8_t>(random.Below(kinds)));
    }
  }
  return bytes;
}

// Strings of 0 to `longest` bytes 0 and 1 after `prefix`, which is sometimes cut short: prefixes of each other,
// embedded zero bytes, duplicates.
inline std::vector<std::string> FewStrings(int64_t rows, int64_t longest, const std::string& prefix, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> strings;
  for (int64_t row = 0; row < rows; ++row) {
    std::string string = random.OneIn(20) ? prefix.substr(0, static_cast<size_t>(random.Below(20))) : prefix;
    const int64_t length = random.Below(longest + 1);
    for (int64_t i = 0; i < length; ++i) string.push_back(static_cast<char>(random.Below(2)));
    strings.push_back(string);
  }
  return strings;
}

// Tables of floats and strings with nulls, for each place of the nulls and NaNs.
inline std::vector<std::vector<TestColumn>> TablesWithNulls(int64_t rows) {
  std::vector<std::vector<TestColumn>> tables;
  for (NullOrder nulls : kNullOrders) {
    for (NanOrder nans : kNanOrders) {
      TestColumn floats = Numbers(KeyType::kFloat32, kDescending, Distribution::kSpecialFloats, rows, 4);
      TestColumn strings = StringColumn(kAscending, FewStrings(rows, 6, "prefix", 5));
      Random random(6);
      for (int64_t row = 0; row < rows; ++row) {
        floats.valid.push_back(!random.OneIn(3));
        strings.valid.push_back(!random.OneIn(4));
      }
      floats.nulls = strings.nulls = nulls;
      floats.nans = nans;
      tables.push_back({floats, strings});
    }
  }
  return tables;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_ENGINE_COLUMNS_CHECK_H_
