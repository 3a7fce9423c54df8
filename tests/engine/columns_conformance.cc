// Sort by several key columns: every kind, order and algorithm, compared with std::stable_sort of whole rows.
#include <algorithm>

#include "tests/engine/columns_check.h"

namespace corank::testing {
namespace {

// Sizes around the pieces of the kernels' work.
constexpr int64_t kRowCounts[] = {0, 1, 2, 1023, 1024, 1025, 2049, 4097, 70001};

class SortColumns : public OnColumns {};

TEST_F(SortColumns, OrdersNumbersOfEveryTypeByTheFirstColumnThatDiffers) {
  uint64_t seed = 1;
  for (int64_t count : kRowCounts) {
    for (KeyType type : kAllKeyTypes) {
      if (count > 5000 && KeyBytes(type) != 4) continue;
      ++seed;
      Check({NumberColumn(KeyType::kUint8, kBothOrders[seed % 2],
                          MakeKeys(KeyType::kUint8, Distribution::kSixteenDistinct, count, seed)),
             NumberColumn(type, kBothOrders[seed / 2 % 2], MakeKeys(type, Distribution::kSpecialFloats, count, seed)),
             NumberColumn(KeyType::kInt64, kBothOrders[seed / 4 % 2],
                          MakeKeys(KeyType::kInt64, Distribution::kSixteenDistinct, count, seed + 1)),
             NumberColumn(KeyType::kFloat16, kDescending,
                          MakeKeys(KeyType::kFloat16, Distribution::kSpecialFloats, count, seed))});
    }
  }
}

TEST_F(SortColumns, OneColumnIsSort) {
  for (KeyType type : kAllKeyTypes) {
    for (Order order : kBothOrders) Check({NumberColumn(type, order, MakeKeys(type, Distribution::kZipf, 3000, 3))});
  }
}

TEST_F(SortColumns, OrdersRowsOfAtMostEightBytes) {
  const auto columns = [](int64_t count, KeyType first, KeyType second) -> std::vector<TestColumn> {
    return {NumberColumn(first, kDescending, MakeKeys(first, Distribution::kSixteenDistinct, count, 4)),
            NumberColumn(second, kAscending, MakeKeys(second, Distribution::kSpecialFloats, count, 5))};
  };
  for (int64_t count : kRowCounts) {
    Check(columns(count, KeyType::kUint32, KeyType::kFloat32));
    Check(columns(count, KeyType::kInt16, KeyType::kUint16));
    Check(columns(count, KeyType::kInt8, KeyType::kUint32));
  }
  // Enough rows that AUTO uses the sort for long arrays on every engine.
  ColumnSortCase test;
  test.columns = columns((int64_t{1} << 19) + 2, KeyType::kInt32, KeyType::kUint32);
  test.want_indices = test.want_ranks = true;
  CheckOnce(test, StableRowOrder(test.columns));
}

TEST_F(SortColumns, OrdersByteStringsOfEveryWidth) {
  for (int width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 64, 100, 255, 256}) {
    // Differences at the front, only in the last two bytes, and none at all.
    for (int common : {0, width - 2, width}) {
      const Order order = kBothOrders[width % 2];
      Check({BytesColumn(width, order, FewBytes(3001, width, std::max(common, 0), 2, 7))});
    }
  }
}

TEST_F(SortColumns, OrdersByteStringsOfManyTiles) {
  for (int64_t count : kRowCounts) {
    Check({BytesColumn(16, kDescending, FewBytes(count, 16, 0, 256, 1))});
    Check({BytesColumn(23, kAscending, FewBytes(count, 23, 9, 2, 2)),
           NumberColumn(KeyType::kUint32, kDescending,
                        MakeKeys(KeyType::kUint32, Distribution::kSixteenDistinct, count, 3)),
           BytesColumn(3, kDescending, FewBytes(count, 3, 0, 2, 4))});
  }
}

TEST_F(SortColumns, BytesAreUnsigned) {
  Check({BytesColumn(2, kAscending, {0x80, 0, 0x7F, 0xFF, 0xFF, 0, 0, 0xFF})});
  Check({StringColumn(kAscending, {"\x80", "\x7F\xFF", "\xFF", std::string("\0\xFF", 2)})});
}

TEST_F(SortColumns, OrdersStringsWithPrefixesFirst) {
  const std::string zeros(9, '\0');
  Check({StringColumn(kAscending, {"b", "", "a", zeros, "ab", "a", zeros.substr(1), "", "abcdefgh", "abcdefghi",
                                   std::string("a\0", 2), std::string("abcdefgh\0", 9), "abc"})});
  Check({StringColumn(kDescending, {"b", "", "a", zeros, "ab", "a", zeros.substr(1), "", "abcdefgh", "abcdefghi",
                                    std::string("a\0", 2), std::string("abcdefgh\0", 9), "abc"})});
}

TEST_F(SortColumns, OrdersStringsWithLongCommonBeginnings) {
  for (size_t common : {0, 5, 8, 64, 256, 600}) {
    for (int64_t longest : {3, 12, 40}) {
      const Order order = kBothOrders[common % 2];
      const std::string prefix(common, common == 64 ? '\0' : 'p');
      Check({StringColumn(order, FewStrings(5000, longest, prefix, common + 1))});
    }
  }
}

TEST_F(SortColumns, OrdersStringsAmongOtherColumns) {
  for (int64_t count : kRowCounts) {
    Check({StringColumn(kAscending, FewStrings(count, 3, "abcdefghij", 1)),
           NumberColumn(KeyType::kInt16, kDescending,
                        MakeKeys(KeyType::kInt16, Distribution::kSixteenDistinct, count, 2)),
           StringColumn(kDescending, FewStrings(count, 20, "", 3))});
    Check({NumberColumn(KeyType::kUint8, kDescending,
                        MakeKeys(KeyType::kUint8, Distribution::kSixteenDistinct, count, 4)),
           StringColumn(kDescending, FewStrings(count, 12, "", 5)),
           BytesColumn(5, kAscending, FewBytes(count, 5, 1, 2, 6))});
  }
}

TEST_F(SortColumns, KeepsEqualRowsInInputOrder) {
  for (int64_t count : kRowCounts) {
    const auto rows = static_cast<size_t>(count);
    Check({StringColumn(kAscending, std::vector<std::string>(rows))});
    Check(
        {StringColumn(kDescending, std::vector<std::string>(rows, std::string(40, 'e'))),
         BytesColumn(20, kDescending, FewBytes(count, 20, 20, 1, 1)),
         NumberColumn(KeyType::kFloat64, kDescending, MakeKeys(KeyType::kFloat64, Distribution::kAllEqual, count, 2))});
  }
}

// An engine may judge rows by a sample of them, such as every ninth. A few rows are not as the others.
TEST_F(SortColumns, OrdersFewRowsThatAreNotAsTheOthers) {
  constexpr int64_t kRows = 40000;
  const auto is_other = [](int64_t row) { return row == 1009 || row == 20011 || row == 39989; };  // primes
  const std::string prefix = "sixteen bytes or";
  for (const std::string& other :
       {std::string(), prefix + "aaa", prefix + std::string(3, '\0'), prefix + std::string(200, 'b'), "s" + prefix,
        std::string("\xFF") + prefix, prefix.substr(0, 9) + "B" + prefix.substr(10) + "aa"}) {
    std::vector<std::string> strings;
    for (int64_t row = 0; row < kRows; ++row) {
      strings.push_back(is_other(row) ? other : prefix + (row % 7 < 3 ? "aa" : "ab"));
    }
    Check({StringColumn(kBothOrders[other.size() % 2], strings)});
    Check({NumberColumn(KeyType::kUint8, kDescending, MakeKeys(KeyType::kUint8, Distribution::kAllEqual, kRows, 1)),
           StringColumn(kBothOrders[other.size() / 2 % 2], strings)});
  }
  for (const uint64_t other : {uint64_t{1} << 63, uint64_t{1} << 40, uint64_t{0}}) {
    Bytes numbers;
    for (int64_t row = 0; row < kRows; ++row) {
      const uint64_t number = is_other(row) ? other : 1000 + row % 5;
      for (int byte = 0; byte < 8; ++byte) numbers.push_back(static_cast<uint8_t>(number >> (8 * byte)));
    }
    Check({NumberColumn(KeyType::kUint64, kAscending, numbers), BytesColumn(3, kAscending, FewBytes(kRows, 3, 0, 2, 1)),
           NumberColumn(KeyType::kFloat64, kDescending, numbers)});
  }
}

TEST_F(SortColumns, MovesOneLongStringAndManyShortOnes) {
  std::vector<std::string> strings = FewStrings(3000, 4, "", 8);
  strings[1500] = std::string(300000, '\1') + "end";
  strings[20] = std::string(300000, '\1');
  Check({StringColumn(kAscending, strings)});
  Check({StringColumn(kDescending, strings)});
}

TEST_F(SortColumns, TakesAsManyColumnsAsTheLimitAllows) {
  for (int count : {16, 17, kMaxKeyColumns}) {
    std::vector<TestColumn> columns, last_columns;
    for (int i = 0; i < count; ++i) {
      const auto seed = static_cast<uint64_t>(i);
      columns.push_back(BytesColumn(2, kBothOrders[i % 2], FewBytes(2000, 2, 1, 2, seed)));
      // Rows differ in few columns, numbers of every type, so that the last ones decide.
      const KeyType type = kAllKeyTypes[static_cast<size_t>(i) % std::size(kAllKeyTypes)];
      const Distribution keys = i % 8 == 0 || i + 2 >= count ? Distribution::kSixteenDistinct : Distribution::kAllEqual;
      last_columns.push_back(NumberColumn(type, kBothOrders[i / 2 % 2], MakeKeys(type, keys, 20011, seed)));
    }
    Check(columns);
    Check(last_columns);
  }
}

}  // namespace
}  // namespace corank::testing
