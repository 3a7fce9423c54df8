// Sort by key columns with nulls and NaNs that lie beside them: every kind, order and place, compared with a stable
// sort of the values and the nulls apart. The rows of nulls hold data that would change the order if they counted.
#include <algorithm>

#include "tests/engine/columns_check.h"

namespace corank::testing {
namespace {

// Sizes around a byte and a word of validity, a block of rows, and the pieces of the kernels' work.
constexpr int64_t kRowCounts[] = {0,  1,  2,   7,   8,   9,    31,   32,   33,   63,   64,
                                  65, 95, 255, 256, 257, 1023, 1024, 1025, 2049, 4097, 70001};

class SortColumnsWithNulls : public OnColumns {};

// Makes rows of a column null: one in `rarity`, all of them (1), or none (0).
TestColumn WithNulls(TestColumn column, int64_t rarity, NullOrder nulls = NullOrder::kLast,
                     NanOrder nans = NanOrder::kGreatest) {
  const int64_t rows = column.rows();
  Random random(static_cast<uint64_t>(rows) + 7);
  for (int64_t row = 0; row < rows; ++row) column.valid.push_back(rarity == 0 || !random.OneIn(rarity));
  column.nulls = nulls;
  column.nans = nans;
  return column;
}

TEST_F(SortColumnsWithNulls, LieAtTheirEndWhateverTheOrder) {
  for (KeyType type : kAllKeyTypes) {
    for (Order order : kBothOrders) {
      for (NullOrder nulls : kNullOrders) {
        for (NanOrder nans : kNanOrders) {
          Check({WithNulls(Numbers(type, order, Distribution::kSpecialFloats, 1500, 3), 3, nulls, nans)});
        }
      }
    }
  }
}

TEST_F(SortColumnsWithNulls, NansMoveWithoutAnyNull) {
  for (KeyType type : {KeyType::kFloat16, KeyType::kBfloat16, KeyType::kFloat32, KeyType::kFloat64}) {
    for (Order order : kBothOrders) {
      for (NullOrder nulls : kNullOrders) {
        for (NanOrder nans : kNanOrders) {
          TestColumn column = Numbers(type, order, Distribution::kSpecialFloats, 1100, 5);
          column.nulls = nulls;
          column.nans = nans;
          Check({column, Numbers(KeyType::kUint8, kDescending, Distribution::kZipf, 1100, 6)});
        }
      }
    }
  }
}

TEST_F(SortColumnsWithNulls, OrdersNumbersOfEveryCount) {
  uint64_t seed = 1;
  for (int64_t count : kRowCounts) {
    for (KeyType type : {KeyType::kInt8, KeyType::kUint32, KeyType::kFloat32, KeyType::kInt64, KeyType::kFloat64}) {
      ++seed;
      const Order order = kBothOrders[seed % 2], other = kBothOrders[seed / 2 % 2];
      const NullOrder nulls = kNullOrders[seed / 2 % 2], other_nulls = kNullOrders[seed / 4 % 2];
      const NanOrder nans = kNanOrders[seed % 3];
      Check({WithNulls(Numbers(KeyType::kUint8, other, Distribution::kSixteenDistinct, count, seed), 5, nulls),
             WithNulls(Numbers(type, order, Distribution::kSpecialFloats, count, seed), 3, other_nulls, nans),
             Numbers(KeyType::kInt64, kDescending, Distribution::kSixteenDistinct, count, seed + 1)});
    }
  }
}

TEST_F(SortColumnsWithNulls, OrdersRowsOfAtMostEightBytes) {
  for (int64_t count : kRowCounts) {
    // With their flags, 4, 8 and 9 bytes.
    Check({WithNulls(Numbers(KeyType::kInt16, kDescending, Distribution::kSixteenDistinct, count, 1), 3),
           Numbers(KeyType::kInt8, kAscending, Distribution::kSixteenDistinct, count, 2)});
    Check({WithNulls(Numbers(KeyType::kUint32, kDescending, Distribution::kSixteenDistinct, count, 3), 4,
                     NullOrder::kFirst),
           WithNulls(Numbers(KeyType::kFloat16, kAscending, Distribution::kSpecialFloats, count, 4), 3,
                     NullOrder::kLast, NanOrder::kBesideNulls)});
    Check({WithNulls(Numbers(KeyType::kInt32, kAscending, Distribution::kSixteenDistinct, count, 5), 4),
           Numbers(KeyType::kUint32, kDescending, Distribution::kSixteenDistinct, count, 6)});
  }
  // Enough rows that AUTO uses the sort for long arrays on every engine.
  constexpr int64_t kMany = (int64_t{1} << 19) + 2;
  ColumnSortCase test;
  test.columns = {WithNulls(Numbers(KeyType::kInt32, kDescending, Distribution::kUniform, kMany, 7), 9),
                  Numbers(KeyType::kUint16, kAscending, Distribution::kUniform, kMany, 8)};
  test.want_indices = true;
  CheckOnce(test, StableRowOrder(test.columns));
}

TEST_F(SortColumnsWithNulls, DecidesByAllBitsBesideTheFlag) {
  // A code of 64 bits has no room for a flag and eight bytes that all differ.
  for (int64_t count : {1025, 70001}) {
    for (NullOrder nulls : kNullOrders) {
      Check({WithNulls(Numbers(KeyType::kUint64, kAscending, Distribution::kUniform, count, 1), 50, nulls)});
      Check({WithNulls(Numbers(KeyType::kFloat64, kDescending, Distribution::kUniform, count, 2), 50, nulls,
                       NanOrder::kBesideNulls)});
      Check({Numbers(KeyType::kInt32, kAscending, Distribution::kSixteenDistinct, count, 3),
             WithNulls(Numbers(KeyType::kInt64, kAscending, Distribution::kUniform, count, 4), 5, nulls)});
    }
  }
}

TEST_F(SortColumnsWithNulls, TakesColumnsOfNullsAloneAndWithoutOne) {
  for (int64_t count : kRowCounts) {
    for (int64_t rarity : {0, 1}) {
      for (NullOrder nulls : kNullOrders) {
        Check({WithNulls(Numbers(KeyType::kInt64, kDescending, Distribution::kUniform, count, 1), rarity, nulls),
               WithNulls(Numbers(KeyType::kFloat32, kAscending, Distribution::kSpecialFloats, count, 2), rarity, nulls,
                         NanOrder::kAsNulls)});
      }
      Check({WithNulls(StringColumn(kDescending, FewStrings(count, 12, "", 3)), rarity)});
      Check({WithNulls(BytesColumn(9, kAscending, FewBytes(count, 9, 0, 2, 4)), rarity, NullOrder::kFirst),
             Numbers(KeyType::kUint8, kAscending, Distribution::kSixteenDistinct, count, 5)});
    }
  }
}

TEST_F(SortColumnsWithNulls, OrdersByteStringsOfEveryWidth) {
  for (int width : {1, 2, 6, 7, 8, 9, 15, 16, 23, 24, 64, 255, 256}) {
    // Differences at the front, only in the last two bytes, and none at all.
    for (int common : {0, width - 2, width}) {
      const Order order = kBothOrders[width % 2];
      for (NullOrder nulls : kNullOrders) {
        Check({WithNulls(BytesColumn(width, order, FewBytes(2001, width, std::max(common, 0), 2, 7)), 4, nulls)});
      }
    }
  }
}

TEST_F(SortColumnsWithNulls, ANullStringDiffersFromAnEmptyOne) {
  for (Order order : kBothOrders) {
    for (NullOrder nulls : kNullOrders) {
      TestColumn column = StringColumn(order, {"b", "", "null", "", std::string(1, '\0'), "", "null too", "a"});
      column.valid = {true, true, false, true, true, false, false, true};
      column.nulls = nulls;
      Check({column});
      Check({column, Numbers(KeyType::kInt8, order, Distribution::kUniform, 8, 3)});
    }
  }
}

TEST_F(SortColumnsWithNulls, OrdersStringsWithCommonBeginnings) {
  for (size_t common : {0, 5, 6, 7, 8, 64, 600}) {
    for (int64_t longest : {0, 3, 12, 40}) {
      const Order order = kBothOrders[common % 2];
      const std::string prefix(common, common == 64 ? '\0' : 'p');
      for (NullOrder nulls : kNullOrders) {
        Check({WithNulls(StringColumn(order, FewStrings(3000, longest, prefix, common + 1)), 4, nulls)});
      }
    }
  }
}

TEST_F(SortColumnsWithNulls, OrdersStringsAmongOtherColumns) {
  for (int64_t count : kRowCounts) {
    Check({WithNulls(StringColumn(kAscending, FewStrings(count, 3, "abcdefghij", 1)), 3, NullOrder::kFirst),
           WithNulls(Numbers(KeyType::kInt16, kDescending, Distribution::kSixteenDistinct, count, 2), 3),
           WithNulls(StringColumn(kDescending, FewStrings(count, 20, "", 3)), 2)});
    Check({WithNulls(Numbers(KeyType::kUint8, kDescending, Distribution::kSixteenDistinct, count, 4), 3),
           WithNulls(StringColumn(kDescending, FewStrings(count, 12, "", 5)), 3, NullOrder::kFirst),
           WithNulls(BytesColumn(5, kAscending, FewBytes(count, 5, 1, 2, 6)), 3)});
  }
}

TEST_F(SortColumnsWithNulls, TakesAsManyColumnsAsTheLimitAllows) {
  for (int count : {16, 17, kMaxKeyColumns}) {
    std::vector<TestColumn> columns;
    for (int i = 0; i < count; ++i) {
      const Bytes bytes = FewBytes(2000, 2, 1, i + 4 < count ? 1 : 2, static_cast<uint64_t>(i));
      columns.push_back(WithNulls(BytesColumn(2, kBothOrders[i % 2], bytes), 2, kNullOrders[i / 2 % 2]));
    }
    Check(columns);
  }
}

}  // namespace
}  // namespace corank::testing
