// Execute: errors of callers and losses of callers at every stage. Nothing may be left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/server/stream_fault_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(StreamFaultTest, ChunksMustBeInOrderAndComplete) {
  const struct {
    std::vector<v1::ExecuteRequest> chunks;
    std::string field, text;
  } rows[] = {
      {{Chunk(0, 0, Elements(10)), Chunk(0, 11, Elements(1))}, "chunk.first_element", "keys is 10"},
      {{Chunk(0, 0, Elements(10)), Chunk(0, 9, Elements(1))}, "chunk.first_element", "keys is 10"},
      {{Chunk(0, -4, Elements(1))}, "chunk.first_element", ""},
      {{Chunk(0, 0, Elements(101))}, "chunk.data", "keys has 100"},
      {{Chunk(0, 0, Elements(100)), Chunk(0, 100, Elements(1))}, "chunk.data", "keys has 100"},
      {{Chunk(1, 0, Elements(1))}, "chunk.stream_id", "no input"},
      {{Chunk(0, 0, "abc")}, "chunk.data", "whole number of elements"},
      {{Chunk(0, 0, Elements(1025))}, "chunk.data", "more than max_chunk_bytes, 4096"},
      {{Chunk(0, 0, Elements(99))}, "plan.operations[0].keys", "only 99 of 100 elements arrived"},
      {{}, "plan.operations[0].keys", "only 0 of 100"},
      {{v1::ExecuteRequest()}, "chunk", "after the plan"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    ExpectRefused(Execute(stub(), SortPlan(kUint32, 100), row.chunks).status, row.field, row.text);
  }
}

TEST_F(StreamFaultTest, ArraysOfUnknownLengthMustBeEnded) {
  const v1::Plan plan = SortPlan(kUint32, -1);
  ExpectRefused(Execute(stub(), plan, {Chunk(0, 0, Elements(10))}).status, "plan.operations[0].keys",
                "without an empty chunk");
  ExpectRefused(Execute(stub(), plan, {Chunk(0, 0, Elements(10)), Chunk(0, 10, ""), Chunk(0, 10, Elements(1))}).status,
                "chunk.first_element", "has already ended");
}

TEST_F(StreamFaultTest, PlansAreRefusedBeforeAnythingIsSent) {
  v1::Plan good = SortPlan(kUint32, 10);
  const auto refused = [this](const v1::Plan& plan, const std::string& field) {
    SCOPED_TRACE(field);
    OpenCall call(stub());
    call.Send(plan);
    ExpectRefused(call.Finish(), field);  // without a chunk or a half-close
  };
  refused(v1::Plan(), "plan.operations");
  v1::Plan plan;
  plan.add_operations();
  refused(plan, "plan.operations[0]");
  plan = good;
  plan.mutable_operations(0)->mutable_sort()->mutable_keys()->clear_type();
  refused(plan, "plan.operations[0].keys.type");
  plan = good;
  plan.mutable_operations(0)->mutable_sort()->mutable_keys()->set_count(-1);
  refused(plan, "plan.operations[0].keys.count");
  plan = good;
  plan.mutable_operations(0)->mutable_sort()->mutable_keys()->mutable_stream()->set_stream_id(1024);
  refused(plan, "plan.operations[0].keys.stream.stream_id");
  plan = good;
  *plan.mutable_operations(0)->mutable_sort()->mutable_values() = Streamed(kUint32, 10, 0);
  refused(plan, "plan.operations[0].values.stream.stream_id");
  *plan.mutable_operations(0)->mutable_sort()->mutable_values() = Streamed(kUint32, 11, 1);
  refused(plan, "plan.operations[0].values.count");
  plan = good;
  plan.mutable_operations(0)->mutable_sort()->mutable_keys()->set_count(int64_t{1} << 40);
  refused(plan, "plan.operations[0].keys.count");
  plan = good;
  plan.set_parts(65);
  refused(plan, "plan.parts");
  plan.set_parts(2);
  plan.set_part(2);
  refused(plan, "plan.part");
  plan.set_part(1);
  refused(plan, "plan.job_id");
  plan = good;
  *plan.add_operations() = good.operations(0);
  refused(plan, "plan.operations[1].keys.stream.stream_id");
  plan = good;
  v1::StoredPlace& temporary = *plan.mutable_operations(0)->mutable_sort()->mutable_keys()->mutable_stored();
  temporary.set_name("none");
  temporary.set_temporary(true);
  OpenCall call(stub());
  call.Send(plan);
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(StreamFaultTest, TheFirstMessageIsAPlan) {
  OpenCall chunk(stub());
  chunk.Send(Chunk(0, 0, Elements(1)));
  ExpectRefused(chunk.Finish(), "plan");
  OpenCall nothing(stub());
  nothing.HalfClose();
  ExpectRefused(nothing.Finish(), "plan");
  OpenCall gone(stub());
  gone.Cancel();
  EXPECT_EQ(gone.Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(StreamFaultTest, CancelledCallsLeaveNothingAtAnyStage) {
  const std::string keys = Elements(200000);
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, keys}}, 1000);
  for (size_t sent : {size_t{0}, size_t{1}, size_t{57}, chunks.size()}) {
    SCOPED_TRACE(sent);
    OpenCall call(stub());
    call.Send(SortPlan(kUint32, 200000));
    for (size_t i = 0; i < sent; ++i) call.Send(chunks[i]);
    v1::ExecuteResponse response;
    if (sent == chunks.size()) {
      call.HalfClose();
      EXPECT_TRUE(call.Read(&response)) << "in the middle of the answer";
    }
    call.Cancel();
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
    ExpectAllFreed();
  }
}

TEST_F(StreamFaultTest, DeadlinesEndJobsThatWait) {
  const std::string keys = Elements(200000);
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, keys}}, 1000);
  for (size_t sent : {size_t{0}, size_t{30}, chunks.size()}) {
    OpenCall call(stub(), std::chrono::milliseconds(300));
    call.Send(SortPlan(kUint32, 200000));
    for (size_t i = 0; i < sent; ++i) call.Send(chunks[i]);
    absl::SleepFor(absl::Milliseconds(350));  // a caller that does not read
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    ExpectAllFreed();
  }
}

TEST_F(StreamFaultTest, SlowCallersHoldUpThemselvesOnly) {
  // More callers than lanes, none of which reads or continues to send. Others run in their place.
  std::vector<std::unique_ptr<OpenCall>> slow;
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, Elements(100000)}}, 1000);
  for (int i = 0; i < 6; ++i) {
    slow.push_back(std::make_unique<OpenCall>(stub()));
    slow.back()->Send(SortPlan(kUint32, 100000));
    for (size_t c = 0; c < 5; ++c) slow.back()->Send(chunks[c]);
  }
  EXPECT_TRUE(Eventually([&] { return server().waiting_requests() == 0; }))
      << "a slow caller keeps another one waiting";
  OpenCall other(stub());
  SendSort(other, 100000, 1000);
  EXPECT_TRUE(other.Finish().ok());
  grpc::ClientContext context;
  v1::SortRequest request;
  request.mutable_keys()->set_type(kUint32);
  request.mutable_keys()->set_inline_data(Elements(10));
  v1::SortResponse response;
  EXPECT_TRUE(Call(stub(), &context, request, &response).ok()) << "a unary call has lanes of its own";
  std::vector<std::thread> rest;
  for (auto& call : slow) {
    rest.emplace_back([&] {
      for (size_t c = 5; c < chunks.size(); ++c) call->Send(chunks[c]);
      call->HalfClose();
    });
    rest.emplace_back([&] { EXPECT_TRUE(call->Finish().ok()) << "it goes on where it stood"; });
  }
  for (std::thread& thread : rest) thread.join();
}

TEST_F(StreamFaultTest, MemoryStaysWithinTheWindows) {
  Server::Options options = SmallWindow();
  options.streams.max_device_bytes = int64_t{64} << 20;
  const RunningServer running(options);
  const HostPool& pool = running.server().host_pool();
  constexpr int64_t kCount = 4'000'000;  // more than sockets and gRPC itself hold
  OpenCall call(running.stub());
  call.Send(SortPlan(kUint32, kCount));
  int64_t most = 0;
  for (const v1::ExecuteRequest& chunk : Chunks({{0, 4, Elements(kCount)}}, 999)) {
    ASSERT_TRUE(call.Send(chunk));
    most = std::max(most, pool.bytes_in_use());
  }
  call.HalfClose();
  EXPECT_LE(most, options.streams.window_bytes);
  // A late reader: the output fills its window, and the server makes no more of it.
  EXPECT_TRUE(Eventually([&] { return pool.bytes_in_use() > options.streams.window_bytes / 2; }));
  most = 0;
  v1::ExecuteResponse response;
  while (call.Read(&response)) most = std::max(most, pool.bytes_in_use());
  EXPECT_TRUE(call.Finish().ok());
  EXPECT_LE(most, options.streams.window_bytes);
}

TEST_F(StreamFaultTest, ArraysBeyondABudgetNameIt) {
  v1::Plan whole;
  v1::RankRequest& rank = *whole.add_operations()->mutable_rank();  // needs all keys on the device
  *rank.mutable_keys() = Streamed(kUint32, -1, 0);
  *rank.mutable_ranks_destination() = ToStream(1);
  ExpectRefused(Execute(stub(), whole, Chunks({{0, 4, Elements(400000), 0, true}}, 1024)).status,
                "plan.operations[0].keys.count", "max_device_bytes");
  rank.mutable_keys()->set_count(2'000'000);
  ExpectRefused(Execute(stub(), whole, {}).status, "plan.operations[0].keys.count", "max_device_bytes");
  const v1::Plan long_sort = SortPlan(kUint32, -1);
  ExpectRefused(Execute(stub(), long_sort, Chunks({{0, 4, Elements(1200000), 0, true}}, 1024)).status,
                "plan.operations[0].keys", "max_stream_host_bytes");
}

// A limit keeps few rows, but the server believes claims: 2^55 keys, and an unknown number of values.
TEST_F(StreamFaultTest, FirstRowsOfMoreThanAnybodyHasAreRefused) {
  v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_UINT8, int64_t{1} << 55);
  v1::SortRequest& sort = *plan.mutable_operations(0)->mutable_sort();
  *sort.mutable_values() = Streamed(v1::ELEMENT_TYPE_RECORD, -1, 5, 256);
  *sort.mutable_values_destination() = ToStream(9);
  sort.set_limit(1);
  const grpc::Status status = Execute(stub(), plan, {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(BadField(status), "plan.operations[0].keys.count");
}

TEST_F(StreamFaultTest, AServerThatStopsEndsOpenCalls) {
  RunningServer stopping(SmallWindow());
  OpenCall call(stopping.stub());
  call.Send(SortPlan(kUint32, 100000));
  call.Send(Chunk(0, 0, Elements(500)));
  ASSERT_TRUE(Eventually([&] { return stopping.server().jobs().memory_in_use > 0; }));
  stopping.server().Stop();
  EXPECT_FALSE(call.Finish().ok());
}

TEST_F(StreamFaultTest, CountsJobsUnderTheirOperator) {
  const std::string keys = Elements(100);
  EXPECT_TRUE(Execute(stub(), SortPlan(kUint32, 100), Chunks({{0, 4, keys}}, 10)).status.ok());
  ExpectAllFreed();
  double counted = 0, received = 0;
  // A job is counted after its answer has left.
  EXPECT_TRUE(Eventually([&] {
    counted = received = 0;
    for (const auto& family : server().metrics().registry()->Collect()) {
      for (const auto& metric : family.metric) {
        if (family.name == "corank_requests_total") counted += metric.counter.value;
        if (family.name == "corank_received_bytes_total") received += metric.counter.value;
      }
    }
    return counted > 0 && received > 0;
  }));
  EXPECT_EQ(counted, 1);
  EXPECT_GE(received, 400);
}

TEST(StreamIdle, ACallerThatStandsStillLosesItsLane) {
  Server::Options options = SmallWindow();
  options.streams.idle_timeout = absl::Seconds(1);
  options.streams.max_device_bytes = int64_t{64} << 20;
  RunningServer running(options);
  OpenCall sends_nothing(running.stub());
  sends_nothing.Send(SortPlan(kUint32, 1000));
  const grpc::Status sent = sends_nothing.Finish();
  EXPECT_EQ(sent.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(sent.error_message(), HasSubstr("has sent nothing"));
  constexpr int64_t kCount = 8'000'000;  // more than sockets and gRPC itself hold
  // Another call makes gRPC read the connection, so that only a call's own end can end it.
  const auto ask = [&] {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(running.stub().GetServerInfo(&context, {}, &info).ok());
  };
  OpenCall reads_late(running.stub());
  SendSort(reads_late, kCount, 1024);
  EXPECT_TRUE(Eventually([&] {
    ask();
    return running.server().jobs().memory_in_use == 0;
  }));
  const grpc::Status taken = reads_late.Finish();
  EXPECT_EQ(taken.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(taken.error_message(), HasSubstr("nothing for 1s"));  // not "sent", except on a stalled machine
  OpenCall reads_nothing(running.stub(), std::chrono::minutes(10));
  SendSort(reads_nothing, kCount, 1024);
  const auto has_ended = [&] {
    ask();
    return running.server().active_calls() == 0;
  };
  EXPECT_TRUE(Eventually(has_ended)) << "its end does not wait for ever";
  EXPECT_TRUE(Eventually([&] { return running.server().host_pool().bytes_in_use() == 0; }));
  EXPECT_FALSE(reads_nothing.Finish().ok());
}

TEST(StreamSpares, ACallerThatDoesNotReadKeepsNobodyWaiting) {
  Server::Options options = SmallWindow();
  options.long_lanes = 1;
  options.spare_lanes = 1;
  options.streams.max_device_bytes = int64_t{64} << 20;
  RunningServer running(options);
  constexpr int64_t kCount = 8'000'000;  // more than sockets and gRPC itself hold
  OpenCall reads_nothing(running.stub(), std::chrono::minutes(10));
  SendSort(reads_nothing, kCount, 1024);
  for (int i = 0; i < 3; ++i) {
    OpenCall other(running.stub());
    SendSort(other, 100'000, 1024);
    EXPECT_TRUE(other.Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return running.server().active_calls() == 1; }))
      << "it has ended, and kept nobody waiting, or one of the others has not";
  reads_nothing.Cancel();
  EXPECT_FALSE(reads_nothing.Finish().ok());
}

TEST(StreamIdle, AnAnswerThatNobodyReadsIsGivenUp) {
  Server::Options options = SmallWindow();
  options.limits.max_chunk_bytes = 1 << 20;
  options.streams.window_bytes = int64_t{16} << 20;  // the lane finishes long before its caller
  options.streams.max_device_bytes = int64_t{64} << 20;
  options.streams.idle_timeout = absl::Seconds(1);
  RunningServer running(options);
  OpenCall call(running.stub(), std::chrono::minutes(10));
  constexpr int64_t kCount = 3'000'000;
  SendSort(call, kCount, 1 << 18);
  EXPECT_TRUE(Eventually([&] { return running.server().active_calls() == 1; }));
  const auto has_ended = [&] {
    grpc::ClientContext context;  // the connection lives
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(running.stub().GetServerInfo(&context, {}, &info).ok());
    return running.server().active_calls() == 0;
  };
  EXPECT_TRUE(Eventually(has_ended));
  EXPECT_TRUE(Eventually([&] { return running.server().host_pool().bytes_in_use() == 0; }));
  EXPECT_FALSE(call.Finish().ok());
}

TEST(StreamPool, AFullPoolRefusesWithRetryInfo) {
  Server::Options options = SmallWindow();
  options.host_pool.max_bytes = 16 << 10;  // a chunk and a tile for each of two
  options.host_pool.max_kept_bytes = 0;
  options.long_lanes = 1;
  options.spare_lanes = 0;
  RunningServer running(options);
  OpenCall first(running.stub());
  first.Send(SortPlan(kUint32, 100000));
  first.Send(Chunk(0, 0, Elements(1000)));
  ASSERT_TRUE(Eventually([&] { return running.server().jobs().memory_in_use > 0; })) << "it has the lane";
  OpenCall waiting(running.stub());
  waiting.Send(SortPlan(kUint32, 100000));
  waiting.Send(Chunk(0, 0, Elements(1000)));
  ASSERT_TRUE(Eventually([&] { return running.server().host_pool().bytes_in_use() == HostPool::BufferBytes(4000); }));
  OpenCall refused(running.stub());
  refused.Send(SortPlan(kUint32, 100000));
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  first.Cancel();
  waiting.Cancel();
}

}  // namespace
}  // namespace corank::testing
