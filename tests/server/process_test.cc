// corankd as a process, as its users and its supervisor see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "tests/server/corankd_process.h"
#include "tests/server/messages.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "version/version.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> FreePorts(const std::vector<std::string>& more = {}) {
  return corank::testing::FreePorts("cpu", more);
}

// The product, with these arguments.
class Corankd : public Process {
 public:
  explicit Corankd(const std::vector<std::string>& arguments) : Process(ProgramBeside("corankd"), arguments) {}
};

grpc::Status SortOnce(const std::string& address, std::vector<int32_t> keys) {
  const auto stub = v1::CorankService::NewStub(Connect(address));
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(keys);
  grpc::ClientContext context;
  v1::SortResponse response;
  const grpc::Status status = stub->Sort(&context, request, &response);
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(!status.ok() || response.keys().inline_data() == Int32s(keys).inline_data());
  return status;
}

// Slow on any machine: a sorting network over four million keys, or enough keys to take ThreadSanitizer as long.
#ifdef __SANITIZE_THREAD__
constexpr size_t kSlowKeys = 1 << 18;
#else
constexpr size_t kSlowKeys = 1 << 22;
#endif

v1::SortRequest SlowSort() {
  v1::SortRequest request;
  std::vector<int32_t> keys(kSlowKeys);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i * 2654435761U);
  *request.mutable_keys() = Int32s(keys);
  request.set_algorithm(v1::SORT_ALGORITHM_ODD_EVEN_MERGESORT);
  return request;
}

TEST(Corankd, ServesRefusesAndStops) {
  Corankd process(FreePorts({"--max-request-bytes=1000000"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const std::string grpc_address = JsonString(process.Ports(), "grpc");
  const std::string metrics_address = JsonString(process.Ports(), "metrics");
  EXPECT_EQ(JsonString(process.Ports(), "engine"), "cpu");
  // The line follows the file with the ports, which the test has waited for.
  EXPECT_TRUE(Eventually([&] { return ::testing::Value(process.Log(), HasSubstr("\"event\":\"ready\"")); }));
  EXPECT_THAT(process.Log(), HasSubstr(absl::StrCat("\"grpc\":\"", grpc_address, "\"")));
  EXPECT_TRUE(SortOnce(grpc_address, {5, -3, 9}).ok());

  std::string garbage(100'000, '\0');
  for (size_t i = 0; i < garbage.size(); ++i) garbage[i] = static_cast<char>(i * 31 + i / 251);
  Exchange(grpc_address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Exchange(grpc_address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(1000, '\xFF'));
  Exchange(grpc_address, garbage.substr(0, 1000));
  EXPECT_TRUE(SortOnce(grpc_address, {2, 1}).ok()) << "after garbage on the port";

  for (const size_t keys : {300'000, 800'000}) {
    EXPECT_EQ(SortOnce(grpc_address, std::vector<int32_t>(keys)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_TRUE(SortOnce(grpc_address, {3, 1}).ok()) << "after a message over the limit";
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"request_failed\""));

  // A call is counted after its last byte is sent, which the caller may see earlier.
  EXPECT_TRUE(Eventually([&] {
    return ::testing::Value(Scrape(metrics_address),
                            HasSubstr("corank_requests_total{code=\"OK\",operator=\"sort\"} 3\n"));
  }));
  const std::string metrics = Scrape(metrics_address);
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(metrics, HasSubstr("corank_requests_total{code=\"INVALID_ARGUMENT\",operator=\"sort\"} 2\n"));
  for (const char* name : {"corank_request_seconds_bucket", "corank_stage_seconds_bucket", "corank_queue_requests 0",
                           "corank_queue_bytes 0", "corank_lanes_busy{lane=\"long\"} 0", "corank_received_bytes_total",
                           "corank_sent_bytes_total", "corank_engine_info{"}) {
    EXPECT_THAT(metrics, HasSubstr(name));
  }

  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.Log();
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"stopped\""));
}

// Calls that keep one lane busy for a while.
class BusyCalls {
 public:
  BusyCalls(const std::string& address, int count) : stub_(v1::CorankService::NewStub(Connect(address))) {
    for (int i = 0; i < count; ++i) {
      calls_.push_back(std::async(std::launch::async, [this] {
        grpc::ClientContext context;
        v1::SortResponse response;
        return stub_->Sort(&context, request_, &response);
      }));
    }
  }
  std::vector<grpc::StatusCode> Wait() {
    std::vector<grpc::StatusCode> codes;
    for (auto& call : calls_) codes.push_back(call.get().error_code());
    return codes;
  }

 private:
  const v1::SortRequest request_ = SlowSort();
  const std::unique_ptr<v1::CorankService::Stub> stub_;
  std::vector<std::future<grpc::Status>> calls_;
};

TEST(Corankd, NamesVersionCommitAndBuild) {
  FILE* const output = popen((ProgramBeside("corankd") + " --version").c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::string text(200, '\0');
  text.resize(fread(text.data(), 1, text.size(), output));
  EXPECT_EQ(pclose(output), 0);
  EXPECT_EQ(text, VersionLine("corankd") + "\n");
}

TEST(Corankd, FinishesAdmittedWorkAfterSigterm) {
  Corankd process(FreePorts({"--lanes=1"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  BusyCalls calls(JsonString(process.Ports(), "grpc"), 3);
  // One after the other: of two requests that wait before the lane has taken one, perhaps only these have arrived.
  for (const char* state : {"corank_lanes_busy{lane=\"short\"} 1\n", "corank_queue_requests 2\n"}) {
    ASSERT_TRUE(
        Eventually([&] { return ::testing::Value(Scrape(JsonString(process.Ports(), "metrics")), HasSubstr(state)); }));
  }
  process.Signal(SIGTERM);
  EXPECT_THAT(calls.Wait(), ::testing::Each(grpc::StatusCode::OK));
  EXPECT_EQ(process.Wait(), 0) << process.Log();
}

TEST(Corankd, ASecondSignalEndsItAtOnce) {
  Corankd process(FreePorts({"--lanes=1"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  BusyCalls calls(JsonString(process.Ports(), "grpc"), 8);
  ASSERT_TRUE(Eventually([&] {
    return ::testing::Value(Scrape(JsonString(process.Ports(), "metrics")),
                            HasSubstr("corank_lanes_busy{lane=\"short\"} 1\n"));
  }));
  process.Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return process.Log().find("draining") != std::string::npos; }));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(), 128 + SIGINT) << process.Log();
  calls.Wait();
}

TEST(Corankd, ADrainThatTakesTooLongDropsWhatWaitsAndSaysSo) {
  Corankd process(FreePorts({"--lanes=1", "--drain-timeout=0s"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  BusyCalls calls(JsonString(process.Ports(), "grpc"), 8);
  ASSERT_TRUE(Eventually([&] {
    return ::testing::Value(Scrape(JsonString(process.Ports(), "metrics")),
                            HasSubstr("corank_lanes_busy{lane=\"short\"} 1\n"));
  }));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 1) << process.Log();
  EXPECT_THAT(process.Log(), HasSubstr("drain_timed_out"));
  EXPECT_THAT(calls.Wait(), ::testing::Contains(grpc::StatusCode::UNAVAILABLE));
}

TEST(Corankd, StopsAtOnceWhenThereIsNothingToFinish) {
  Corankd process(FreePorts({"--drain-timeout=1h"}));  // the open watch does not count
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const auto channel = Connect(JsonString(process.Ports(), "grpc"));
  RawStream watch(channel, "/grpc.health.v1.Health/Watch", HealthRequest(""));
  ASSERT_EQ(watch.Read(), kServing);
  EXPECT_THAT(Scrape(JsonString(process.Ports(), "metrics")), HasSubstr("corank_queue_requests 0\n"));
  process.Signal(SIGTERM);
  EXPECT_EQ(watch.Read(), kNotServing);
  EXPECT_EQ(process.Wait(), 0) << process.Log();
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"stopped\""));
}

// Calls that their callers leave open.
class OpenCalls {
 public:
  explicit OpenCalls(const std::string& address)
      : channel_(Connect(address)),
        stub_(v1::CorankService::NewStub(channel_)),
        memory_(v1::MemoryService::NewStub(channel_)) {}

  void OpenLease() {
    lease_ = memory_->OpenLease(&contexts_.emplace_back(), v1::OpenLeaseRequest());
    v1::OpenLeaseResponse response;
    EXPECT_TRUE(lease_->Read(&response));
  }
  void OpenWithoutAPlan() { streams_.push_back(stub_->Execute(&contexts_.emplace_back())); }
  // Opens one of two parts of a job.
  void OpenHalfAJob() {
    v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_UINT32, 1000);
    plan.set_job_id("half");
    plan.set_parts(2);
    Send(plan, {Chunk(0, 0, std::string(400, 'x'))});
  }
  void OpenHalfSentStream() { Send(SortPlan(v1::ELEMENT_TYPE_UINT32, 1000), {Chunk(0, 0, std::string(400, 'x'))}); }
  // Sends everything for a response that is larger than sockets and windows hold.
  void OpenUnreadStream() {
    constexpr int64_t kCount = 8 << 20;
    const std::string keys(4 * kCount, 'x');
    Send(SortPlan(v1::ELEMENT_TYPE_UINT32, kCount), Chunks({{0, 4, keys}}, 1 << 18));
    streams_.back()->WritesDone();
  }
  void OpenUnreadFetch() {
    constexpr int64_t kBytes = 32 << 20;
    v1::StoreArrayResponse stored;
    grpc::ClientContext context;
    const auto writer = memory_->StoreArray(&context, &stored);
    v1::StoreArrayRequest request;
    request.mutable_header()->set_name("unread");
    *request.mutable_header()->mutable_array() = Streamed(v1::ELEMENT_TYPE_UINT8, kBytes, 0);
    writer->Write(request);
    for (int64_t done = 0; done < kBytes; done += 1 << 20) {
      request.mutable_chunk()->set_first_element(done);
      request.mutable_chunk()->set_data(std::string(1 << 20, 'x'));
      writer->Write(request);
    }
    writer->WritesDone();
    EXPECT_TRUE(writer->Finish().ok());
    v1::FetchArrayRequest fetch;
    fetch.set_name("unread");
    fetch_ = memory_->FetchArray(&contexts_.emplace_back(), fetch);
    v1::FetchArrayResponse first;
    EXPECT_TRUE(fetch_->Read(&first)) << "it has begun";
  }

  // The statuses of the Execute calls.
  std::vector<grpc::Status> Finish() {
    std::vector<grpc::Status> statuses;
    for (const auto& stream : streams_) {
      v1::ExecuteResponse response;
      while (stream->Read(&response)) {
      }
      statuses.push_back(stream->Finish());
    }
    return statuses;
  }

 private:
  void Send(const v1::Plan& plan, const std::vector<v1::ExecuteRequest>& chunks) {
    streams_.push_back(stub_->Execute(&contexts_.emplace_back()));
    v1::ExecuteRequest request;
    *request.mutable_plan() = plan;
    streams_.back()->Write(request);
    for (const v1::ExecuteRequest& chunk : chunks) streams_.back()->Write(chunk);
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::CorankService::Stub> stub_;
  const std::unique_ptr<v1::MemoryService::Stub> memory_;
  std::deque<grpc::ClientContext> contexts_;
  std::unique_ptr<grpc::ClientReader<v1::OpenLeaseResponse>> lease_;
  std::unique_ptr<grpc::ClientReader<v1::FetchArrayResponse>> fetch_;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>>> streams_;
};

TEST(Corankd, WhatIsOnlyHeldOpenDoesNotHoldItUp) {
  Corankd process(FreePorts({"--drain-timeout=5m"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const auto channel = Connect(process.Address());
  RawStream watch(channel, "/grpc.health.v1.Health/Watch", HealthRequest("live"));
  ASSERT_EQ(watch.Read(), kServing);
  OpenCalls calls(process.Address());
  calls.OpenLease();
  calls.OpenHalfAJob();
  // A part has joined once it is counted among the calls that a drain waits for.
  ASSERT_TRUE(SortOnce(process.Address(), {2, 1}).ok());
  calls.OpenWithoutAPlan();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.Log();
  EXPECT_EQ(watch.Read(), std::nullopt) << "the process lived until it ended: no change, only the end";
  EXPECT_EQ(calls.Finish().front().error_code(), grpc::StatusCode::UNAVAILABLE) << "of the part";
}

TEST(Corankd, CallersThatStandStillDoNotHoldItBeyondTheTimeout) {
  for (void (OpenCalls::*open)() :
       {&OpenCalls::OpenHalfSentStream, &OpenCalls::OpenUnreadStream, &OpenCalls::OpenUnreadFetch}) {
    Corankd process(FreePorts({"--drain-timeout=500ms", "--kept-bytes=100000000"}));
    ASSERT_TRUE(process.AwaitReady()) << process.Log();
    OpenCalls calls(process.Address());
    (calls.*open)();
    // The server handles everything sent earlier before the signal. A lane that sorts for a caller who does not read is
    // busy only until the response waits in the server's window.
    ASSERT_TRUE(Eventually([&] {
      const std::string metrics = Scrape(process.MetricsAddress());
      return open == &OpenCalls::OpenUnreadFetch ||
             metrics.find("corank_batch_requests_count{operator=\"sort\"} 1\n") != std::string::npos;
    }));
    process.Signal(SIGTERM);
    EXPECT_EQ(process.Wait(), 1) << process.Log();
    EXPECT_THAT(process.Log(), HasSubstr("drain_timed_out"));
    for (const grpc::Status& status : calls.Finish()) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    }
  }
}

TEST(Corankd, NothingNewIsTakenWhileItDrains) {
  Corankd process(FreePorts({"--drain-timeout=5m", "--kept-bytes=1000000"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  OpenCalls holds(process.Address());
  holds.OpenHalfSentStream();
  ASSERT_TRUE(Eventually([&] {
    return Scrape(process.MetricsAddress()).find("corank_lanes_busy{lane=\"long\"} 1\n") != std::string::npos;
  }));
  const auto channel = Connect(process.Address());
  RawStream ready(channel, "/grpc.health.v1.Health/Watch", HealthRequest("ready"));
  ASSERT_EQ(ready.Read(), kServing);
  process.Signal(SIGTERM);
  EXPECT_EQ(ready.Read(), kNotServing);
  // Health changes first; refusals follow immediately.
  EXPECT_TRUE(Eventually([&] { return !SortOnce(process.Address(), {2, 1}).ok(); }));
  grpc::Status refused = SortOnce(process.Address(), {2, 1});
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  const auto stub = v1::CorankService::NewStub(channel);
  const StreamedAnswer streamed =
      Execute(*stub, SortPlan(v1::ELEMENT_TYPE_UINT32, 100), Chunks({{0, 4, std::string(400, 'x')}}, 100));
  EXPECT_EQ(streamed.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GT(RetryDelay(streamed.status), absl::ZeroDuration());
  const auto memory = v1::MemoryService::NewStub(channel);
  {
    grpc::ClientContext context;
    v1::StoreArrayResponse response;
    refused = memory->StoreArray(&context, &response)->Finish();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
    EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  }
  {
    grpc::ClientContext context;
    refused = memory->OpenLease(&context, v1::OpenLeaseRequest())->Finish();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  }
  {
    grpc::ClientContext context;
    v1::ListArraysResponse response;
    EXPECT_TRUE(memory->ListArrays(&context, v1::ListArraysRequest(), &response).ok()) << "to give back is allowed";
  }
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 128 + SIGTERM) << "a second signal ends it at once";
  holds.Finish();
}

TEST(Corankd, LogsFailuresWithTheirIdAndOneJsonObjectALineWhateverItIsSent) {
  Corankd process(FreePorts());
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const auto channel = Connect(JsonString(process.Ports(), "grpc"));
  v1::SortRequest without_keys;
  without_keys.mutable_options()->set_request_id("from the test");
  const std::string id_that_is_not_utf8("\x5a\x03\x12\x01\xff", 5);
  for (const std::string& bytes : {without_keys.SerializeAsString(), id_that_is_not_utf8}) {
    grpc::ClientContext context;
    const grpc::Status status = CallRaw(channel, "/corank.v1.CorankService/Sort", &context, bytes);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  const std::string log = process.Log();
  EXPECT_THAT(log, HasSubstr("\"event\":\"request_failed\",\"request_id\":\"from the test\""));
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ::testing::Each(StartsWith("{\"time\":\"")));
}

TEST(Corankd, APortInUseIsOneClearLine) {
  Corankd first(FreePorts());
  ASSERT_TRUE(first.AwaitReady()) << first.Log();
  const std::string taken = JsonString(first.Ports(), "grpc");
  Corankd second({"--engine=cpu", "--metrics-listen=", absl::StrCat("--listen=", taken)});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Log(), HasSubstr(absl::StrCat("cannot listen on ", taken, ": Address already in use")));
  const std::string log = second.Log();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << second.Log();
  const std::string taken_metrics = JsonString(first.Ports(), "metrics");
  Corankd third({"--engine=cpu", "--listen=127.0.0.1:0", absl::StrCat("--metrics-listen=", taken_metrics)});
  EXPECT_EQ(third.Wait(), 1);
  EXPECT_THAT(third.Log(), HasSubstr(absl::StrCat("cannot listen on ", taken_metrics)));
}

TEST(Corankd, KeptArraysThatLeaveNoMemoryToWorkWithAreOneClearLine) {
  Corankd process(FreePorts({"--kept-bytes=1000TiB"}));
  EXPECT_EQ(process.Wait(), 1);
  const std::string log = process.Log();
  EXPECT_THAT(log, HasSubstr("\"event\":\"start_failed\",\"message\":\"--kept-bytes 1099511627776000 leaves 0 bytes"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(Corankd, BadConfigurationExitsWithTwoAndTheReason) {
  Corankd process(FreePorts({"--lanes=0"}));
  EXPECT_EQ(process.Wait(), 2);
  EXPECT_THAT(process.Log(), HasSubstr("--lanes: 0 is not in 1 to 256"));
}

}  // namespace
}  // namespace corank::testing
