// Execute: merges of streamed arrays, in core and out of core. Rows leave while others arrive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

// Small windows and tiles: kilobytes are treated like gigabytes.
Server::Options InCore() {
  Server::Options options = TestOptions();
  options.long_lanes = 1;
  options.limits.max_chunk_bytes = 8 << 10;
  options.streams.window_bytes = 64 << 10;
  options.streams.max_device_bytes = int64_t{64} << 20;
  return options;
}

Server::Options OutOfCore() {
  Server::Options options = InCore();
  options.streams.max_device_bytes = 64 << 10;
  return options;
}

// Input i comes in stream i, its values in stream 100 + i. Results go to streams 0 and 1.
struct Merge {
  v1::Plan plan;
  std::vector<StreamedInput> inputs;
  std::string keys, values;  // the expected results
};

Merge MakeMerge(KeyType type, Order order, Distribution distribution, const std::vector<int64_t>& counts,
                int value_bytes) {
  Merge merge;
  v1::MergeRequest& request = *merge.plan.add_operations()->mutable_merge();
  request.set_order(order == Order::kAscending ? v1::SORT_ORDER_ASCENDING : v1::SORT_ORDER_DESCENDING);
  *request.mutable_keys_destination() = ToStream(0);
  if (value_bytes > 0) *request.mutable_values_destination() = ToStream(1);
  Bytes all_keys, all_values;
  const int key_bytes = KeyBytes(type);
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto id = static_cast<uint32_t>(i);
    Bytes keys = MakeKeys(type, distribution, counts[i], 3 + i);
    keys = Gather(keys, key_bytes, StableOrder(type, order, keys));
    *request.add_keys() = Streamed(static_cast<v1::ElementType>(type), counts[i], id);
    merge.inputs.push_back({id, key_bytes, Text(keys), 0, false});
    all_keys.insert(all_keys.end(), keys.begin(), keys.end());
    if (value_bytes == 0) continue;
    const Bytes values = MakeBytes(counts[i] * value_bytes, 50 + i);
    *request.add_values() = Streamed(v1::ELEMENT_TYPE_RECORD, counts[i], 100 + id, static_cast<uint32_t>(value_bytes));
    merge.inputs.push_back({100 + id, value_bytes, Text(values), 0, false});
    all_values.insert(all_values.end(), values.begin(), values.end());
  }
  const std::vector<int64_t> sorted = StableOrder(type, order, all_keys);
  merge.keys = Text(Gather(all_keys, key_bytes, sorted));
  if (value_bytes > 0) merge.values = Text(Gather(all_values, value_bytes, sorted));
  return merge;
}

v1::MergeResponse Check(RunningServer& running, const Merge& merge, int value_bytes,
                        const std::vector<v1::ExecuteRequest>& chunks) {
  const StreamedAnswer answer = Execute(running.stub(), merge.plan, chunks);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_TRUE(answer.Output(0, merge.inputs[0].element_bytes) == merge.keys) << "keys";
  if (value_bytes > 0) {
    EXPECT_TRUE(answer.Output(1, value_bytes) == merge.values) << "values";
  }
  ExpectAllFreed(running.server());
  if (answer.results.size() != 1) {
    ADD_FAILURE() << answer.results.size() << " results";
    return {};
  }
  return answer.results[0].merge();
}

// Each input to its end before the next one.
std::vector<v1::ExecuteRequest> OneAfterTheOther(const Merge& merge, int64_t chunk_elements) {
  std::vector<v1::ExecuteRequest> chunks;
  for (const StreamedInput& input : merge.inputs) {
    for (v1::ExecuteRequest& chunk : Chunks({input}, chunk_elements)) chunks.push_back(std::move(chunk));
  }
  return chunks;
}

class StreamMergeTest : public ::testing::TestWithParam<bool> {  // whether it works out of core
 protected:
  RunningServer running_{GetParam() ? OutOfCore() : InCore(), ReachEngine()};
};

INSTANTIATE_TEST_SUITE_P(Memory, StreamMergeTest, ::testing::Bool());

TEST_P(StreamMergeTest, IsStableWhateverOrderChunksComeIn) {
  const std::vector<int64_t> counts = {20000, 0, 1, 7000, 12345};
  for (const KeyType type : {KeyType::kInt8, KeyType::kUint32, KeyType::kFloat64}) {
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      for (const int value_bytes : {0, 5}) {
        SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " values=" << value_bytes);
        const Merge merge = MakeMerge(type, order, Distribution::kSixteenDistinct, counts, value_bytes);
        const v1::MergeResponse response = Check(running_, merge, value_bytes, Chunks(merge.inputs, 701));
        EXPECT_EQ(response.keys().count(), 39346);
        EXPECT_EQ(response.algorithm(), v1::MERGE_ALGORITHM_MERGE_PATH);
        EXPECT_EQ(response.stats().out_of_core(), GetParam() && merge.keys.size() + merge.values.size() > 32 << 10);
        Check(running_, merge, value_bytes, OneAfterTheOther(merge, 999));
      }
    }
  }
}

TEST_P(StreamMergeTest, TakesSpecialFloatsAndDistinctKeys) {
  for (const Distribution distribution : {Distribution::kSpecialFloats, Distribution::kUniform}) {
    const Merge merge = MakeMerge(KeyType::kFloat32, Order::kAscending, distribution, {30000, 30000, 10}, 4);
    Check(running_, merge, 4, Chunks(merge.inputs, 1000));
  }
}

TEST_P(StreamMergeTest, MergesMoreInputsThanOnePassTakes) {
  const Merge merge =
      MakeMerge(KeyType::kUint16, Order::kAscending, Distribution::kUniform, std::vector<int64_t>(70, 500), 3);
  Check(running_, merge, 3, Chunks(merge.inputs, 400));
}

TEST_P(StreamMergeTest, EmptyInputsMakeAnEmptyAnswer) {
  const Merge merge = MakeMerge(KeyType::kUint32, Order::kAscending, Distribution::kUniform, {0, 0}, 4);
  EXPECT_EQ(Check(running_, merge, 4, {}).keys().count(), 0);
}

TEST_P(StreamMergeTest, RowsLeaveBeforeTheLastOnesCome) {
  constexpr int64_t kCount = 40000;
  const Merge merge = MakeMerge(KeyType::kUint32, Order::kAscending, Distribution::kUniform, {kCount, kCount}, 0);
  std::vector<v1::ExecuteRequest> chunks = Chunks(merge.inputs, 1000);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto call = running_.stub().Execute(&context);
  v1::ExecuteRequest first;
  *first.mutable_plan() = merge.plan;
  ASSERT_TRUE(call->Write(first));
  // Holds back the last chunk of each input until rows arrive.
  for (size_t i = 0; i + 2 < chunks.size(); ++i) ASSERT_TRUE(call->Write(chunks[i]));
  v1::ExecuteResponse response;
  ASSERT_TRUE(call->Read(&response));
  EXPECT_EQ(response.chunk().data(), merge.keys.substr(0, response.chunk().data().size()));
  ASSERT_TRUE(call->Write(chunks[chunks.size() - 2]));
  ASSERT_TRUE(call->Write(chunks.back()));
  call->WritesDone();
  std::string keys = response.chunk().data();
  while (call->Read(&response)) keys += response.chunk().data();
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_TRUE(keys == merge.keys);
  ExpectAllFreed(running_.server());
}

// A user of a generated stub may do this: nothing is read until everything is sent, and the response is larger than all
// windows.
TEST_P(StreamMergeTest, ACallerMaySendAllBeforeItReads) {
  const Merge merge = MakeMerge(KeyType::kUint64, Order::kAscending, Distribution::kUniform, {100000, 100000}, 0);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto call = running_.stub().Execute(&context);
  v1::ExecuteRequest first;
  *first.mutable_plan() = merge.plan;
  ASSERT_TRUE(call->Write(first));
  for (const v1::ExecuteRequest& chunk : Chunks(merge.inputs, 1000)) ASSERT_TRUE(call->Write(chunk));
  call->WritesDone();
  std::string keys;
  v1::ExecuteResponse response;
  while (call->Read(&response)) keys += response.chunk().data();
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_TRUE(keys == merge.keys);
}

TEST_P(StreamMergeTest, NamesWhatIsNotSorted) {
  constexpr int64_t kCount = 30000;
  // The check covers 1985 of the received keys at a time.
  for (const int64_t wrong : {int64_t{1}, int64_t{1000}, int64_t{1984}, int64_t{1985}, int64_t{3970}, kCount - 1}) {
    Merge merge = MakeMerge(KeyType::kUint32, Order::kAscending, Distribution::kUniform, {20, kCount}, 0);
    merge.inputs[1].bytes.replace(static_cast<size_t>(4 * wrong), 4, std::string(4, '\0'));
    const StreamedAnswer answer = Execute(running_.stub(), merge.plan, Chunks(merge.inputs, 1000));
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(BadField(answer.status), "plan.operations[0].keys[1]");
    EXPECT_THAT(answer.status.error_message(), HasSubstr(absl::StrCat("index ", wrong, " ")));
    ExpectAllFreed(running_.server());
  }
}

TEST_P(StreamMergeTest, WithoutTheCheckAllRowsComeBack) {
  constexpr int64_t kCount = 30000;
  Merge merge = MakeMerge(KeyType::kUint32, Order::kAscending, Distribution::kUniform, {kCount, kCount}, 0);
  merge.plan.mutable_operations(0)->mutable_merge()->set_assume_sorted(true);
  std::reverse(merge.inputs[0].bytes.begin() + 60000, merge.inputs[0].bytes.end());
  const StreamedAnswer answer = Execute(running_.stub(), merge.plan, Chunks(merge.inputs, 1000));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  std::string merged = answer.Output(0, 4), sent = merge.inputs[0].bytes + merge.inputs[1].bytes;
  const auto words = [](const std::string& bytes) {
    std::vector<std::string> all;
    for (size_t i = 0; i < bytes.size(); i += 4) all.push_back(bytes.substr(i, 4));
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_TRUE(words(merged) == words(sent));
}

TEST_P(StreamMergeTest, JoinsPartsOfSeveralCalls) {
  const Merge merge = MakeMerge(KeyType::kUint32, Order::kAscending, Distribution::kUniform, {30001, 20000}, 0);
  std::vector<StreamedAnswer> answers(2);
  std::vector<std::thread> parts;
  for (size_t part = 0; part < 2; ++part) {
    parts.emplace_back([&, part] {
      v1::Plan plan = merge.plan;
      plan.set_job_id("job");
      plan.set_parts(2);
      plan.set_part(static_cast<uint32_t>(part));
      std::vector<StreamedInput> inputs = merge.inputs;
      for (StreamedInput& input : inputs) {
        const size_t half = input.bytes.size() / 8 * 4;
        input.first_element = part == 0 ? 0 : static_cast<int64_t>(half / 4);
        input.bytes = part == 0 ? input.bytes.substr(0, half) : input.bytes.substr(half);
      }
      const auto stub = v1::CorankService::NewStub(Connect(running_.server().address()));
      answers[part] = Execute(*stub, plan, Chunks(inputs, 1234));
    });
  }
  for (std::thread& part : parts) part.join();
  std::string joined(merge.keys.size(), '\0');
  for (const StreamedAnswer& answer : answers) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    for (const v1::ArrayChunk& chunk : answer.chunks) {
      joined.replace(static_cast<size_t>(chunk.first_element()) * 4, chunk.data().size(), chunk.data());
    }
  }
  EXPECT_TRUE(joined == merge.keys);
  ExpectAllFreed(running_.server());
}

}  // namespace
}  // namespace corank::testing
