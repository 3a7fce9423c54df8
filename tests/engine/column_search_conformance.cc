// Search by key columns, compared with std::lower_bound and std::upper_bound on the ranks that the rows of both tables
// have in a stable sort of all of them.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/columns_check.h"

namespace corank::testing {
namespace {

// Sizes around the pivots and the needles of a block.
constexpr int64_t kRowCounts[] = {0, 1, 2, 3, 1023, 1024, 1025, 2049, 20011};

std::vector<TestColumn> FirstRows(const std::vector<TestColumn>& columns, int64_t begin, int64_t end) {
  std::vector<int64_t> rows;
  for (int64_t row = begin; row < end; ++row) rows.push_back(row);
  std::vector<TestColumn> taken;
  for (const TestColumn& column : columns) taken.push_back(TakeRows(column, rows));
  return taken;
}

class SearchColumns : public OnColumns {
 protected:
  // Searches the sorted haystack for the needles, which have the same columns.
  void CheckTables(std::vector<TestColumn> haystack, std::vector<TestColumn> needles) {
    const int64_t haystack_rows = haystack.front().rows();
    haystack = WithSortedRuns(haystack, {0, haystack_rows});
    std::vector<TestColumn> all;
    for (size_t i = 0; i < haystack.size(); ++i) all.push_back(Concatenated(haystack[i], needles[i]));
    const std::vector<int64_t> ranks = DenseRowRanks(all);
    const auto begin = ranks.begin(), end = begin + haystack_rows;
    ColumnSearchCase test;
    test.haystack = std::move(haystack);
    test.needles = std::move(needles);
    for (SearchBound bound : {SearchBound::kLower, SearchBound::kUpper}) {
      if (!RunsNextCase()) continue;
      SCOPED_TRACE(::testing::Message() << "haystack=" << haystack_rows << " needles=" << test.needles.front().rows()
                                        << " upper=" << (bound == SearchBound::kUpper));
      std::vector<int64_t> expected;
      for (auto rank = end; rank != ranks.end(); ++rank) {
        expected.push_back(
            (bound == SearchBound::kLower ? std::lower_bound(begin, end, *rank) : std::upper_bound(begin, end, *rank)) -
            begin);
      }
      test.bound = bound;
      const Outcome outcome = harness().SearchColumns(test);
      EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kNone);
      EXPECT_TRUE(outcome.outputs[0] == IndexArray(expected, 4));
    }
  }

  // The first rows are the haystack.
  void CheckSplit(const std::vector<TestColumn>& columns, int64_t haystack_rows) {
    CheckTables(FirstRows(columns, 0, haystack_rows), FirstRows(columns, haystack_rows, columns.front().rows()));
  }

  void ExpectUnsorted(std::vector<TestColumn> haystack, int64_t index) {
    ColumnSearchCase test;
    test.needles = haystack;
    test.haystack = std::move(haystack);
    const OperatorReport report = harness().SearchColumns(test).report;
    EXPECT_EQ(report.fault, OperatorReport::Fault::kUnsorted);
    EXPECT_EQ(report.input, 0);
    EXPECT_EQ(report.index, index);
  }
};

TestColumn WithNulls(TestColumn column, int64_t rarity, uint64_t seed) {
  Random random(seed);
  column.valid.clear();
  for (int64_t row = column.rows(); row > 0; --row) column.valid.push_back(!random.OneIn(rarity));
  return column;
}

TEST_F(SearchColumns, FindsNumbersOfEveryCount) {
  for (int64_t haystack : kRowCounts) {
    for (int64_t needles : {0, 1, 2047, 2049}) {
      const int64_t rows = haystack + needles;
      CheckSplit({Numbers(KeyType::kInt16, kDescending, Distribution::kSixteenDistinct, rows, 1),
                  Numbers(KeyType::kFloat64, kAscending, Distribution::kSpecialFloats, rows, 2),
                  Numbers(KeyType::kUint64, kDescending, Distribution::kSixteenDistinct, rows, 3)},
                 haystack);
    }
  }
}

TEST_F(SearchColumns, FindsNumbersOfEveryType) {
  uint64_t seed = 10;
  for (KeyType type : kAllKeyTypes) {
    for (Order order : kBothOrders) {
      for (Distribution distribution : {Distribution::kUniform, Distribution::kZipf, Distribution::kSpecialFloats}) {
        ++seed;
        CheckSplit({Numbers(KeyType::kUint8, order, Distribution::kSixteenDistinct, 3000, seed),
                    Numbers(type, order, distribution, 3000, seed + 100)},
                   1500);
      }
    }
  }
}

TEST_F(SearchColumns, FindsStringsWhoseFirstBytesTie) {
  for (size_t common : {0, 8, 64, 600}) {
    CheckSplit({StringColumn(kBothOrders[common % 3 % 2], FewStrings(3000, 12, std::string(common, 'p'), common + 1)),
                Numbers(KeyType::kUint8, kDescending, Distribution::kSixteenDistinct, 3000, 5)},
               1300);
  }
  CheckSplit({BytesColumn(40, kDescending, FewBytes(3001, 40, 36, 2, 7))}, 1999);
  CheckSplit({BytesColumn(3, kAscending, FewBytes(3001, 3, 0, 4, 8))}, 1025);
}

TEST_F(SearchColumns, FindsNullsAndNansAtTheirEnds) {
  for (NullOrder nulls : kNullOrders) {
    for (NanOrder nans : kNanOrders) {
      for (Order order : kBothOrders) {
        TestColumn floats = Numbers(KeyType::kFloat32, order, Distribution::kSpecialFloats, 3000, 4);
        TestColumn strings = StringColumn(kAscending, FewStrings(3000, 6, "prefix", 5));
        floats.nulls = strings.nulls = nulls;
        floats.nans = nans;
        CheckSplit({floats, strings}, 1500);
        CheckSplit({WithNulls(floats, 3, 6), WithNulls(strings, 4, 7)}, 1500);
      }
    }
  }
}

TEST_F(SearchColumns, EitherTableMayHaveAValidity) {
  for (NullOrder nulls : kNullOrders) {
    TestColumn number = Numbers(KeyType::kInt32, kDescending, Distribution::kSixteenDistinct, 1300, 4);
    TestColumn string = StringColumn(kAscending, FewStrings(1300, 3, "", 5));
    number.nulls = string.nulls = nulls;
    const std::vector<TestColumn> without = {number, string};
    const std::vector<TestColumn> with = {WithNulls(number, 3, 6), WithNulls(string, 5, 7)};
    CheckTables(without, with);
    CheckTables(with, without);
    CheckTables({number, with[1]}, {with[0], string});
  }
}

TEST_F(SearchColumns, TellsNullStringsFromEmptyOnes) {
  TestColumn strings = StringColumn(kAscending, {"", "", "a", "", "b", "", "a", ""});
  strings.valid = {true, false, true, true, false, false, true, true};
  for (NullOrder nulls : {NullOrder::kFirst, NullOrder::kLast}) {
    strings.nulls = nulls;
    CheckSplit({strings}, 4);
  }
}

TEST_F(SearchColumns, TakesAsManyColumnsAsTheLimitAllows) {
  std::vector<TestColumn> columns;
  for (uint64_t i = 0; i < kMaxKeyColumns; ++i) {
    columns.push_back(i % 3 == 2 ? StringColumn(kBothOrders[i % 2], FewStrings(1200, 1, "", i))
                                 : Numbers(KeyType::kUint16, kBothOrders[i % 2], Distribution::kAllEqual, 1200, 1));
    if (i % 5 == 0) columns.back() = WithNulls(columns.back(), 2, i);
  }
  CheckSplit(columns, 700);
}

TEST_F(SearchColumns, FindsRowsThatAllEqualTheNeedle) {
  for (int64_t haystack : kRowCounts) {
    CheckSplit(
        {StringColumn(kDescending, std::vector<std::string>(static_cast<size_t>(haystack) + 5, std::string(40, 'e')))},
        haystack);
  }
}

TEST_F(SearchColumns, FindsManyRows) {
  const int64_t rows = (int64_t{1} << 19) + 2;
  CheckSplit({Numbers(KeyType::kInt64, kAscending, Distribution::kSixteenDistinct, rows, 1),
              Numbers(KeyType::kUint32, kDescending, Distribution::kUniform, rows, 2)},
             rows / 2);
}

// Around the rows whose first bytes a GPU writes down, and the rows for each needle.
TEST_F(SearchColumns, FindsAboutAsManyRowsAsAreWrittenDown) {
  const int64_t most = int64_t{1} << 19;
  for (const auto& [haystack, needles] : {std::pair{most, most / 4}, {most + 1, most}, {most, most / 4 - 1}}) {
    CheckSplit({Numbers(KeyType::kUint32, kAscending, Distribution::kSixteenDistinct, haystack + needles, 1),
                Numbers(KeyType::kUint32, kDescending, Distribution::kUniform, haystack + needles, 2)},
               haystack);
  }
}

TEST_F(SearchColumns, NamesTheFirstRowThatIsOutOfOrder) {
  const TestColumn first = NumberColumn(KeyType::kInt64, kAscending, IndexArray({1, 1, 1, 1, 2, 2, 0, 0}, 8));
  TestColumn second = NumberColumn(KeyType::kInt64, kDescending, IndexArray({9, 8, 8, 3, 7, 6, 5, 6}, 8));
  ExpectUnsorted({first, second}, 6);
  ExpectUnsorted({second, first}, 4);
  second.order = kAscending;
  ExpectUnsorted({first, second}, 1);
  TestColumn nulls = second;
  nulls.valid = {true, true, true, false, false, true, false, false};
  ExpectUnsorted({nulls}, 1);
  nulls.order = kDescending;
  ExpectUnsorted({nulls}, 5);
  const std::string common(100, 'c');
  ExpectUnsorted({StringColumn(kAscending, {common, common + "a", common + "b", common + "ab"})}, 3);
}

TEST_F(SearchColumns, NamesTheFirstOfManyFaults) {
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < 300007; ++row) numbers.push_back(row / 3);
  for (size_t at = 300006; at > 90000; at -= 5001) std::swap(numbers[at], numbers[at - 3]);
  const int64_t index = std::is_sorted_until(numbers.begin(), numbers.end()) - numbers.begin();
  ExpectUnsorted({NumberColumn(KeyType::kInt64, kAscending, IndexArray(numbers, 8))}, index);
}

TEST_F(SearchColumns, UnsortedHaystackThatIsNotCheckedGivesPositionsInRange) {
  ColumnSearchCase test;
  test.check_sorted = false;
  test.haystack = {Numbers(KeyType::kFloat32, kAscending, Distribution::kUniform, 10007, 5)};
  test.needles = {Numbers(KeyType::kFloat32, kAscending, Distribution::kUniform, 2000, 6)};
  const Outcome outcome = harness().SearchColumns(test);
  EXPECT_EQ(outcome.report.fault, OperatorReport::Fault::kNone);
  for (size_t i = 0; i < outcome.outputs[0].size(); i += 4) {
    uint32_t position;
    std::memcpy(&position, &outcome.outputs[0][i], 4);
    EXPECT_LE(position, 10007U);
  }
}

}  // namespace
}  // namespace corank::testing
