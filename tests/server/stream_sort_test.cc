// Execute: sorts of streamed keys, in pieces, in core and out of core, compared with the oracle.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
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

struct SortCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  Distribution distribution = Distribution::kUniform;
  int64_t count = 0;
  int value_bytes = 0;
  v1::SortOutput output = v1::SORT_OUTPUT_KEYS;
  int64_t limit = -1;
  int64_t offset = 0;
  bool announced = true;
  int64_t chunk_elements = 1000;
};

// Small pieces and windows: kilobytes are treated like gigabytes.
Server::Options SmallPieces() {
  Server::Options options = TestOptions();
  options.long_lanes = 1;
  options.limits.max_chunk_bytes = 8 << 10;
  options.streams.window_bytes = 64 << 10;
  options.streams.piece_bytes = 20000;
  options.streams.max_device_bytes = int64_t{64} << 20;
  return options;
}

Server::Options OutOfCore() {
  Server::Options options = SmallPieces();
  options.streams.max_device_bytes = 64 << 10;
  return options;
}

class StreamSortTest : public ::testing::Test {
 protected:
  static v1::SortResponse Check(RunningServer& running, const SortCase& test) {
    SCOPED_TRACE(::testing::Message() << KeyTypeName(test.type) << " n=" << test.count << " values=" << test.value_bytes
                                      << " output=" << test.output << " limit=" << test.limit
                                      << " offset=" << test.offset << (test.announced ? "" : " not announced") << " "
                                      << DistributionName(test.distribution) << " chunks of " << test.chunk_elements);
    const int key_bytes = KeyBytes(test.type);
    const Bytes keys = MakeKeys(test.type, test.distribution, test.count, 7);
    std::vector<int64_t> order = StableOrder(test.type, test.order, keys);
    order = FirstOfOrder(std::move(order), test.limit, {}, test.offset);
    const bool wants_keys = test.output != v1::SORT_OUTPUT_INDICES, wants_indices = test.output != v1::SORT_OUTPUT_KEYS;
    v1::Plan plan = SortPlan(static_cast<v1::ElementType>(test.type), test.announced ? test.count : -1);
    v1::SortRequest& sort = *plan.mutable_operations(0)->mutable_sort();
    sort.set_output(test.output);
    if (test.limit >= 0) sort.set_limit(test.limit);
    if (test.offset > 0) sort.set_offset(test.offset);
    if (!wants_keys) sort.clear_keys_destination();
    if (wants_indices) *sort.mutable_indices_destination() = ToStream(3);
    sort.set_order(test.order == Order::kAscending ? v1::SORT_ORDER_ASCENDING : v1::SORT_ORDER_DESCENDING);
    std::vector<StreamedInput> inputs = {{0, key_bytes, Text(keys), 0, !test.announced}};
    const Bytes values = MakeBytes(test.count * test.value_bytes, 8);
    if (test.value_bytes > 0) {
      *sort.mutable_values() = Streamed(v1::ELEMENT_TYPE_RECORD, test.announced ? test.count : -1, 5,
                                        static_cast<uint32_t>(test.value_bytes));
      *sort.mutable_values_destination() = ToStream(9);
      inputs.push_back({5, test.value_bytes, Text(values), 0, !test.announced});
    }
    const StreamedAnswer answer = Execute(running.stub(), plan, Chunks(inputs, test.chunk_elements));
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    if (wants_keys) {
      EXPECT_TRUE(answer.Output(0, key_bytes) == Text(Gather(keys, key_bytes, order))) << "keys";
    }
    if (wants_indices) {
      const std::vector<uint32_t> indices(order.begin(), order.end());
      const std::string_view expected(reinterpret_cast<const char*>(indices.data()), 4 * indices.size());
      EXPECT_TRUE(answer.Output(3, 4) == expected) << "indices";
    }
    if (test.value_bytes > 0) {
      EXPECT_TRUE(answer.Output(9, test.value_bytes) == Text(Gather(values, test.value_bytes, order))) << "values";
    }
    if (answer.results.size() != 1) {
      ADD_FAILURE() << answer.results.size() << " results";
      return {};
    }
    const v1::SortResponse& response = answer.results[0].sort();
    const auto count = static_cast<int64_t>(order.size());
    EXPECT_EQ(response.has_keys(), wants_keys);
    EXPECT_EQ(response.keys().count(), wants_keys ? count : 0);
    EXPECT_EQ(response.keys().stream().stream_id(), 0U);
    EXPECT_EQ(response.has_values(), test.value_bytes > 0);
    EXPECT_EQ(response.has_indices(), wants_indices);
    if (wants_indices) {
      EXPECT_EQ(response.indices().count(), count);
      EXPECT_EQ(response.indices().type(), v1::ELEMENT_TYPE_UINT32);
      EXPECT_EQ(response.indices().stream().stream_id(), 3U);
    }
    return response;
  }
};

TEST_F(StreamSortTest, SortsKeysOfEveryTypeInPieces) {
  RunningServer running(SmallPieces());
  for (KeyType type : kAllKeyTypes) {
    for (Order order : {Order::kAscending, Order::kDescending}) {
      SortCase test;
      test.type = type;
      test.order = order;
      test.distribution = Distribution::kSpecialFloats;
      test.count = 30011;
      test.value_bytes = 3;  // distinguishes equal keys
      test.announced = order == Order::kAscending;
      EXPECT_GT(Check(running, test).stats().runs(), 1);
    }
  }
  ExpectAllFreed(running.server());
}

TEST_F(StreamSortTest, SortsAnySizeInAnyChunks) {
  RunningServer running(SmallPieces());
  for (int64_t count : {0, 1, 2, 1999, 2000, 2001, 4999, 5000, 5001, 70001, 500000}) {
    for (bool announced : {true, false}) {
      SortCase test;
      test.count = count;
      test.announced = announced;
      test.chunk_elements = count < 10 ? 1 : 1999;
      const v1::SortResponse response = Check(running, test);
      EXPECT_FALSE(response.stats().out_of_core());
    }
  }
  ExpectAllFreed(running.server());
}

TEST_F(StreamSortTest, WorksOutOfCoreAndSaysSo) {
  RunningServer running(OutOfCore());
  for (bool announced : {true, false}) {
    for (int value_bytes : {0, 8}) {
      SortCase test;
      test.count = 40000;
      test.announced = announced;
      test.value_bytes = value_bytes;
      test.distribution = Distribution::kSixteenDistinct;
      const v1::SortResponse response = Check(running, test);
      EXPECT_TRUE(response.stats().out_of_core());
      EXPECT_GT(response.stats().runs(), 32) << "more than one merge can take";
    }
  }
  ExpectAllFreed(running.server());
}

TEST_F(StreamSortTest, ReturnsIndicesOfTheWholeArrayAndFirstRowsFromPieces) {
  for (const bool in_core : {true, false}) {
    RunningServer running(in_core ? SmallPieces() : OutOfCore(), ReachEngine());
    for (const v1::SortOutput output :
         {v1::SORT_OUTPUT_KEYS, v1::SORT_OUTPUT_INDICES, v1::SORT_OUTPUT_KEYS_AND_INDICES}) {
      for (const int64_t limit : {-1, 1, 700, 39999, 40000, 50000}) {
        SortCase test;
        test.type = output == v1::SORT_OUTPUT_KEYS ? KeyType::kFloat64 : KeyType::kInt16;
        test.order = limit == 700 ? Order::kDescending : Order::kAscending;
        test.count = 40000;
        test.distribution = Distribution::kSpecialFloats;
        test.output = output;
        test.limit = limit;
        for (const bool announced : {true, false}) {
          test.announced = announced;
          for (const int64_t offset : {0, 12'345}) {
            test.offset = offset;
            const v1::SortResponse response = Check(running, test);
            EXPECT_EQ(response.stats().out_of_core(), !in_core);
            EXPECT_GT(response.stats().runs(), 1);
          }
        }
      }
    }
    ExpectAllFreed(running.server());
  }
}

TEST_F(StreamSortTest, FirstRowsKeepTheirValuesWhateverIsAnnounced) {
  for (const bool in_core : {true, false}) {
    RunningServer running(in_core ? SmallPieces() : OutOfCore(), ReachEngine());
    for (const bool announced : {true, false}) {
      for (const int64_t limit : {0, 3, 9999, 100000}) {
        SortCase test;
        test.count = 20000;
        test.distribution = Distribution::kSixteenDistinct;
        test.value_bytes = 5;
        test.limit = limit;
        test.announced = announced;
        // Without rows, nothing is made in pieces, and the whole array must fit.
        if (limit > 0 || in_core) Check(running, test);
        test.offset = limit % 2 == 0 ? 7000 : 20001;
        if (limit > 0 || in_core) Check(running, test);
      }
    }
    ExpectAllFreed(running.server());
  }
}

// A few rows may go into the response if the caller wants that: all columns or some.
TEST_F(StreamSortTest, FirstRowsMayGoIntoTheAnswer) {
  constexpr int64_t kCount = 40000, kLimit = 1000;
  const Bytes keys = MakeKeys(KeyType::kUint64, Distribution::kSixteenDistinct, kCount, 3);
  std::vector<int64_t> order = StableOrder(KeyType::kUint64, Order::kAscending, keys);
  order.resize(kLimit);
  const std::vector<uint32_t> indices(order.begin(), order.end());
  const std::string wanted_keys = Text(Gather(keys, 8, order));
  const std::string wanted_indices(reinterpret_cast<const char*>(indices.data()), 4 * indices.size());
  for (const bool in_core : {true, false}) {
    RunningServer running(in_core ? SmallPieces() : OutOfCore(), ReachEngine());
    for (const auto& [streams_keys, announced] :
         std::vector<std::pair<bool, bool>>{{true, true}, {false, true}, {true, false}, {false, false}}) {
      v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_UINT64, announced ? kCount : -1);
      v1::SortRequest& sort = *plan.mutable_operations(0)->mutable_sort();
      sort.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
      sort.set_limit(kLimit);
      if (!streams_keys) sort.clear_keys_destination();
      const StreamedAnswer answer = Execute(running.stub(), plan, Chunks({{0, 8, Text(keys), 0, !announced}}, 999));
      ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
      ASSERT_EQ(answer.results.size(), 1U);
      const v1::SortResponse& response = answer.results[0].sort();
      EXPECT_TRUE((streams_keys ? answer.Output(0, 8) : response.keys().inline_data()) == wanted_keys);
      EXPECT_EQ(response.keys().count(), kLimit);
      EXPECT_TRUE(response.indices().inline_data() == wanted_indices);
      EXPECT_EQ(response.indices().type(), v1::ELEMENT_TYPE_UINT32);
      EXPECT_EQ(response.stats().out_of_core(), !in_core);
      EXPECT_GT(response.stats().runs(), 1);
    }
    ExpectAllFreed(running.server());
  }
}

// 600 KB in pieces take more than 20 KB of the host, but fit on the device.
TEST_F(StreamSortTest, WhatTheHostIsTooSmallForMayFitOntoTheDevice) {
  Server::Options options = SmallPieces();
  options.streams.max_device_bytes = 2 << 20;
  options.streams.max_host_bytes = 20 << 10;
  RunningServer running(options);
  SortCase test;
  test.count = 300'000;  // more than half of the device memory
  test.limit = 70'000;
  const v1::SortResponse response = Check(running, test);
  EXPECT_FALSE(response.stats().out_of_core());
  EXPECT_EQ(response.stats().runs(), 0);
  ExpectAllFreed(running.server());
}

// The server holds the active pieces of a 4 MB array and their first rows only.
TEST_F(StreamSortTest, FirstRowsOfALongArrayTakeLittleOfTheHost) {
  Server::Options options = OutOfCore();
  options.streams.max_host_bytes = 200 << 10;
  RunningServer running(options);
  SortCase test;
  test.count = 1'000'000;
  test.limit = 5;
  test.output = v1::SORT_OUTPUT_KEYS_AND_INDICES;
  EXPECT_TRUE(Check(running, test).stats().out_of_core());
  ExpectAllFreed(running.server());
}

TEST_F(StreamSortTest, TakesKeysFirstAndValuesAfterwards) {
  for (const Server::Options& options : {SmallPieces(), OutOfCore()}) {
    RunningServer running(options);
    const int64_t count = 20000;
    const Bytes keys = MakeKeys(KeyType::kInt16, Distribution::kUniform, count, 3);
    const Bytes values = MakeBytes(count * 4, 4);
    v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_INT16, count);
    *plan.mutable_operations(0)->mutable_sort()->mutable_values() = Streamed(v1::ELEMENT_TYPE_FLOAT32, count, 1);
    *plan.mutable_operations(0)->mutable_sort()->mutable_values_destination() = ToStream(1);
    std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 2, Text(keys)}}, 777);
    for (v1::ExecuteRequest& chunk : Chunks({{1, 4, Text(values)}}, 555)) chunks.push_back(std::move(chunk));
    const StreamedAnswer answer = Execute(running.stub(), plan, chunks);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    const std::vector<int64_t> order = StableOrder(KeyType::kInt16, Order::kAscending, keys);
    EXPECT_TRUE(answer.Output(0, 2) == Text(Gather(keys, 2, order)));
    EXPECT_TRUE(answer.Output(1, 4) == Text(Gather(values, 4, order)));
    ExpectAllFreed(running.server());
  }
}

// Keys or indices, both of 4 bytes.
void JoinParts(RunningServer& running, v1::SortOutput output, int64_t limit) {
  SCOPED_TRACE(::testing::Message() << "output=" << output << " limit=" << limit);
  const int64_t count = 50000;
  const Bytes keys = MakeKeys(KeyType::kFloat32, Distribution::kSpecialFloats, count, 5);
  const std::string text = Text(keys);
  const int64_t cuts[] = {0, 20001, 20001, count};  // one part is empty
  std::vector<StreamedAnswer> answers(3);
  std::vector<std::thread> parts;
  for (size_t part = 0; part < 3; ++part) {
    parts.emplace_back([&, part] {
      v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_FLOAT32, count);
      v1::SortRequest& sort = *plan.mutable_operations(0)->mutable_sort();
      sort.set_output(output);
      if (limit >= 0) sort.set_limit(limit);
      if (output == v1::SORT_OUTPUT_INDICES) sort.mutable_indices_destination()->Swap(sort.mutable_keys_destination());
      if (output == v1::SORT_OUTPUT_INDICES) sort.clear_keys_destination();
      plan.set_job_id("job");
      plan.set_parts(3);
      plan.set_part(static_cast<uint32_t>(part));
      StreamedInput input{
          0, 4,
          text.substr(static_cast<size_t>(cuts[part] * 4), static_cast<size_t>((cuts[part + 1] - cuts[part]) * 4))};
      input.first_element = cuts[part];
      const auto stub = v1::CorankService::NewStub(Connect(running.server().address()));
      answers[part] = Execute(*stub, plan, Chunks({input}, 1234));
    });
  }
  for (std::thread& part : parts) part.join();
  std::vector<int64_t> order = StableOrder(KeyType::kFloat32, Order::kAscending, keys);
  if (limit >= 0) order.resize(static_cast<size_t>(limit));
  const std::vector<uint32_t> indices(order.begin(), order.end());
  const std::string expected = output == v1::SORT_OUTPUT_INDICES
                                   ? std::string(reinterpret_cast<const char*>(indices.data()), 4 * indices.size())
                                   : Text(Gather(keys, 4, order));
  std::string joined(expected.size(), '\0');
  size_t bytes = 0;
  for (const StreamedAnswer& answer : answers) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.results.size(), 1U);
    int64_t last = -1;
    for (const v1::ArrayChunk& chunk : answer.chunks) {
      EXPECT_GT(chunk.first_element(), last);
      last = chunk.first_element();
      joined.replace(static_cast<size_t>(chunk.first_element()) * 4, chunk.data().size(), chunk.data());
      bytes += chunk.data().size();
    }
  }
  EXPECT_EQ(bytes, expected.size());
  EXPECT_TRUE(joined == expected);
}

TEST_F(StreamSortTest, JoinsPartsOfSeveralCalls) {
  for (const Server::Options& options : {SmallPieces(), OutOfCore()}) {
    RunningServer running(options);
    JoinParts(running, v1::SORT_OUTPUT_KEYS, -1);
    JoinParts(running, v1::SORT_OUTPUT_INDICES, -1);
    JoinParts(running, v1::SORT_OUTPUT_INDICES, 10);
    JoinParts(running, v1::SORT_OUTPUT_KEYS, 30000);
    ExpectAllFreed(running.server());
  }
}

}  // namespace
}  // namespace corank::testing
