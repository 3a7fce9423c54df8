// Sort by key columns of rows that come in sorted runs, compared with a stable sort of all rows.
#include <algorithm>
#include <numeric>

#include "tests/engine/columns_check.h"

namespace corank::testing {
namespace {

// Few runs, the most that the CPU engine merges, one group of the CUDA kernels and two of them, and the most runs.
constexpr int64_t kRunCounts[] = {1, 2, 3, 5, 8, 9, 32, 33, 65, 1024};
// Sizes around the pieces of the kernels' work.
constexpr int64_t kRowCounts[] = {0, 1, 2, 3, 257, 1025, 4097, 20011};

class MergeColumns : public OnColumns {
 protected:
  // Cuts rows into runs of random lengths, some of them empty, and sorts each.
  static ColumnSortCase CaseOf(const std::vector<TestColumn>& columns, int64_t runs, uint64_t seed) {
    const int64_t rows = columns.front().rows();
    Random random(seed);
    ColumnSortCase test;
    test.run_offsets = {0, rows};
    while (static_cast<int64_t>(test.run_offsets.size()) <= runs) test.run_offsets.push_back(random.Below(rows + 1));
    std::sort(test.run_offsets.begin(), test.run_offsets.end());
    test.columns = WithSortedRuns(columns, test.run_offsets);
    test.value_bytes = rows % 2 == 0 ? 4 : 3;
    test.values = MakeBytes(rows * test.value_bytes, 9);
    return test;
  }

  void CheckRuns(const std::vector<TestColumn>& columns) {
    for (int64_t runs : kRunCounts) {
      SCOPED_TRACE(::testing::Message() << "runs=" << runs);
      ColumnSortCase test = CaseOf(columns, runs, static_cast<uint64_t>(runs) + 1);
      const std::vector<int64_t> order = StableRowOrder(test.columns);
      CheckOnce(test, order);
      test.want_columns = false;
      test.want_indices = test.want_ranks = true;
      CheckOnce(test, order);
      test.want_ranks = false;
      test.want_columns = true;
      for (int64_t limit : {int64_t{0}, int64_t{1}, columns.front().rows() / 3}) {
        test.limit = limit;
        CheckOnce(test, order);
      }
    }
  }

  void ExpectUnsorted(const ColumnSortCase& test, int32_t run, int64_t index) {
    if (!RunsNextCase()) return;
    const OperatorReport report = harness().SortColumns(test).report;
    EXPECT_EQ(report.fault, OperatorReport::Fault::kUnsorted);
    EXPECT_EQ(report.input, run);
    EXPECT_EQ(report.index, index);
  }
};

TestColumn Counting(std::vector<int64_t> numbers, Order order = kAscending) {
  return NumberColumn(KeyType::kInt64, order, IndexArray(numbers, 8));
}

TEST_F(MergeColumns, MergesNumbersOfEveryCount) {
  for (int64_t rows : kRowCounts) {
    CheckRuns({Numbers(KeyType::kInt16, kDescending, Distribution::kSixteenDistinct, rows, 1),
               Numbers(KeyType::kFloat64, kAscending, Distribution::kSpecialFloats, rows, 2),
               Numbers(KeyType::kUint64, kDescending, Distribution::kSixteenDistinct, rows, 3)});
  }
}

TEST_F(MergeColumns, MergesRowsOfAtMostEightBytes) {
  for (int64_t rows : kRowCounts) {
    CheckRuns({Numbers(KeyType::kInt32, kAscending, Distribution::kSixteenDistinct, rows, 1),
               Numbers(KeyType::kFloat32, kDescending, Distribution::kSpecialFloats, rows, 2)});
    CheckRuns({Numbers(KeyType::kUint8, kDescending, Distribution::kUniform, rows, 3)});
  }
}

TEST_F(MergeColumns, MergesStringsWhoseFirstBytesTie) {
  for (size_t common : {0, 8, 64, 600}) {
    CheckRuns({StringColumn(kBothOrders[common % 3 % 2], FewStrings(2000, 12, std::string(common, 'p'), common + 1)),
               Numbers(KeyType::kUint8, kDescending, Distribution::kSixteenDistinct, 2000, 5)});
  }
  CheckRuns({BytesColumn(40, kDescending, FewBytes(3001, 40, 36, 2, 7))});
}

TEST_F(MergeColumns, MergesNullsAndNans) {
  for (const std::vector<TestColumn>& columns : TablesWithNulls(1500)) CheckRuns(columns);
}

TEST_F(MergeColumns, TakesEqualRowsFromEarlierRuns) {
  for (int64_t rows : kRowCounts) {
    CheckRuns({StringColumn(kDescending, std::vector<std::string>(static_cast<size_t>(rows), std::string(40, 'e')))});
    CheckRuns({Numbers(KeyType::kFloat64, kDescending, Distribution::kAllEqual, rows, 2)});
  }
}

TEST_F(MergeColumns, MergesManyRows) {
  const int64_t rows = (int64_t{1} << 19) + 2;
  const TestColumn few = Numbers(KeyType::kInt32, kAscending, Distribution::kSixteenDistinct, rows, 1);
  for (const KeyType type : {KeyType::kUint32, KeyType::kUint64}) {  // rows of 8 and of 12 bytes
    for (int64_t runs : {2, 7, 40}) {
      ColumnSortCase test = CaseOf({few, Numbers(type, kDescending, Distribution::kUniform, rows, 2)}, runs, 3);
      test.want_indices = test.want_ranks = true;
      CheckOnce(test, StableRowOrder(test.columns));
    }
  }
}

TEST_F(MergeColumns, NamesTheFirstRowThatIsOutOfOrder) {
  ColumnSortCase test;
  test.want_indices = true;
  test.run_offsets = {0, 3, 3, 8};
  test.columns = {Counting({5, 6, 7, 1, 1, 4, 3, 2})};
  ExpectUnsorted(test, 2, 3);
  test.limit = 0;
  ExpectUnsorted(test, 2, 3);
  test.limit = -1;
  test.columns = {Counting({1, 1, 1, 1, 1, 1, 1, 1}), Counting({9, 8, 8, 3, 3, 2, 1, 1}, kDescending)};
  CheckOnce(test, StableRowOrder(test.columns));
  test.columns[1].order = kAscending;
  ExpectUnsorted(test, 0, 1);
  // Only the last bytes are out of order, behind more than 64 bits that differ.
  const std::string common(100, 'c'), zeros(8, '\0'), ones(8, '\xFF');
  std::vector<std::string> strings;
  for (const char* end : {"0", "a", "b"}) strings.push_back(common + zeros + end);
  for (const char* end : {"0", "a", "a"}) strings.push_back(common + ones + end);
  for (const char* end : {"b", "a0"}) strings.push_back(common + zeros + end);
  test.columns = {StringColumn(kAscending, strings)};
  test.run_offsets = {0, 3, 6, 8};
  ExpectUnsorted(test, 2, 1);
  std::reverse(strings.begin(), strings.end());
  test.columns = {StringColumn(kDescending, strings)};
  test.run_offsets = {0, 2, 5, 8};
  ExpectUnsorted(test, 0, 1);
}

TEST_F(MergeColumns, NamesTheFirstOfManyFaults) {
  for (const int64_t rows : {int64_t{20011}, (int64_t{1} << 19) + 2}) {
    SCOPED_TRACE(::testing::Message() << "rows=" << rows);
    std::vector<int64_t> numbers(static_cast<size_t>(rows));
    std::iota(numbers.begin(), numbers.end(), 0);
    ColumnSortCase test;
    test.want_indices = true;
    for (int64_t run = 0; run <= 1000; ++run) test.run_offsets.push_back(run * 20);
    test.run_offsets.push_back(rows);
    for (size_t at = 20010; at > 9000; at -= 501) std::swap(numbers[at], numbers[at - 1]);
    const int64_t first = std::is_sorted_until(numbers.begin(), numbers.end()) - numbers.begin();
    test.columns = {Counting(numbers)};
    ExpectUnsorted(test, static_cast<int32_t>(first / 20), first % 20);
    test.columns.push_back(BytesColumn(9, kAscending, FewBytes(rows, 9, 9, 1, 1)));
    ExpectUnsorted(test, static_cast<int32_t>(first / 20), first % 20);
  }
}

}  // namespace
}  // namespace corank::testing
