// Tables of external sorts: their blocks, cuts of sorted tables compared with a merge, and bits.
#include "server/run/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace corank::testing {
namespace {

ColumnSortOperation::Spec TwoColumns(bool with_validity) {
  ColumnSortOperation::Spec sort;
  sort.columns.resize(2);
  sort.columns[0].data.type = v1::ELEMENT_TYPE_UINT8;
  sort.columns[0].data.element_bytes = 1;
  sort.columns[1].data.type = v1::ELEMENT_TYPE_INT32;
  sort.columns[1].data.element_bytes = 4;
  sort.columns[1].order = Order::kDescending;
  for (ColumnSortOperation::Column& column : sort.columns) column.data.count = 1000;
  if (with_validity) sort.columns[0].validity.emplace();
  return sort;
}

TEST(TableShape, LaysOutTheArraysOfABlock) {
  ColumnSortOperation::Spec sort = TwoColumns(true);
  sort.want_indices = true;
  const TableShape shape(sort);
  ASSERT_EQ(shape.arrays().size(), 4U);
  EXPECT_EQ(shape.inputs(), 3U);
  EXPECT_EQ(shape.row_bytes(), 1 + 1 + 4 + 4);
  EXPECT_EQ(shape.BlockBytes({257}), 512 + 256 + 1280 + 1280);
  char* const block = nullptr;
  EXPECT_EQ(shape.Places(block, {257}), (std::vector<char*>{block, block + 512, block + 768, block + 2048}));
  EXPECT_EQ(shape.WholeRows(1), 8);
  EXPECT_EQ(shape.WholeRows(23), 16);
  const TableShape without(TwoColumns(false));
  EXPECT_EQ(without.arrays().size(), 2U);
  EXPECT_EQ(without.WholeRows(0), 1);
  EXPECT_EQ(without.WholeRows(23), 23);
}

TEST(CutTables, AreTheRowsOfAStableMerge) {
  std::mt19937 random(5);
  const TableShape shape(TwoColumns(false));
  for (const size_t count : {1, 2, 3, 17, 40}) {
    for (const unsigned kinds : {1U, 3U, 1000U}) {
      std::vector<std::vector<uint8_t>> firsts(count);
      std::vector<std::vector<int32_t>> seconds(count);
      std::vector<TableRun> runs(count);
      struct Row {
        uint8_t first;
        int32_t second;
        size_t run;
      };
      std::vector<Row> rows;
      for (size_t run = 0; run < count; ++run) {
        std::vector<std::pair<uint8_t, int32_t>> of_run(run % 5 == 3 ? 0 : random() % 300);
        for (auto& [first, second] : of_run) {
          first = static_cast<uint8_t>(random() % std::min(kinds, 200U));
          second = static_cast<int32_t>(random() % kinds) - 2;
        }
        std::sort(of_run.begin(), of_run.end(), [](const auto& a, const auto& b) {
          return a.first != b.first ? a.first < b.first : a.second > b.second;
        });
        for (const auto& [first, second] : of_run) {
          firsts[run].push_back(first);
          seconds[run].push_back(second);
          rows.push_back({first, second, run});
        }
        runs[run].rows = static_cast<int64_t>(of_run.size());
        runs[run].arrays = {reinterpret_cast<char*>(firsts[run].data()), reinterpret_cast<char*>(seconds[run].data())};
      }
      std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
      });
      std::vector<int64_t> begin(count, 0), expected(count, 0);
      for (size_t first = 0; first < rows.size();) {
        const size_t taken = std::min<size_t>(rows.size() - first, 1 + random() % 200);
        for (size_t i = first; i < first + taken; ++i) ++expected[rows[i].run];
        begin = CutTables(shape, runs, begin, static_cast<int64_t>(taken));
        ASSERT_EQ(begin, expected) << count << " runs of " << kinds << " kinds, up to row " << first + taken;
        first += taken;
      }
    }
  }
}

TEST(AppendBits, CopiesBitsFromAnywhereToAnywhere) {
  std::mt19937 random(6);
  std::vector<uint8_t> from(40);
  std::generate(from.begin(), from.end(), [&random] { return static_cast<uint8_t>(random()); });
  const auto bit = [](const std::vector<uint8_t>& bits, int64_t i) {
    return (bits[static_cast<size_t>(i / 8)] >> (i % 8)) & 1;
  };
  for (int64_t from_bit = 0; from_bit < 70; ++from_bit) {
    for (int64_t to_bit = 0; to_bit < 70; ++to_bit) {
      for (const int64_t count : {0, 1, 7, 8, 9, 63, 64, 65, 200}) {
        std::vector<uint8_t> to(40);
        for (int64_t i = 0; i < to_bit; ++i)
          to[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(i % 3 == 0) << i % 8;
        AppendBits(to.data(), to_bit, from.data(), from_bit, count);
        for (int64_t i = 0; i < 320; ++i) {
          const int64_t in = i - to_bit;
          const int expected = in < 0 ? static_cast<int>(i % 3 == 0) : in < count ? bit(from, from_bit + in) : 0;
          ASSERT_EQ(bit(to, i), expected) << from_bit << " to " << to_bit << ", " << count << " bits: " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace corank::testing
