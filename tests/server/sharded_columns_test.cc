// One sort by columns on several devices. The devices are CPU engines that tests hold and lose, so that nothing depends
// on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "server/plan/planner.h"
#include "server/run/device_ops/sharded_column_sort.h"
#include "tests/server/external_columns_fixture.h"
#include "tests/server/sharded_fixture.h"

namespace corank::testing {
namespace {

class ShardedColumnsTest : public ShardedTest {
 protected:
  struct Answer {
    grpc::Status status;
    v1::SortResponse response;
    int devices() const { return status.ok() ? response.stats().devices() : -1; }
  };

  void Start(int devices = 2) {
    ShardedTest::Start(devices);
    ASSERT_TRUE(MemoryCalls(running_->channel()).Register(object_).ok());
  }

  // With all arrays and results in the message.
  static void PlaceInline(SortCall& call) {
    for (const SortCall::Input& input : call.inputs) input.array->set_inline_data(input.bytes);
    for (const SortCall::Output& output : call.outputs) output.destination->Clear();
  }
  Answer Sort(const v1::SortRequest& request) {
    Answer answer;
    grpc::ClientContext context;
    answer.status = running_->stub().Sort(&context, request, &answer.response);
    return answer;
  }
  Answer Sort(const Table& table) {
    SortCall call;
    Build(table, call);
    PlaceInline(call);
    return Sort(call.request);
  }
  Answer SortOn(int devices, const v1::SortRequest& request) {
    return AnswerOn(devices, [&] { return Sort(request); });
  }

  // The results in the message, in the order of SortCall::outputs.
  static std::vector<std::string> ResultsOf(const v1::SortResponse& response) {
    std::vector<std::string> results;
    for (const auto& column : response.key_columns()) {
      results.push_back(column.data().inline_data());
      if (column.has_validity()) results.push_back(column.validity().inline_data());
    }
    if (response.has_values()) results.push_back(response.values().inline_data());
    if (response.has_indices()) results.push_back(response.indices().inline_data());
    return results;
  }
  void CheckInline(int devices, const Table& table) {
    SortCall call;
    Build(table, call);
    PlaceInline(call);
    const Answer answer = SortOn(devices, call.request);
    std::vector<std::string> expected;
    for (const SortCall::Output& output : call.outputs) expected.push_back(output.expected);
    EXPECT_TRUE(ResultsOf(answer.response) == expected);
    EXPECT_NE(answer.response.algorithm(), v1::SORT_ALGORITHM_UNSPECIFIED);
  }

  SharedObject object_{kRegionBytes};
};

class ColumnsOn : public ShardedColumnsTest, public ::testing::WithParamInterface<int> {};

TEST_P(ColumnsOn, AreSortedStablyAsAWhole) {
  Start(GetParam());
  for (const auto& [output, value_bytes] :
       std::vector<std::pair<v1::SortOutput, int>>{{v1::SORT_OUTPUT_KEYS, 0},
                                                   {v1::SORT_OUTPUT_KEYS, 5},
                                                   {v1::SORT_OUTPUT_INDICES, 0},
                                                   {v1::SORT_OUTPUT_KEYS_AND_INDICES, 0}}) {
    for (const int64_t limit : {-1, 1, 700, 19'999, 30'000}) {
      SCOPED_TRACE(::testing::Message() << "output " << output << " values of " << value_bytes << " limit " << limit);
      Table table = Mixed(20'011);
      table.output = output;
      table.value_bytes = value_bytes;
      table.limit = limit;
      CheckInline(GetParam(), table);
    }
  }
  EXPECT_GE(Shared("sort"), 20);
}

TEST_P(ColumnsOn, AreSortedBySegments) {
  Start(GetParam());
  for (const int64_t limit : {-1, 1, 3}) {
    SCOPED_TRACE(limit);
    Table table = Mixed(20'011);
    for (int64_t row = 0; row < 20'011; row += 1 + row % 37) table.segment_offsets.push_back(row);
    table.segment_offsets.push_back(20'011);
    table.output = v1::SORT_OUTPUT_KEYS_AND_INDICES;
    table.limit = limit;
    CheckInline(GetParam(), table);
  }
  EXPECT_EQ(Shared("sort"), 3);
}

TEST_P(ColumnsOn, MayHaveFewerRowsThanThereAreDevices) {
  Start(GetParam());
  Table table;
  for (uint64_t i = 0; i < 32; ++i)
    table.columns.push_back(BytesColumn(256, Order::kDescending, MakeBytes(512, i / 31)));
  CheckInline(GetParam(), table);
}

INSTANTIATE_TEST_SUITE_P(OnSeveralDevices, ColumnsOn, ::testing::Values(2, 3, 8));

TEST_F(ShardedColumnsTest, ExchangesPiecesWithoutLinks) {
  are_linked_ = false;
  Start(3);
  for (const int64_t limit : {-1, 700}) {
    Table table = Mixed(20'011);
    table.output = v1::SORT_OUTPUT_KEYS_AND_INDICES;
    table.limit = limit;
    CheckInline(3, table);
  }
}

// Columns, and results where the columns are.
class ColumnsInPlace : public ShardedColumnsTest {
 protected:
  void Place(Table table) {
    table.output = v1::SORT_OUTPUT_KEYS_AND_INDICES;
    Build(table, call_);
    for (size_t i = 0; i < call_.outputs.size(); ++i) {
      places_.push_back(end_);
      if (i < call_.inputs.size()) {
        call_.inputs[i].array->mutable_shared_memory()->set_region("r");
        call_.inputs[i].array->mutable_shared_memory()->set_offset_bytes(end_);
      }
      *call_.outputs[i].destination = ToRegion(end_);
      end_ += static_cast<int64_t>(call_.outputs[i].expected.size() + 64) / 64 * 64;
    }
  }
  Answer SortAgain() {
    std::memset(object_.As<char>(), 0xEE, static_cast<size_t>(end_));
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      std::memcpy(object_.As<char>(places_[i]), call_.inputs[i].bytes.data(), call_.inputs[i].bytes.size());
    }
    return Sort(call_.request);
  }
  void ExpectSorted() {
    for (size_t i = 0; i < call_.outputs.size(); ++i) {
      const std::string& expected = call_.outputs[i].expected;
      EXPECT_TRUE(std::string(object_.As<char>(places_[i]), expected.size()) == expected) << "result " << i;
      EXPECT_EQ(object_.As<char>(places_[i])[expected.size()], '\xEE') << "behind result " << i;
    }
  }

 private:
  SortCall call_;
  std::vector<int64_t> places_;
  int64_t end_ = 0;
};

TEST_F(ColumnsInPlace, AreSorted) {
  Start(3);
  Place(Mixed(20'011));
  AnswerOn(3, [this] { return SortAgain(); });
  ExpectSorted();
}

TEST_F(ColumnsInPlace, AreNeverReadAgainWhenMemoryRunsShort) {
  Start(3);
  Place(Mixed(3001));
  RunShortInEachCall(
      3, [&] { return SortAgain(); },
      [&](const Answer& answer) {
        if (answer.status.ok()) return ExpectSorted();
        EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << answer.status.error_message();
      });
}

TEST_F(ShardedColumnsTest, TriesAgainWhenMemoryRunsShort) {
  Start(3);
  SortCall call;
  Build(Mixed(3001), call);
  PlaceInline(call);
  RunShortInEachCall(
      3, [&] { return Sort(call.request); },
      [&](const Answer& answer) {
        ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
        EXPECT_TRUE(ResultsOf(answer.response)[0] == call.outputs[0].expected);
      });
}

TEST_F(ShardedColumnsTest, TakesOneDeviceWhereOthersCannotHelp) {
  Start();
  const auto devices_of = [this](const auto& request) {
    AwaitIdle();
    return Sort(request).devices();
  };
  EXPECT_EQ(devices_of(Mixed(100)), 1) << "too small";
  EXPECT_EQ(devices_of(Strings(6001)), 1) << "of strings";
  Table table = Mixed(20'011);
  table.limit = 0;
  EXPECT_EQ(devices_of(table), 1) << "of no rows";
  table.limit = -1;
  table.segment_offsets = {0, 77, 20'011};
  EXPECT_EQ(devices_of(table), 1) << "most rows are in one segment";
  table.segment_offsets.clear();
  table.run_offsets = {0, 10'001, 20'011};
  table.columns = WithSortedRuns(table.columns, table.run_offsets);
  EXPECT_EQ(devices_of(table), 1) << "of sorted runs";
  SortCall call;
  Build(Mixed(20'011), call);
  PlaceInline(call);
  call.request.set_output(v1::SORT_OUTPUT_RANKS);
  EXPECT_EQ(devices_of(call.request), 1) << "into ranks";
  EXPECT_EQ(Shared("sort"), 0);
}

TEST_F(ShardedColumnsTest, TakesOneDeviceWithoutPinnedMemoryForCuts) {
  pinned_bytes_ = 1000;
  Start();
  CheckInline(1, Mixed(20'011));
  EXPECT_EQ(Shared("sort"), 0);
}

TEST_F(ShardedColumnsTest, RefusesABadRequestAsOneDeviceDoes) {
  Start();
  SortCall call;
  Build(Mixed(20'011), call);
  PlaceInline(call);
  call.request.mutable_key_columns(1)->mutable_data()->mutable_inline_data()->resize(3 * 20'000);
  call.request.mutable_key_columns(1)->mutable_data()->set_count(20'000);
  EXPECT_EQ(BadField(Sort(call.request).status), "key_columns[1].data.count");
  EXPECT_EQ(Shared("sort"), 0);
}

TEST_F(ShardedColumnsTest, FailsWithADeviceThatIsLostAndTheOthersServeOn) {
  Start();
  SortCall call;
  Build(Mixed(20'011), call);
  PlaceInline(call);
  SortOn(2, call.request);
  LoseADeviceOf([&] { return Sort(call.request); });
  for (int i = 0; i < 5; ++i) {
    const Answer answer = Sort(call.request);
    EXPECT_EQ(answer.devices(), 1) << answer.status.error_message();
    EXPECT_TRUE(ResultsOf(answer.response)[0] == call.outputs[0].expected);
  }
  EXPECT_FALSE(running_->server().device_lost());
}

// By rates of H200s: a bus of 53 GB/s each way, and 5 Grows/s, the least of a sort by columns or a merge of tables.
// Sharing takes the host 1.2 ms, and a tenth more for each further device. Merges and copies out overlap, which is not
// counted here.
double Milliseconds(int64_t rows, int64_t row_bytes, int devices) {
  const double copies = static_cast<double>(rows * row_bytes) / 53e6, sort = static_cast<double>(rows) / 5e6;
  if (devices == 1) return copies + sort;
  return copies / devices + 2 * sort / devices + 1.2 + 0.12 * (devices - 2);
}

TEST(SharingAColumnSort, PaysWhereItIsChosen) {
  const std::vector<uint64_t> links(8, 0xFF);
  const Sharing sharing{3, Exchange::kCopies, ShardedColumnSortOperation::kCost};
  for (const int64_t row_bytes : {2, 12, 20, 1000}) {  // of arrays and results
    for (int most = 2; most <= 8; ++most) {
      PlannerOptions options;
      options.most_shards = most;
      int least = 0;
      for (int log2_bytes = 20; log2_bytes < 40; ++log2_bytes) {
        const int64_t bytes = int64_t{1} << log2_bytes;
        const uint64_t shards = ChooseShards(bytes, sharing, 0xFF, links, options);
        if (shards == 0) continue;
        const int devices = DeviceSet::Count(shards);
        EXPECT_LE(Milliseconds(bytes / row_bytes, row_bytes, devices), Milliseconds(bytes / row_bytes, row_bytes, 1))
            << "rows of " << row_bytes << " bytes, 2^" << log2_bytes << " of them on " << devices << " devices";
        if (least == 0) least = log2_bytes;
      }
      EXPECT_EQ(least, 27);
    }
  }
}

}  // namespace
}  // namespace corank::testing
