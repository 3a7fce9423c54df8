// The order of rows and their codes, compared with plain comparisons of the rows' values.
#include "kernels/common/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/common/row_code.h"
#include "tests/support/distributions.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

constexpr auto kAscending = Order::kAscending;
constexpr auto kDescending = Order::kDescending;

class Table {
 public:
  explicit Table(const std::vector<TestColumn>& columns) : test_columns_(columns) {
    bitmaps_.reserve(columns.size());
    for (const TestColumn& from : test_columns_) {
      KeyColumn& column = columns_.emplace_back();
      column.kind = from.kind;
      column.type = from.type;
      column.order = from.order;
      column.row_bytes = from.row_bytes;
      column.data = from.data.data();
      column.offsets = from.offsets.data();
      column.nulls = from.nulls;
      column.nans = from.nans;
      if (!from.valid.empty()) column.validity = bitmaps_.emplace_back(Bitmap(from.valid)).data();
    }
    const std::vector<int64_t> order = StableRowOrder(test_columns_);
    places_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      // Equal rows share the place of the first one.
      const bool equal = i > 0 && SameRow(order[i - 1], order[i]);
      places_[static_cast<size_t>(order[i])] =
          equal ? places_[static_cast<size_t>(order[i - 1])] : static_cast<int64_t>(i);
    }
  }

  RowOrder order() const { return {columns_.data(), static_cast<int>(columns_.size())}; }
  int64_t rows() const { return test_columns_.front().rows(); }
  /// The expected result of Compare.
  int Expected(int64_t a, int64_t b) const {
    const int64_t x = places_[static_cast<size_t>(a)], y = places_[static_cast<size_t>(b)];
    return (x > y) - (x < y);
  }

 private:
  // Sorting both ways round puts a before b only once, unless the rows are equal.
  bool SameRow(int64_t a, int64_t b) const {
    std::vector<TestColumn> pair;
    for (const TestColumn& column : test_columns_) pair.push_back(TakeRows(column, {b, a}));
    return StableRowOrder(pair).front() == 0;
  }

  std::vector<TestColumn> test_columns_;
  std::vector<Bytes> bitmaps_;  // moves of the vector keep their bytes in place
  std::vector<KeyColumn> columns_;
  std::vector<int64_t> places_;
};

std::vector<std::string> Strings(int64_t rows, const std::string& prefix, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> strings;
  for (int64_t row = 0; row < rows; ++row) {
    std::string string = random.OneIn(9) ? "" : prefix;
    for (int64_t left = random.Below(14); left > 0; --left) string.push_back(static_cast<char>(random.Below(3)));
    strings.push_back(string);
  }
  return strings;
}

Bytes FewBytes(int64_t count, uint64_t seed) {
  Bytes bytes = MakeBytes(count, seed);
  for (uint8_t& byte : bytes) byte = byte % 3 * 100;
  return bytes;
}

constexpr int64_t kRows = 120;

// With nulls of some rows, one in `rarity`, or without validity if that is 0.
TestColumn WithNulls(TestColumn column, int64_t rarity, NullOrder nulls, NanOrder nans) {
  Random random(static_cast<uint64_t>(rarity) + 1);
  for (int64_t row = 0; row < column.rows() && rarity > 0; ++row) column.valid.push_back(!random.OneIn(rarity));
  column.nulls = nulls;
  column.nans = nans;
  return column;
}

void AddTablesWithNulls(std::vector<Table>& tables) {
  constexpr KeyType kTypes[] = {KeyType::kInt8, KeyType::kUint64, KeyType::kFloat16, KeyType::kFloat32,
                                KeyType::kFloat64};
  for (NullOrder nulls : {NullOrder::kLast, NullOrder::kFirst}) {
    for (Order order : {kAscending, kDescending}) {
      for (NanOrder nans : {NanOrder::kGreatest, NanOrder::kBesideNulls, NanOrder::kAsNulls}) {
        for (KeyType type : kTypes) {
          for (int64_t rarity : {0, 1, 3, 1000}) {
            const TestColumn first = NumberColumn(type, order, MakeKeys(type, Distribution::kSpecialFloats, kRows, 21));
            const TestColumn next = NumberColumn(KeyType::kInt16, kDescending,
                                                 MakeKeys(KeyType::kInt16, Distribution::kSixteenDistinct, kRows, 22));
            tables.emplace_back(std::vector<TestColumn>{WithNulls(first, rarity, nulls, nans),
                                                        WithNulls(next, 4, nulls, NanOrder::kGreatest)});
          }
        }
      }
      const auto with_nulls = [&](const TestColumn& column, int64_t rarity) {
        return WithNulls(column, rarity, nulls, NanOrder::kGreatest);
      };
      for (int width : {1, 7, 8, 19}) {
        tables.emplace_back(
            std::vector<TestColumn>{with_nulls(BytesColumn(width, order, FewBytes(width * kRows, 3)), 3),
                                    BytesColumn(5, kAscending, FewBytes(5 * kRows, 4))});
      }
      for (const char* prefix : {"", "a prefix longer than a word"}) {
        tables.emplace_back(std::vector<TestColumn>{with_nulls(StringColumn(order, Strings(kRows, prefix, 5)), 3)});
        tables.emplace_back(
            std::vector<TestColumn>{with_nulls(NumberColumn(KeyType::kUint8, kDescending, FewBytes(kRows, 7)), 2),
                                    with_nulls(StringColumn(order, Strings(kRows, prefix, 8)), 3)});
        tables.emplace_back(std::vector<TestColumn>{with_nulls(StringColumn(order, Strings(kRows, prefix, 8)), 2),
                                                    with_nulls(StringColumn(order, Strings(kRows, prefix, 9)), 3)});
      }
    }
  }
}

std::vector<Table> Tables() {
  std::vector<Table> tables;
  AddTablesWithNulls(tables);
  for (KeyType type : kAllKeyTypes) {
    for (Order order : {kAscending, kDescending}) {
      tables.emplace_back(std::vector<TestColumn>{
          NumberColumn(type, order, MakeKeys(type, Distribution::kSpecialFloats, kRows, 1)),
          NumberColumn(KeyType::kInt16, order, MakeKeys(KeyType::kInt16, Distribution::kSixteenDistinct, kRows, 2))});
    }
  }
  for (int width : {1, 3, 8, 11, 70}) {
    tables.emplace_back(std::vector<TestColumn>{BytesColumn(width, kDescending, FewBytes(width * kRows, 3)),
                                                BytesColumn(5, kAscending, FewBytes(5 * kRows, 4))});
  }
  for (const char* prefix : {"", "abc", "a prefix longer than a word", "eightish"}) {
    for (Order order : {kAscending, kDescending}) {
      tables.emplace_back(std::vector<TestColumn>{NumberColumn(KeyType::kUint8, order, FewBytes(kRows, 7)),
                                                  StringColumn(order, Strings(kRows, prefix, 11))});
    }
    tables.emplace_back(std::vector<TestColumn>{StringColumn(kAscending, Strings(kRows, prefix, 5)),
                                                BytesColumn(1, kDescending, FewBytes(kRows, 6))});
    tables.emplace_back(std::vector<TestColumn>{NumberColumn(KeyType::kUint8, kDescending, FewBytes(kRows, 7)),
                                                StringColumn(kDescending, Strings(kRows, prefix, 8)),
                                                StringColumn(kAscending, Strings(kRows, prefix, 9))});
  }
  return tables;
}

RowSurvey SurveyOf(const RowOrder& order, int64_t rows) {
  RowSurvey survey;
  int64_t common = std::min(RowSurvey::kMaxCommonBytes, order.stream_bytes());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t first = 0; first < common; ++first) {
      if (order.Word(row, first) >> 56 != order.Word(0, first) >> 56) common = first;
    }
  }
  survey.common_bytes = static_cast<uint32_t>(common);
  for (int64_t row = 0; row < rows; ++row) {
    for (int i = 0; i < RowSurvey::kWords; ++i) {
      survey.differing[i] |= order.Word(row, common + 8 * i) ^ order.Word(0, common + 8 * i);
    }
  }
  return survey;
}

TEST(RowOrder, ComparesAsTheValuesDo) {
  for (const Table& table : Tables()) {
    const RowOrder order = table.order();
    for (int64_t a = 0; a < table.rows(); ++a) {
      for (int64_t b = 0; b < table.rows(); ++b) {
        const int found = order.Compare(a, b, 0);
        ASSERT_EQ((found > 0) - (found < 0), table.Expected(a, b)) << a << " " << b;
      }
    }
  }
}

TEST(RowOrder, TheFirstDifferenceOfStreamsDecides) {
  for (const Table& table : Tables()) {
    const RowOrder order = table.order();
    for (int64_t a = 0; a < table.rows(); ++a) {
      const int64_t b = (a * 7 + 1) % table.rows();
      const int64_t end = std::min<int64_t>(order.stream_bytes(), 80);
      for (int64_t first = 0; first < end; ++first) {
        const uint64_t x = order.Word(a, first) >> 56, y = order.Word(b, first) >> 56;
        if (x == y) {
          // Compare need not read bytes that are known to be equal.
          ASSERT_EQ(order.Compare(a, b, first + 1) < 0, table.Expected(a, b) < 0) << a << " " << b << " at " << first;
          continue;
        }
        ASSERT_EQ(x < y, table.Expected(a, b) < 0) << a << " " << b << " at " << first;
        break;
      }
    }
  }
}

TEST(RowOrder, WordsAreEightBytesOfTheStreamFromAnyByteOn) {
  for (const Table& table : Tables()) {
    const RowOrder order = table.order();
    for (int64_t row = 0; row < table.rows(); row += 11) {
      for (int64_t first = 0; first < 40; ++first) {
        uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word = word << 8 | order.Word(row, first + i) >> 56;
        ASSERT_EQ(order.Word(row, first), word) << row << " from " << first;
      }
    }
  }
}

TEST(RowOrder, TailsOrderRowsWithEqualBeginnings) {
  for (const Table& table : Tables()) {
    const RowOrder order = table.order();
    if (!order.ends_in_strings()) continue;
    for (int64_t a = 0; a < table.rows(); ++a) {
      for (int64_t b = 0; b < table.rows(); ++b) {
        for (int64_t first = 0; first < 40; ++first) {
          if (first > 0 && order.Word(a, first - 1) >> 56 != order.Word(b, first - 1) >> 56) break;
          const uint64_t x = order.Tail(a, first), y = order.Tail(b, first);
          if (x != y) {
            ASSERT_EQ(x < y, table.Expected(a, b) < 0) << a << " " << b << " from " << first;
          } else if (order.TailDecides(x)) {
            ASSERT_EQ(table.Expected(a, b), 0) << a << " " << b << " from " << first;
          } else {
            ASSERT_EQ(order.Compare(a, b, first + 7) < 0, table.Expected(a, b) < 0) << a << " " << b;
          }
        }
      }
    }
  }
}

TEST(RowCode, OrdersRowsAsFarAsItsNextByte) {
  for (const Table& table : Tables()) {
    RowOrder order = table.order();
    uint64_t bases[kMaxKeyColumns] = {};
    for (int i = 0; i < order.column_count(); ++i) {
      if (!order.HasBase(i)) continue;
      bases[i] = ~uint64_t{0};
      for (int64_t row = 0; row < table.rows(); ++row) bases[i] = std::min(bases[i], order.Rank(i, row));
    }
    order.set_bases(bases);
    const RowCode code(SurveyOf(order, table.rows()), order.stream_bytes());
    for (int64_t a = 0; a < table.rows(); ++a) {
      for (int64_t b = 0; b < table.rows(); ++b) {
        const uint64_t x = code.Make(order, a), y = code.Make(order, b);
        if (x == y) {
          ASSERT_EQ(order.Compare(a, b, code.next_byte()) < 0, table.Expected(a, b) < 0) << a << " " << b;
          ASSERT_TRUE(code.next_byte() < order.stream_bytes() || table.Expected(a, b) == 0) << a << " " << b;
        } else {
          ASSERT_EQ(x < y, table.Expected(a, b) < 0) << a << " " << b;
        }
      }
    }
  }
}

TEST(RowCode, TakesTheDifferingBitsOfAWordSideBySide) {
  Random random(12);
  for (int round = 0; round < 2000; ++round) {
    uint64_t differing = random.Next();
    if (round % 3 == 0) differing &= random.Next() & random.Next();
    if (round % 5 == 0) differing |= random.Next() | random.Next();
    if (round < 2) differing = round == 0 ? 0 : ~uint64_t{0};
    const uint64_t key = random.Next();
    KeyColumn column;
    column.type = KeyType::kUint64;
    column.row_bytes = 8;
    column.data = &key;
    RowSurvey survey;
    survey.differing[0] = differing;
    uint64_t expected = 0;
    int place = 63;
    for (int bit = 63; bit >= 0; --bit) {
      if ((differing >> bit & 1) != 0) expected |= (key >> bit & 1) << place--;
    }
    ASSERT_EQ(RowCode(survey, 8).Make(RowOrder(&column, 1), 0), expected) << round;
  }
}

TEST(RowCode, GoesOnAtTheFirstByteThatIsNotWhollyInIt) {
  RowSurvey survey;
  survey.common_bytes = 5;
  survey.differing[0] = ~uint64_t{0} >> 4;  // 60 bits, then 4 of 8 bits in the second and fourth byte
  survey.differing[1] = 0x0055'00AA'0000'0000;
  EXPECT_EQ(RowCode(survey, 100).next_byte(), 5 + 8 + 3);
  survey.differing[0] = ~uint64_t{0};
  EXPECT_EQ(RowCode(survey, 100).next_byte(), 5 + 8);
  survey.differing[0] = 1;
  survey.differing[1] = 0;
  EXPECT_EQ(RowCode(survey, 100).next_byte(), 5 + 64);
  EXPECT_EQ(RowCode(survey, 17).next_byte(), 5 + 16);
}

}  // namespace
}  // namespace corank::testing
