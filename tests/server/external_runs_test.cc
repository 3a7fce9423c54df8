// Merges of sorted runs of rows (SortRequest.run_offsets) in shared memory and streams, whole and out of core.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/external_columns_fixture.h"

namespace corank::testing {
namespace {

class ExternalRunsTest : public ExternalColumnsTest {};

INSTANTIATE_TEST_SUITE_P(Memory, ExternalRunsTest, ::testing::Values(kWhole, kOutOfCore));

// The rows in so many sorted runs, some of them empty.
Table InRuns(Table table, int64_t runs) {
  const int64_t rows = table.columns.front().rows();
  Random random(static_cast<uint64_t>(runs));
  table.run_offsets = {0, rows};
  for (int64_t i = 1; i < runs; ++i) table.run_offsets.push_back(random.OneIn(4) ? rows / 2 : random.Below(rows));
  std::sort(table.run_offsets.begin(), table.run_offsets.end());
  table.columns = WithSortedRuns(table.columns, table.run_offsets);
  return table;
}

TEST_P(ExternalRunsTest, MergesRuns) {
  for (const int64_t runs : {1, 2, 7, 9, 40, 1024}) {
    for (const auto& [output, value_bytes] : kOutputs) {
      SCOPED_TRACE(::testing::Message() << runs << " runs, output " << output);
      Table table = InRuns(runs % 2 == 0 ? Mixed(20011) : Strings(6001), runs);
      table.output = output;
      table.value_bytes = value_bytes;
      table.limit = runs == 9 ? 3333 : runs == 40 ? 8001 : -1;
      CheckShared(table);
      CheckStreamed(table, 400);
    }
  }
}

TEST_P(ExternalRunsTest, NamesTheFirstRowOfARunThatIsOutOfOrder) {
  const Table sorted = InRuns(Mixed(20011), 5);
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    const auto run = static_cast<size_t>(1 + random.Below(5));
    const int64_t first = sorted.run_offsets[run - 1], length = sorted.run_offsets[run] - first;
    if (length < 100) continue;
    const int64_t row = first + 1 + random.Below(length - 2);
    SCOPED_TRACE(::testing::Message() << "run " << run - 1 << ", row " << row);
    Table table = sorted;
    table.limit = i % 3 == 0 ? 10 : -1;
    // The last row of the run, which differs from the others, moves forward.
    std::vector<int64_t> order(static_cast<size_t>(table.columns.front().rows()));
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + row, order.begin() + first + length - 1, order.begin() + first + length);
    for (TestColumn& column : table.columns) column = TakeRows(column, order);
    std::vector<int64_t> pair = {row, row + 1};
    std::vector<TestColumn> both;
    for (const TestColumn& column : table.columns) both.push_back(TakeRows(column, pair));
    if (StableRowOrder(both).front() == 0) continue;  // equal rows
    SortCall call;
    Build(table, call);
    const grpc::Status status = i % 2 == 0 ? CallShared(call).status : CallStreamed(call).status;
    const std::string field = "run_offsets[" + std::to_string(run - 1) + "]";
    EXPECT_EQ(BadField(status), i % 2 == 0 ? field : "plan.operations[0]." + field);
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("row " + std::to_string(row + 1) + " of the table"));
  }
  ExpectAllFreed(server_.server());
}

// Tiles of 64 rows, and every place for the fault, so that some lie where a tile ends.
TEST_P(ExternalRunsTest, FindsTheFaultBetweenTwoTiles) {
  if (!IsOut()) GTEST_SKIP() << "the table is merged whole";
  constexpr int64_t kRows = 2000;
  for (int64_t row = 60; row < 260; ++row) {
    Table table;
    std::vector<uint32_t> keys(kRows);
    std::iota(keys.begin(), keys.end(), 0);
    keys[static_cast<size_t>(row)] = static_cast<uint32_t>(row - 2);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(keys.data());
    table.columns.push_back(NumberColumn(KeyType::kUint32, Order::kAscending, Bytes(bytes, bytes + 4 * kRows)));
    table.value_bytes = 200;
    table.run_offsets = {0, kRows};
    SortCall call;
    Build(table, call);
    EXPECT_THAT(CallShared(call).status.error_message(),
                ::testing::HasSubstr("row " + std::to_string(row) + " of the table"));
  }
}

// Tiles of a merge would overwrite rows that have not been read.
TEST_P(ExternalRunsTest, MergesThatWriteWhereTheyReadAreMadeAsAWhole) {
  Table table = InRuns(Strings(6001), 3);
  SortCall call;
  Build(table, call);
  for (const bool overwrites : {true, false}) {
    ASSERT_TRUE(CallShared(call).status.ok());
    *call.outputs.back().destination = ToRegion(overwrites ? 0 : kRegionBytes / 2);
    const std::string inputs(object_.As<char>(), kRegionBytes / 4);
    grpc::ClientContext context;
    v1::SortResponse response;
    ASSERT_TRUE(Call(server_.stub(), &context, call.request, &response).ok());
    EXPECT_EQ(response.stats().out_of_core(), IsOut() && !overwrites);
    EXPECT_EQ(std::string(object_.As<char>(overwrites ? 0 : kRegionBytes / 2), call.outputs.back().expected.size()),
              call.outputs.back().expected);
  }
}

}  // namespace
}  // namespace corank::testing
