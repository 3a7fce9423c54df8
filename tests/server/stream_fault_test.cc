// Execute: errors of callers and losses of callers at every stage. Nothing may be left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr v1::ElementType kUint32 = v1::ELEMENT_TYPE_UINT32;

Server::Options SmallWindow() {
  Server::Options options = TestOptions();
  options.long_lanes = 2;
  options.limits.max_chunk_bytes = 4 << 10;
  options.streams.window_bytes = 32 << 10;
  options.streams.piece_bytes = 8 << 10;
  options.streams.max_device_bytes = 1 << 20;
  options.streams.max_host_bytes = 4 << 20;
  options.streams.part_patience = absl::Milliseconds(300);
  return options;
}

std::string Elements(int64_t count) {
  const Bytes keys = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, 1);
  return {keys.begin(), keys.end()};
}

// A call whose messages the test sends and reads one by one.
class OpenCall {
 public:
  explicit OpenCall(v1::CorankService::Stub& stub, std::chrono::milliseconds deadline = std::chrono::seconds(30)) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    call_ = stub.Execute(&context_);
  }
  void Send(const v1::Plan& plan) {
    v1::ExecuteRequest request;
    *request.mutable_plan() = plan;
    call_->Write(request);
  }
  bool Send(const v1::ExecuteRequest& request) { return call_->Write(request); }
  void HalfClose() { call_->WritesDone(); }
  bool Read(v1::ExecuteResponse* response) { return call_->Read(response); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() {
    v1::ExecuteResponse ignored;
    while (call_->Read(&ignored)) {
    }
    return call_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>> call_;
};

// Sends a whole sort, in chunks of this many elements. Makes the chunks first, because a started job must not stall.
void SendSort(OpenCall& call, int64_t count, int64_t chunk_elements) {
  const std::vector<v1::ExecuteRequest> chunks = Chunks({{0, 4, Elements(count)}}, chunk_elements);
  call.Send(SortPlan(kUint32, count));
  for (const v1::ExecuteRequest& chunk : chunks) call.Send(chunk);
  call.HalfClose();
}

class StreamFaultTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ExpectAllFreed();
    const std::string keys = Elements(5000);
    EXPECT_TRUE(Execute(stub(), SortPlan(kUint32, 5000), Chunks({{0, 4, keys}}, 1000)).status.ok())
        << "the next good call fails";
    ExpectAllFreed();
  }
  void ExpectAllFreed() {
    EXPECT_TRUE(Eventually([&] {
      return server().active_calls() == 0 && server().host_pool().buffers_in_use() == 0 &&
             server().jobs().memory_in_use == 0 && server().jobs().joining_jobs == 0 &&
             server().waiting_requests() == 0;
    })) << server().active_calls()
        << " calls, " << server().host_pool().buffers_in_use() << " buffers, " << server().jobs().memory_in_use
        << " bytes, " << server().jobs().joining_jobs << " joining";
  }
  void ExpectRefused(const grpc::Status& status, const std::string& field, const std::string& text = "") {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(BadField(status), field) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  }
  // ABORTED because `part` ended with this reason.
  void ExpectLost(const grpc::Status& status, int part, const std::string& cause) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED) << status.error_message();
    const wire::v1::ErrorInfo info = InfoOf(status);
    EXPECT_EQ(info.reason(), "JOB_PART_LOST");
    EXPECT_EQ(info.metadata().at("part"), std::to_string(part)) << status.error_message();
    EXPECT_EQ(info.metadata().at("cause"), cause) << status.error_message();
  }
  std::string Reason(const grpc::Status& status) { return InfoOf(status).reason(); }
  v1::CorankService::Stub& stub() { return running_.stub(); }
  Server& server() { return running_.server(); }

  RunningServer running_{SmallWindow()};
};

TEST_F(StreamFaultTest, ChunksMustBeInOrderAndComplete) {
  const struct {
    std::vector<v1::ExecuteRequest> chunks;
    std::string field, text;
  } rows[] = {
      {{Chunk(0, 0, Elements(10)), Chunk(0, 11, Elements(1))}, "chunk.first_element", "next element of keys is 10"},
      {{Chunk(0, 0, Elements(10)), Chunk(0, 9, Elements(1))}, "chunk.first_element", "next element of keys is 10"},
      {{Chunk(0, -4, Elements(1))}, "chunk.first_element", ""},
      {{Chunk(0, 0, Elements(101))}, "chunk.data", "keys has 100"},
      {{Chunk(0, 0, Elements(100)), Chunk(0, 100, Elements(1))}, "chunk.data", "keys has 100"},
      {{Chunk(1, 0, Elements(1))}, "chunk.stream_id", "no input"},
      {{Chunk(0, 0, "abc")}, "chunk.data", "whole number of elements"},
      {{Chunk(0, 0, Elements(1025))}, "chunk.data", "more than max_chunk_bytes, 4096"},
      {{Chunk(0, 0, Elements(99))}, "keys", "only 99 of 100 elements arrived"},
      {{}, "keys", "only 0 of 100"},
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
  v1::Plan whole = SortPlan(kUint32, -1);
  v1::SortRequest& sort = *whole.mutable_operations(0)->mutable_sort();  // needs all keys first: their number
  sort.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);                     // determines the width of indices
  *sort.mutable_indices_destination() = ToStream(1);
  ExpectRefused(Execute(stub(), whole, Chunks({{0, 4, Elements(400000), 0, true}}, 1024)).status,
                "plan.operations[0].keys.count", "max_device_bytes");
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

TEST_F(StreamFaultTest, PartsThatNeverComeFailTheJob) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("alone");
  plan.set_parts(3);
  OpenCall first(stub()), third(stub());
  first.Send(plan);
  plan.set_part(2);
  third.Send(plan);
  first.Send(Chunk(0, 0, Elements(500)));
  for (OpenCall* part : {&first, &third}) {
    const grpc::Status status = part->Finish();
    EXPECT_EQ(Reason(status), "JOB_INCOMPLETE") << status.error_message();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
    EXPECT_THAT(status.error_message(), HasSubstr("2 of the 3 parts"));
  }
}

TEST_F(StreamFaultTest, PartsMustAgree) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(2);
  OpenCall first(stub());
  first.Send(plan);
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 1; }));
  OpenCall same_part(stub());
  same_part.Send(plan);
  ExpectRefused(same_part.Finish(), "plan.part", "has already arrived");
  plan.set_part(1);
  OpenCall second(stub());
  second.Send(plan);
  second.Send(Chunk(0, 600, Elements(400)));
  second.HalfClose();
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 0; }));
  first.Send(Chunk(0, 0, Elements(601)));
  const grpc::Status one = first.Finish(), other = second.Finish();
  const bool is_first = Reason(one) == "FIELD_INVALID";  // of the part whose chunk came later
  ExpectRefused(is_first ? one : other, "chunk.first_element", "another part");
  ExpectLost(is_first ? other : one, is_first ? 0 : 1, "FIELD_INVALID");
}

TEST_F(StreamFaultTest, PartsWithDifferentPlansFailAtOnce) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(3);
  OpenCall first(stub()), second(stub()), third(stub());
  first.Send(plan);
  plan.set_part(1);
  second.Send(plan);
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 1; }));
  plan.set_part(2);
  plan.mutable_operations(0)->mutable_sort()->set_order(v1::SORT_ORDER_DESCENDING);
  third.Send(plan);
  for (OpenCall* part : {&first, &second, &third}) {
    const grpc::Status status = part->Finish();
    ExpectRefused(status, "plan", "different plans");
    EXPECT_EQ(Reason(status), "JOB_PLANS_DIFFER");
  }
  ExpectAllFreed();
}

TEST_F(StreamFaultTest, OnlyThePartWithTheShorterDeadlineIsLate) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(2);
  OpenCall patient(stub());
  OpenCall hasty(stub(), std::chrono::milliseconds(300));
  patient.Send(plan);
  plan.set_part(1);
  hasty.Send(plan);
  EXPECT_EQ(hasty.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ExpectLost(patient.Finish(), 1, "DEADLINE_PASSED");
}

TEST_F(StreamFaultTest, APartThatGoesFailsAllParts) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(2);
  OpenCall first(stub()), second(stub());
  first.Send(plan);
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 1; }));
  plan.set_part(1);
  second.Send(plan);
  second.Send(Chunk(0, 500, Elements(300)));
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 0; }));
  first.Cancel();
  EXPECT_EQ(first.Finish().error_code(), grpc::StatusCode::CANCELLED);
  const grpc::Status status = second.Finish();
  ExpectLost(status, 0, "CALLER_CANCELLED");
  // Parts that omit elements.
  plan.set_job_id("gap");
  OpenCall third(stub()), fourth(stub());
  third.Send(plan);
  third.Send(Chunk(0, 501, Elements(499)));
  third.HalfClose();
  plan.set_part(0);
  fourth.Send(plan);
  fourth.Send(Chunk(0, 0, Elements(500)));
  fourth.HalfClose();
  ExpectRefused(third.Finish(), "plan.operations[0].keys", "only 999 of 1000");
  ExpectRefused(fourth.Finish(), "plan.operations[0].keys", "only 999 of 1000");
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
  for (const auto& family : server().metrics().registry()->Collect()) {
    for (const auto& metric : family.metric) {
      if (family.name == "corank_requests_total") counted += metric.counter.value;
      if (family.name == "corank_received_bytes_total") received += metric.counter.value;
    }
  }
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
  OpenCall reads_late(running.stub());
  SendSort(reads_late, kCount, 1024);
  EXPECT_TRUE(Eventually([&] { return running.server().jobs().memory_in_use == 0; }));
  const grpc::Status taken = reads_late.Finish();
  EXPECT_EQ(taken.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(taken.error_message(), HasSubstr("nothing for 1s"));  // not "sent", except on a stalled machine
  OpenCall reads_nothing(running.stub(), std::chrono::minutes(10));
  SendSort(reads_nothing, kCount, 1024);
  EXPECT_TRUE(Eventually([&] { return running.server().active_calls() == 1; }));
  const auto has_ended = [&] {
    grpc::ClientContext context;  // its connection lives, so that only the call's own end can end it
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(running.stub().GetServerInfo(&context, {}, &info).ok());
    return running.server().active_calls() == 0;
  };
  EXPECT_TRUE(Eventually(has_ended)) << "its end does not wait for ever";
  EXPECT_TRUE(Eventually([&] { return running.server().host_pool().buffers_in_use() == 0; }));
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
  ASSERT_TRUE(Eventually([&] { return running.server().host_pool().buffers_in_use() == 1; }));
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
