// Execute: results of ExpandIntervals, GatherIntervals and LoadBalance that are larger than a request's share of the
// device.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "server/run/rows_in_turn.h"
#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

TEST(IntervalCursor, CutsAllRowsOnceAndInOrder) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int64_t size = seed % 3 == 0 ? 2000 : 40;  // the cursor adds up many counts at once
    std::vector<int64_t> counts(static_cast<size_t>(random.Below(size)));
    int64_t total = 0;
    for (int64_t& count : counts) {
      count = random.OneIn(3) ? 0 : random.Below(random.OneIn(9) ? 500 : 20);
      total += count;
    }
    std::string unaligned(1, 'x');
    unaligned.append(reinterpret_cast<const char*>(counts.data()), 8 * counts.size());
    Operand operand;
    operand.element_bytes = 8;
    operand.count = static_cast<int64_t>(counts.size());
    operand.bytes = unaligned.data() + 1;
    IntervalCursor cursor(operand);
    std::vector<int64_t> seen(counts.size(), 0);
    for (;;) {
      const int64_t most_rows = 1 + random.Below(random.OneIn(2) ? 60 : 20'000);
      const int64_t most_intervals = 1 + random.Below(random.OneIn(2) ? 10 : 1500);
      const IntervalCursor::Piece piece = cursor.Next(most_rows, most_intervals);
      if (piece.intervals == 0) break;
      ASSERT_LE(piece.rows, most_rows);
      ASSERT_LE(piece.intervals, most_intervals);
      ASSERT_EQ(seen[static_cast<size_t>(piece.first_interval)], piece.skipped);
      int64_t rows = 0;
      for (int64_t i = 0; i < piece.intervals; ++i) {
        const auto interval = static_cast<size_t>(piece.first_interval + i);
        const int64_t count = i == 0                     ? piece.first_count
                              : i + 1 == piece.intervals ? piece.last_count
                                                         : counts[interval];
        seen[interval] += count;
        rows += count;
      }
      ASSERT_TRUE(piece.intervals > 1 || piece.first_count == piece.last_count);
      ASSERT_EQ(rows, piece.rows);
      total -= rows;
    }
    EXPECT_EQ(seen, counts);
    EXPECT_EQ(total, 0);
  }
}

class StreamRowsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMostOnDevice = 1 << 20;
  static constexpr int32_t kRecordBytes = 7;

  static Server::Options SmallDevice() {
    Server::Options options = TestOptions();
    options.streams.max_device_bytes = kMostOnDevice;
    options.streams.piece_bytes = 100'000;
    options.streams.window_bytes = 256 << 10;
    return options;
  }

  // Counts for `elements` intervals: many empty ones, and a few that are larger than a piece.
  static std::vector<int64_t> Counts(int64_t elements) {
    Random random(5);
    std::vector<int64_t> counts(static_cast<size_t>(elements));
    for (int64_t& count : counts) {
      count = random.OneIn(2) ? 0 : random.OneIn(300) ? 40'000 + random.Below(1000) : random.Below(900);
    }
    return counts;
  }
  static std::string Records(int64_t count) {
    const Bytes bytes = MakeBytes(count * kRecordBytes, 3);
    return {bytes.begin(), bytes.end()};
  }

  // Sends the operation of the plan, whose arrays are streams 0 and above. Expects its result in stream 9.
  void ExpectResult(const v1::Plan& plan, const std::vector<StreamedInput>& inputs, const std::string& expected) {
    ASSERT_GT(static_cast<int64_t>(expected.size()), 2 * kMostOnDevice);
    const StreamedAnswer answer = Execute(running_.stub(), plan, Chunks(inputs, 500));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(answer.Output(9, kRecordBytes) == expected);
    EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
  }

  RunningServer running_{SmallDevice(), ReachEngine()};
};

TEST_F(StreamRowsTest, ExpandsIntoMoreThanTheDeviceMayHold) {
  const std::vector<int64_t> counts = Counts(4000);
  const auto count = static_cast<int64_t>(counts.size());
  const std::string values = Records(count);
  std::string expected;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int64_t k = 0; k < counts[i]; ++k) expected.append(values, i * kRecordBytes, kRecordBytes);
  }
  for (const bool streamed : {true, false}) {
    SCOPED_TRACE(streamed ? "streamed arrays" : "arrays in the plan");
    v1::Plan plan;
    v1::ExpandIntervalsRequest& expand = *plan.add_operations()->mutable_expand_intervals();
    std::vector<StreamedInput> inputs;
    if (streamed) {
      *expand.mutable_values() = Streamed(v1::ELEMENT_TYPE_RECORD, count, 0, kRecordBytes);
      *expand.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, -1, 1);
      inputs = {{0, kRecordBytes, values}, {1, 8, BytesOf(counts), 0, true}};
    } else {
      expand.mutable_values()->set_type(v1::ELEMENT_TYPE_RECORD);
      expand.mutable_values()->set_record_bytes(kRecordBytes);
      expand.mutable_values()->set_inline_data(values);
      *expand.mutable_counts() = Int64s(counts);
    }
    *expand.mutable_destination() = ToStream(9);
    ExpectResult(plan, inputs, expected);
  }
}

TEST_F(StreamRowsTest, GathersMoreThanTheDeviceMayHold) {
  constexpr int64_t kSource = 50'000;
  const std::vector<int64_t> counts = Counts(4000);
  std::vector<int64_t> offsets;
  Random random(6);
  const std::string source = Records(kSource);
  std::string expected;
  for (const int64_t count : counts) {
    offsets.push_back(random.Below(kSource - count + 1));
    expected.append(source, static_cast<size_t>(offsets.back() * kRecordBytes),
                    static_cast<size_t>(count * kRecordBytes));
  }
  v1::Plan plan;
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  *gather.mutable_source() = Streamed(v1::ELEMENT_TYPE_RECORD, kSource, 0, kRecordBytes);
  *gather.mutable_source_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, static_cast<int64_t>(offsets.size()), 1);
  *gather.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, static_cast<int64_t>(counts.size()), 2);
  *gather.mutable_destination() = ToStream(9);
  ExpectResult(plan, {{0, kRecordBytes, source}, {1, 8, BytesOf(offsets)}, {2, 8, BytesOf(counts)}}, expected);
}

TEST_F(StreamRowsTest, BalancesMoreThanTheDeviceMayHold) {
  std::vector<int64_t> counts = Counts(4000);
  counts.front() = 60'000;  // more than a piece, from the first object on
  std::vector<uint32_t> objects, ranks;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int64_t k = 0; k < counts[i]; ++k) {
      objects.push_back(static_cast<uint32_t>(i));
      ranks.push_back(static_cast<uint32_t>(k));
    }
  }
  v1::Plan plan;
  v1::LoadBalanceRequest& balance = *plan.add_operations()->mutable_load_balance();
  *balance.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, -1, 1);
  *balance.mutable_objects_destination() = ToStream(9);
  *balance.mutable_ranks_destination() = ToStream(8);
  const StreamedAnswer answer = Execute(running_.stub(), plan, Chunks({{1, 8, BytesOf(counts), 0, true}}, 500));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_GT(static_cast<int64_t>(4 * ranks.size()), 2 * kMostOnDevice);
  EXPECT_TRUE(answer.Output(9, 4) == BytesOf(objects));
  EXPECT_TRUE(answer.Output(8, 4) == BytesOf(ranks));
  EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
}

}  // namespace
}  // namespace corank::testing
