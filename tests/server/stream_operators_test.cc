// Execute: every operator with its arrays streamed gives the answer that its unary method gives with them inline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tests/server/bad_requests.h"
#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/request_table.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/server/streamed_operation.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using google::protobuf::Message;
using ::testing::HasSubstr;

// Turns every inline array into a stream.
void StreamInputs(Message& message, bool announce, std::vector<StreamedInput>& inputs) {
  ForArrays(message, [&](v1::Array& array) {
    inputs.push_back(MakeStream(array, static_cast<uint32_t>(3 * inputs.size() + 1), announce));
  });
}

// Puts the streamed outputs in, as if they had come inline.
void Inline(Message& response, const StreamedAnswer& answer) {
  ForArrays(response, [&](v1::Array& array) {
    ASSERT_TRUE(array.has_stream()) << array.ShortDebugString();
    array.set_inline_data(answer.Output(array.stream().stream_id(), ElementBytes(array)));
  });
}

void SetCount(v1::Array& array) {
  array.set_count(static_cast<int64_t>(array.inline_data().size()) / ElementBytes(array));
}

Server::Options SmallWindow() {
  Server::Options options = TestOptions();
  options.limits.max_chunk_bytes = 4 << 10;
  options.streams.window_bytes = 32 << 10;
  options.arrays.max_bytes = options.arrays.quota_bytes = 1 << 20;
  return options;
}

class StreamOperatorsTest : public ::testing::Test {
 protected:
  /// From the unary method, and from streams with and without counts.
  template <typename Request, typename Response = typename Unary<Request>::Response>
  void ExpectAnswer(const Request& request, Response expected) {
    ForArrays(expected, SetCount);
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = Call(running_.stub(), &context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ExpectBare(response, expected);
    for (const bool announce : {true, false}) {
      SCOPED_TRACE(request.GetTypeName() + (announce ? "" : ", counts left out"));
      v1::Plan plan;
      Message& streamed = OperationOf(*plan.add_operations(), request);
      std::vector<StreamedInput> inputs;
      StreamInputs(streamed, announce, inputs);
      uint32_t next_id = 1;
      Response shape = expected;
      ForDestinations(streamed, shape, [&next_id](v1::Destination& destination) { destination = ToStream(next_id++); });
      StreamedAnswer answer = Execute(running_.stub(), plan, Chunks(inputs, 97));
      ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
      ASSERT_EQ(answer.results.size(), 1U);
      Message& result = ResultOf(answer.results[0]);
      ASSERT_EQ(result.GetDescriptor(), expected.GetDescriptor());
      EXPECT_EQ(static_cast<Response&>(result).stats().engine(), v1::ENGINE_CPU);
      Inline(result, answer);
      ExpectBare(result, expected);
    }
  }
  template <typename Request>
  void ExpectAnswer(const Request& request) {
    typename Unary<Request>::Response expected;
    ReadAnswer(request, &expected);
    ExpectAnswer(request, expected);
  }
  static void ExpectBare(Message& response, const Message& expected) {
    for (const char* const name : {"stats", "algorithm"}) {
      const auto* const field = response.GetDescriptor()->FindFieldByName(name);
      if (field != nullptr) response.GetReflection()->ClearField(&response, field);
    }
    EXPECT_EQ(response.SerializeAsString(), expected.SerializeAsString())
        << response.ShortDebugString().substr(0, 500) << "\nexpected\n"
        << expected.ShortDebugString().substr(0, 500);
  }
  void TearDown() override { ExpectAllFreed(running_.server()); }

  RunningServer running_{SmallWindow(), ReachEngine()};
};

v1::Array ArrayOf(v1::ElementType type, const Bytes& bytes) { return MakeArray(type, bytes.data(), bytes.size()); }

v1::Array RecordsOf(const Bytes& bytes, uint32_t record_bytes) {
  return Records(record_bytes, std::string(bytes.begin(), bytes.end()));
}

TEST_F(StreamOperatorsTest, AnswersAsTheTableOfRequests) {
  for (const AnyRequest& request : GoodRequests()) {
    std::visit([this](const auto& typed) { ExpectAnswer(typed); }, request);
  }
  v1::SortRequest columns = GoodColumnSort();
  *columns.mutable_run_offsets() = Int64s({0, 1, 3});
  ExpectAnswer(columns);
}

TEST_F(StreamOperatorsTest, SortsWithIndicesLimitsAndSegments) {
  const Bytes keys = MakeKeys(KeyType::kInt32, Distribution::kSixteenDistinct, 20000, 1);
  v1::SortRequest request;
  *request.mutable_keys() = ArrayOf(v1::ELEMENT_TYPE_INT32, keys);
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  for (const std::vector<int64_t>& offsets : {std::vector<int64_t>(), {0, 5, 5, 12000, 20000}}) {
    if (!offsets.empty()) *request.mutable_segment_offsets() = Int64s(offsets);
    for (const int64_t limit : {-1, 700}) {
      request.clear_limit();
      if (limit >= 0) request.set_limit(limit);
      const std::vector<int64_t> order =
          FirstOfOrder(StableOrder(KeyType::kInt32, Order::kAscending, keys, offsets), limit, offsets);
      v1::SortResponse expected;
      *expected.mutable_keys() = ArrayOf(v1::ELEMENT_TYPE_INT32, Gather(keys, 4, order));
      *expected.mutable_indices() = ArrayOf(v1::ELEMENT_TYPE_UINT32, IndexArray(order, 4));
      ExpectAnswer(request, expected);
    }
  }
}

TEST_F(StreamOperatorsTest, MergesManyInputsWithValues) {
  v1::MergeRequest request;
  std::vector<Bytes> keys;
  Bytes all_keys, all_values;
  for (uint64_t i = 0; i < 5; ++i) {
    const auto count = static_cast<int64_t>(3000 * i);
    const Bytes unsorted = MakeKeys(KeyType::kFloat32, Distribution::kSixteenDistinct, count, i);
    keys.push_back(Gather(unsorted, 4, StableOrder(KeyType::kFloat32, Order::kAscending, unsorted)));
    const Bytes values = MakeBytes(count * 5, 6 + i);
    *request.add_keys() = ArrayOf(v1::ELEMENT_TYPE_FLOAT32, keys.back());
    *request.add_values() = RecordsOf(values, 5);
    all_keys.insert(all_keys.end(), keys.back().begin(), keys.back().end());
    all_values.insert(all_values.end(), values.begin(), values.end());
  }
  const std::vector<int64_t> order = MergeOrder(KeyType::kFloat32, Order::kAscending, keys);
  v1::MergeResponse expected;
  *expected.mutable_keys() = ArrayOf(v1::ELEMENT_TYPE_FLOAT32, Gather(all_keys, 4, order));
  *expected.mutable_values() = RecordsOf(Gather(all_values, 5, order), 5);
  ExpectAnswer(request, expected);
}

TEST_F(StreamOperatorsTest, MovesLargeIntervals) {
  const Bytes values = MakeBytes(3000 * 7, 6);
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < 3000; ++i) counts.push_back(i % 9);
  const auto [objects, ranks] = LoadBalance(counts);
  v1::ExpandIntervalsRequest expand;
  *expand.mutable_values() = RecordsOf(values, 7);
  *expand.mutable_counts() = Int64s(counts);
  v1::ExpandIntervalsResponse expanded;
  *expanded.mutable_values() = RecordsOf(Gather(values, 7, objects), 7);
  ExpectAnswer(expand, expanded);
  v1::LoadBalanceRequest balance;
  *balance.mutable_counts() = Int64s(counts);
  v1::LoadBalanceResponse balanced;
  *balanced.mutable_objects() = ArrayOf(v1::ELEMENT_TYPE_UINT32, IndexArray(objects, 4));
  *balanced.mutable_ranks() = ArrayOf(v1::ELEMENT_TYPE_UINT32, IndexArray(ranks, 4));
  ExpectAnswer(balance, balanced);
}

TEST_F(StreamOperatorsTest, NamesTheSameFieldOfFaultyArrays) {
  for (const BadRequest& row : FaultyRequests()) {
    SCOPED_TRACE(row.name);
    v1::Plan plan;
    Message& streamed = std::visit(
        [&plan](const auto& request) -> Message& { return OperationOf(*plan.add_operations(), request); }, row.request);
    std::vector<StreamedInput> inputs;
    StreamInputs(streamed, true, inputs);
    const grpc::Status status = Execute(running_.stub(), plan, Chunks(inputs, 3)).status;
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(row.code)) << status.error_message();
    EXPECT_EQ(BadField(status), "plan.operations[0]." + row.field) << status.error_message();
  }
}

TEST_F(StreamOperatorsTest, LooksAtOffsetsWhenTheyHaveCome) {
  v1::Plan plan;
  *plan.add_operations()->mutable_gather_intervals() = GoodGather();
  v1::GatherIntervalsRequest& gather = *plan.mutable_operations(0)->mutable_gather_intervals();
  *gather.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, 2, 0);
  const int64_t counts[] = {2, 5};  // of a source of 4 elements
  const std::string bytes(reinterpret_cast<const char*>(counts), sizeof(counts));
  const grpc::Status status = Execute(running_.stub(), plan, {Chunk(0, 0, bytes)}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(status), "plan.operations[0].source_offsets[1]") << status.error_message();
}

TEST_F(StreamOperatorsTest, EachOperationOfAPlanAnswersInline) {
  // Small results lie in a lane's memory, which the next operation reuses.
  v1::Plan plan;
  for (const AnyRequest& request : GoodRequests()) {
    std::visit([&plan](const auto& typed) { OperationOf(*plan.add_operations(), typed); }, request);
  }
  // A stream's chunks pass through the same memory as the result beside it.
  v1::SortRequest& both = *plan.add_operations()->mutable_sort();
  *both.mutable_keys() = Int32s({3, 1, 2});
  both.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  *both.mutable_keys_destination() = ToStream(1);
  const StreamedAnswer answer = Execute(running_.stub(), plan, {});
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  const std::vector<AnyRequest> requests = GoodRequests();
  ASSERT_EQ(answer.results.size(), requests.size() + 1);
  for (size_t i = 0; i < requests.size(); ++i) {
    v1::OperationResult result = answer.results[i];
    std::visit(
        [&result](const auto& request) {
          typename Unary<std::decay_t<decltype(request)>>::Response expected;
          ReadAnswer(request, &expected);
          ForArrays(expected, SetCount);
          ExpectBare(ResultOf(result), expected);
        },
        requests[i]);
  }
  constexpr uint32_t kOrder[] = {1, 2, 0};
  EXPECT_EQ(answer.results.back().sort().indices().inline_data(),
            std::string(reinterpret_cast<const char*>(kOrder), sizeof(kOrder)));
}

TEST_F(StreamOperatorsTest, ChainsOperationsOverTemporariesAndKeptArrays) {
  const int64_t count = 5000;
  const Bytes keys = MakeKeys(KeyType::kInt32, Distribution::kUniform, count, 1);
  const Bytes more = MakeKeys(KeyType::kInt32, Distribution::kUniform, 3000, 2);
  const std::vector<int64_t> more_order = StableOrder(KeyType::kInt32, Order::kAscending, more);
  const Bytes sorted_more = Gather(more, 4, more_order);
  v1::Plan plan;
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  *sort.mutable_keys() = Streamed(v1::ELEMENT_TYPE_INT32, count, 0);
  sort.mutable_keys_destination()->mutable_stored()->set_name("sorted");
  sort.mutable_keys_destination()->mutable_stored()->set_temporary(true);
  v1::MergeRequest& merge = *plan.add_operations()->mutable_merge();
  v1::Array& first = *merge.add_keys();
  first.set_type(v1::ELEMENT_TYPE_INT32);
  first.mutable_stored()->set_name("sorted");
  first.mutable_stored()->set_temporary(true);
  *merge.add_keys() = Streamed(v1::ELEMENT_TYPE_INT32, -1, 1);
  merge.mutable_keys_destination()->mutable_stored()->set_name("merged");
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  gather.mutable_source()->set_type(v1::ELEMENT_TYPE_INT32);
  gather.mutable_source()->mutable_stored()->set_name("merged");
  *gather.mutable_source_offsets() = Int64s({7000, 0});
  *gather.mutable_counts() = Int64s({1000, 10});
  *gather.mutable_destination() = ToStream(2);
  std::vector<StreamedInput> inputs = {{0, 4, std::string(keys.begin(), keys.end())},
                                       {1, 4, std::string(sorted_more.begin(), sorted_more.end()), 0, true}};
  const StreamedAnswer answer = Execute(running_.stub(), plan, Chunks(inputs, 500));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_EQ(answer.results.size(), 3U);
  EXPECT_EQ(answer.results[0].sort().keys().count(), count);
  EXPECT_EQ(answer.results[1].merge().keys().stored().name(), "merged");

  const Bytes sorted = Gather(keys, 4, StableOrder(KeyType::kInt32, Order::kAscending, keys));
  Bytes all = sorted;
  all.insert(all.end(), sorted_more.begin(), sorted_more.end());
  const Bytes merged = Gather(all, 4, MergeOrder(KeyType::kInt32, Order::kAscending, {sorted, sorted_more}));
  const std::string text(merged.begin(), merged.end());
  EXPECT_EQ(answer.Output(2, 4), text.substr(28000, 4000) + text.substr(0, 40));
  EXPECT_EQ(running_.server().arrays().used_bytes(), 32000) << "the merged keys are kept, the temporary is not";

  // A kept array is a place like any other, even if the last operation of a plan fails: nothing changes.
  plan.mutable_operations(2)->mutable_gather_intervals()->mutable_source()->mutable_stored()->set_name("other");
  plan.mutable_operations(1)->mutable_merge()->mutable_keys_destination()->mutable_stored()->set_name("again");
  const grpc::Status status = Execute(running_.stub(), plan, Chunks(inputs, 500)).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(BadField(status), "plan.operations[2].source.stored.name");
  EXPECT_TRUE(Eventually([&] { return running_.server().arrays().used_bytes() == 32000; }));
}

// Only the caller's claims are that large. The server must not take sums of such sizes for small ones.
TEST_F(StreamOperatorsTest, SizesThatNothingHasAreRefused) {
  constexpr int64_t kMost = (int64_t{1} << 60) - 1;
  const auto expect_refused = [this](const v1::Plan& plan, const std::string& field) {
    const grpc::Status status = Execute(running_.stub(), plan, {}).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(BadField(status), "plan.operations[0]." + field) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("more than any place has"));
  };
  v1::Plan balance;
  v1::LoadBalanceRequest& counts = *balance.add_operations()->mutable_load_balance();
  *counts.mutable_counts() = Int64s({kMost - 2, 1, 1});
  *counts.mutable_objects_destination() = ToStream(0);
  *counts.mutable_ranks_destination() = ToStream(1);
  expect_refused(balance, "objects_destination");
  v1::Plan move;
  v1::MoveIntervalsRequest& intervals = *move.add_operations()->mutable_move_intervals();
  *intervals.mutable_source() = MakeArray(v1::ELEMENT_TYPE_UINT8, "abcd", 4);
  *intervals.mutable_source_offsets() = *intervals.mutable_destination_offsets() = Int64s({0});
  *intervals.mutable_counts() = Int64s({1});
  intervals.set_destination_count(std::numeric_limits<int64_t>::max());
  *intervals.mutable_result_destination() = ToStream(0);
  expect_refused(move, "result_destination");
  v1::Plan sort;
  v1::SortRequest& columns = *sort.add_operations()->mutable_sort();
  for (const uint32_t id : {0, 1}) {
    v1::KeyColumn& column = *columns.add_key_columns();
    *column.mutable_data() = Streamed(v1::ELEMENT_TYPE_UINT8, std::numeric_limits<int64_t>::max(), id);
    *column.mutable_data_destination() = ToStream(id);
  }
  expect_refused(sort, "key_columns[0].data.count");
}

TEST(UnknownLengthTest, ArraysTakeLittleMoreThanTheyHave) {
  Server::Options options = SmallWindow();
  options.streams.max_device_bytes = 5 << 19;
  RunningServer running(options);
  v1::Plan plan;
  v1::MergeRequest& merge = *plan.add_operations()->mutable_merge();
  std::vector<StreamedInput> inputs;
  const auto add = [&inputs](v1::Array& array) {
    const auto id = static_cast<uint32_t>(inputs.size());
    array = Streamed(v1::ELEMENT_TYPE_UINT32, -1, id);
    inputs.push_back({id, 4, "abcd", 0, true});
  };
  for (int i = 0; i < 100; ++i) {
    add(*merge.add_keys());
    add(*merge.add_values());
  }
  *merge.mutable_keys_destination() = ToStream(0);
  *merge.mutable_values_destination() = ToStream(1);
  const StreamedAnswer answer = Execute(running.stub(), plan, Chunks(inputs, 1));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.Output(0, 4).size(), 400U);
}

TEST(UnknownLengthTest, AnArrayHasUpToHalfOfTheMemory) {
  Server::Options options = SmallWindow();
  options.streams.max_device_bytes = 5 << 19;
  RunningServer running(options);
  const auto search_in = [&](size_t bytes) {
    v1::Plan plan;
    v1::SearchRequest& search = *plan.add_operations()->mutable_search();
    *search.mutable_haystack() = Streamed(v1::ELEMENT_TYPE_UINT32, -1, 0);
    *search.mutable_needles() = MakeArray(v1::ELEMENT_TYPE_UINT32, "\1\0\0\0", 4);
    // A chain does not spill.
    v1::SearchRequest& other = *plan.add_operations()->mutable_search();
    *other.mutable_haystack() = *other.mutable_needles() = search.needles();
    return Execute(running.stub(), plan, Chunks({{0, 4, std::string(bytes, '\0'), 0, true}}, 1000));
  };
  const StreamedAnswer half = search_in(5 << 18);
  ASSERT_TRUE(half.status.ok()) << half.status.error_message();
  EXPECT_EQ(half.results[0].search().positions().count(), 1);
  const grpc::Status more = search_in(3 << 19).status;
  EXPECT_EQ(more.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(more), "plan.operations[0].haystack.count") << more.error_message();
  EXPECT_THAT(more.error_message(), HasSubstr("announce"));
}

}  // namespace
}  // namespace corank::testing
