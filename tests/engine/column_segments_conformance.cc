// Sort by key columns of the segments of a table, compared with a stable sort of each.
#include <algorithm>

#include "tests/engine/columns_check.h"

namespace corank::testing {
namespace {

// Sizes around the pieces of the kernels' work.
constexpr int64_t kRowCounts[] = {0, 1, 2, 255, 256, 257, 1025, 4097, 20011};
constexpr int64_t kLongestSegments[] = {1, 3, 200, 30000};

class SortColumnSegments : public OnColumns {
 protected:
  void CheckSegments(const std::vector<TestColumn>& columns) {
    const int64_t rows = columns.front().rows();
    ColumnSortCase test;
    test.columns = columns;
    test.value_bytes = rows % 2 == 0 ? 4 : 3;
    test.values = MakeBytes(rows * test.value_bytes, 9);
    for (int64_t longest : kLongestSegments) {
      SCOPED_TRACE(::testing::Message() << "longest=" << longest);
      test.segment_offsets = CutSegments(rows, longest, static_cast<uint64_t>(longest) + 1);
      const std::vector<int64_t> order = StableRowOrder(columns, test.segment_offsets);
      for (SortAlgorithm algorithm : kSortAlgorithms) {
        test.algorithm = algorithm;
        test.want_indices = algorithm == SortAlgorithm::kMergesort;
        CheckOnce(test, order);
      }
      test.algorithm = SortAlgorithm::kAuto;
      for (int64_t limit : {int64_t{0}, int64_t{1}, longest / 3, longest, rows}) {
        test.limit = limit;
        test.want_indices = limit % 2 == 0;
        CheckOnce(test, order);
      }
      test.limit = -1;
      test.want_columns = false;
      test.want_indices = true;
      CheckOnce(test, order);
      test.want_columns = true;
    }
  }
};

TEST_F(SortColumnSegments, SortsEachSegmentOfNumbers) {
  for (int64_t rows : kRowCounts) {
    CheckSegments({Numbers(KeyType::kInt16, kDescending, Distribution::kSixteenDistinct, rows, 1),
                   Numbers(KeyType::kFloat64, kAscending, Distribution::kSpecialFloats, rows, 2),
                   Numbers(KeyType::kUint64, kDescending, Distribution::kSixteenDistinct, rows, 3)});
  }
}

TEST_F(SortColumnSegments, SortsRowsThatHaveAtMostEightBytesWithTheirSegment) {
  for (int64_t rows : kRowCounts) {
    CheckSegments({Numbers(KeyType::kFloat32, kDescending, Distribution::kSpecialFloats, rows, 1)});
    CheckSegments({Numbers(KeyType::kInt8, kAscending, Distribution::kUniform, rows, 2),
                   Numbers(KeyType::kUint8, kDescending, Distribution::kUniform, rows, 3)});
  }
}

TEST_F(SortColumnSegments, SortsEachSegmentOfStringsAndRecords) {
  for (int64_t rows : kRowCounts) {
    CheckSegments({StringColumn(kDescending, FewStrings(rows, 12, "a common beginning", 1)),
                   BytesColumn(11, kAscending, FewBytes(rows, 11, 8, 2, 2))});
  }
}

TEST_F(SortColumnSegments, PlacesNullsAndNansInEachSegment) {
  for (const std::vector<TestColumn>& columns : TablesWithNulls(1501)) CheckSegments(columns);
}

TEST_F(SortColumnSegments, KeepsEqualRowsInInputOrder) {
  for (int64_t rows : kRowCounts) {
    CheckSegments({StringColumn(kDescending, std::vector<std::string>(static_cast<size_t>(rows), "the same string"))});
    CheckSegments({Numbers(KeyType::kFloat64, kDescending, Distribution::kAllEqual, rows, 2)});
  }
}

TEST_F(SortColumnSegments, OneSegmentIsAllRows) {
  ColumnSortCase test;
  test.columns = {StringColumn(kAscending, FewStrings(3000, 9, "", 1)),
                  Numbers(KeyType::kInt64, kDescending, Distribution::kUniform, 3000, 2)};
  test.segment_offsets = {0, 3000};
  test.want_indices = true;
  for (int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{17}, int64_t{2999}, int64_t{3000}}) {
    test.limit = limit;
    CheckOnce(test, StableRowOrder(test.columns));
  }
}

TEST_F(SortColumnSegments, TakesAsManyColumnsAsASortWithoutSegments) {
  std::vector<TestColumn> columns;
  for (int i = 0; i < kMaxKeyColumns; ++i) {
    // Only the last columns differ within a segment.
    const Distribution keys = i + 2 >= kMaxKeyColumns ? Distribution::kSixteenDistinct : Distribution::kAllEqual;
    columns.push_back(Numbers(KeyType::kInt32, kBothOrders[i % 2], keys, 4001, static_cast<uint64_t>(i)));
  }
  CheckSegments(columns);
}

TEST_F(SortColumnSegments, SortsManyRows) {
  // Enough rows that AUTO uses the sort for long arrays on every engine.
  const int64_t rows = (int64_t{1} << 19) + 2;
  ColumnSortCase test;
  test.want_indices = true;
  test.columns = {Numbers(KeyType::kInt32, kDescending, Distribution::kUniform, rows, 1)};
  for (int64_t longest : {int64_t{5}, int64_t{100000}}) {
    test.segment_offsets = CutSegments(rows, longest, 7);
    test.limit = -1;
    CheckOnce(test, StableRowOrder(test.columns, test.segment_offsets));
    test.limit = 4;
    CheckOnce(test, StableRowOrder(test.columns, test.segment_offsets));
    test.columns.push_back(Numbers(KeyType::kUint64, kAscending, Distribution::kSixteenDistinct, rows, 2));
  }
}

}  // namespace
}  // namespace corank::testing
