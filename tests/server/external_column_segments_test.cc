// Sorts by columns of the segments of a table in shared memory and streams, whole and out of core.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/external_columns_fixture.h"

namespace corank::testing {
namespace {

class ExternalColumnSegmentsTest : public ExternalColumnsTest {};

INSTANTIATE_TEST_SUITE_P(Memory, ExternalColumnSegmentsTest, ::testing::Values(kWhole, kOutOfCore));

// The table in segments of up to `longest` rows, some of them empty.
Table InSegments(Table table, int64_t longest) {
  const int64_t rows = table.columns.front().rows();
  Random random(static_cast<uint64_t>(longest));
  table.segment_offsets = {0, 0};
  while (table.segment_offsets.back() < rows) {
    if (random.OneIn(5)) table.segment_offsets.push_back(table.segment_offsets.back());
    table.segment_offsets.push_back(std::min(rows, table.segment_offsets.back() + 1 + random.Below(longest)));
  }
  table.segment_offsets.push_back(rows);
  return table;
}

TEST_P(ExternalColumnSegmentsTest, SortsEachSegment) {
  for (const int64_t longest : {1, 3, 300, 9000}) {
    for (const auto& [output, value_bytes] : kOutputs) {
      SCOPED_TRACE(::testing::Message() << "segments of up to " << longest << ", output " << output);
      Table table = InSegments(output == v1::SORT_OUTPUT_INDICES ? Strings(6001) : Mixed(20011), longest);
      table.output = output;
      table.value_bytes = value_bytes;
      CheckShared(table);
      CheckStreamed(table, 400);
    }
  }
}

TEST_P(ExternalColumnSegmentsTest, TheFirstRowsOfEachSegmentMustFitOnTheDevice) {
  for (const auto& [output, value_bytes] : kOutputs) {
    Table table = InSegments(output == v1::SORT_OUTPUT_INDICES ? Strings(6001) : Mixed(20011), 300);
    table.output = output;
    table.value_bytes = value_bytes;
    table.limit = 7;
    if (!IsOut()) {
      CheckShared(table);
      CheckStreamed(table, 400);
      continue;
    }
    SortCall call;
    Build(table, call);
    const grpc::Status status = CallStreamed(call).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("max_device_bytes"));
    ExpectAllFreed(server_.server());
  }
}

TEST_P(ExternalColumnSegmentsTest, OneSegmentIsTheWholeTable) {
  Table table = Mixed(20011);
  table.segment_offsets = {0, 20011};
  CheckShared(table);
  CheckStreamed(table, 333, /*one_after_another=*/true);
}

TEST_P(ExternalColumnSegmentsTest, TakesAsManyColumnsAsWithoutSegments) {
  Table table;
  for (uint64_t i = 0; i < kMaxKeyColumns; ++i) {
    table.columns.push_back(
        NumberColumn(KeyType::kUint8, Order::kDescending, FewNumbers(5000, i + 3 < kMaxKeyColumns ? 1 : 3, i)));
  }
  table = InSegments(table, 100);
  CheckShared(table);
  CheckStreamed(table);
}

TEST_P(ExternalColumnSegmentsTest, OffsetsMayTravelInTheMessageBesideStreams) {
  CheckStreamedBesideInline(InSegments(Mixed(6001), 300));
}

TEST_P(ExternalColumnSegmentsTest, StreamedOffsetsAreChecked) {
  const Table table = InSegments(Mixed(9000), 20);
  for (const bool announced : {true, false}) {
    SortCall call;
    Build(table, call);
    std::string& offsets = call.inputs.back().bytes;
    offsets.replace(8 * 77, 8, offsets.substr(8 * 277, 8));
    const grpc::Status status = CallStreamed(call, 999, /*one_after_another=*/true, announced).status;
    EXPECT_EQ(BadField(status), "plan.operations[0].segment_offsets[78]");
  }
}

// The parameter is the host memory for one request: too little for the numbers of the segments, or for the runs.
class LittleHostMemoryTest : public ExternalColumnsTest {
 protected:
  LittleHostMemoryTest() : ExternalColumnsTest(Options()) {}

  static Server::Options Options() {
    Server::Options options = PiecesOptions(kOutOfCore);
    options.streams.max_host_bytes = GetParam();
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Memory, LittleHostMemoryTest, ::testing::Values(130'000, 210'000));

// Nobody knows before the arrays come that they are too large.
TEST_P(LittleHostMemoryTest, ATableThatIsTooLargeIsNamedByItsColumns) {
  for (const bool in_segments : {false, true}) {
    SCOPED_TRACE(in_segments ? "in segments" : "without segments");
    SortCall call;
    Build(in_segments ? InSegments(Mixed(9000), 300) : Mixed(9000), call);
    const grpc::Status status = CallStreamed(call, 999, /*one_after_another=*/false, /*announced=*/false).status;
    EXPECT_THAT(BadField(status), ::testing::StartsWith("plan.operations[0].key_columns["));
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("max_stream_host_bytes"));
  }
}

}  // namespace
}  // namespace corank::testing
