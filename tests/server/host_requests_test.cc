// Small requests on a server with a GPU, which run on the host's processor. A puppet replaces the GPU and holds its
// requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/messages.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

constexpr int64_t kHostBytes = 1024;

class HostRequestsTest : public ::testing::Test {
 protected:
  void Start(int64_t host_bytes = kHostBytes) {
    Server::Options options = TestOptions();
    options.host_bytes = host_bytes;
    options.queue.max_requests = 1;
    options.arrays.max_bytes = 100'000;
    auto [puppet, engine] = MakePuppet(nullptr, EngineKind::kCuda);
    puppet_ = puppet;
    running_ = std::make_unique<RunningServer>(options, std::move(engine));
  }
  // The work done by the GPU, and by the host.
  int64_t GpuRuns() const {
    const std::vector<std::string> phases = puppet_->phases();
    return std::count(phases.begin(), phases.end(), "Run");
  }
  double HostRequests(const std::string& op) const {
    return MetricOf(running_->server(), "corank_host_requests_total", op);
  }
  grpc::Status Sort(const v1::SortRequest& request, v1::SortResponse* response) {
    grpc::ClientContext context;
    return running_->stub().Sort(&context, request, response);
  }
  // A sort of descending numbers. Its arrays and results have 8 bytes for each number.
  static v1::SortRequest SortOf(int64_t count) {
    std::vector<int32_t> keys(static_cast<size_t>(count));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(keys.size() - i);
    v1::SortRequest request;
    *request.mutable_keys() = Int32s(keys);
    return request;
  }
  static std::vector<int32_t> KeysOf(const v1::SortResponse& response) {
    std::vector<int32_t> keys(response.keys().inline_data().size() / sizeof(int32_t));
    std::memcpy(keys.data(), response.keys().inline_data().data(), keys.size() * sizeof(int32_t));
    return keys;
  }
  // Whether the response is that of SortOf(count).
  static bool IsRight(const v1::SortResponse& response, int64_t count) {
    std::vector<int32_t> right(static_cast<size_t>(count));
    std::iota(right.begin(), right.end(), 1);
    return KeysOf(response) == right;
  }

  PuppetEngine* puppet_ = nullptr;
  std::unique_ptr<RunningServer> running_;
};

TEST_F(HostRequestsTest, AreAnsweredWhileTheGpuIsBusyAndTheQueueFull) {
  Start();
  puppet_->Hold();
  std::vector<v1::SortResponse> large(2);
  std::vector<std::future<grpc::Status>> held;
  const auto send = [&] {
    held.push_back(std::async(std::launch::async, [&, i = held.size()] { return Sort(SortOf(100'000), &large[i]); }));
  };
  send();
  puppet_->AwaitHeld(1);
  send();
  ASSERT_TRUE(Eventually([&] { return running_->server().waiting_requests() == 1; }));
  v1::SortResponse response;
  ASSERT_TRUE(Sort(SortOf(100), &response).ok());
  EXPECT_TRUE(IsRight(response, 100));
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CPU);
  EXPECT_NE(response.stats().device(), "puppet");
  EXPECT_EQ(response.stats().batch_size(), 1);
  EXPECT_EQ(HostRequests("sort"), 1);
  puppet_->Release();
  for (std::future<grpc::Status>& status : held) EXPECT_TRUE(status.get().ok());
  EXPECT_EQ(large[0].stats().engine(), v1::ENGINE_CUDA);
  EXPECT_EQ(large[0].stats().device(), "puppet");
}

TEST_F(HostRequestsTest, AreThoseWhoseArraysAndResultsAreSmall) {
  Start();
  v1::SortResponse response;
  ASSERT_TRUE(Sort(SortOf(kHostBytes / 4), &response).ok());  // keys alone: half of their bytes count
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CPU);
  ASSERT_TRUE(Sort(SortOf(kHostBytes / 4 + 1), &response).ok());
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CUDA);
  v1::SortRequest argsort = SortOf(kHostBytes / 8);
  argsort.set_output(v1::SORT_OUTPUT_INDICES);
  ASSERT_TRUE(Sort(argsort, &response).ok());
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CPU);
  argsort = SortOf(kHostBytes / 8 + 1);
  argsort.set_output(v1::SORT_OUTPUT_INDICES);
  ASSERT_TRUE(Sort(argsort, &response).ok());
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CUDA);
  v1::ExpandIntervalsRequest expand;
  *expand.mutable_values() = Int32s({1, 2});
  *expand.mutable_counts() = Int64s({0, kHostBytes});  // only its result is large
  v1::ExpandIntervalsResponse expanded;
  grpc::ClientContext context;
  ASSERT_TRUE(running_->stub().ExpandIntervals(&context, expand, &expanded).ok());
  EXPECT_EQ(expanded.stats().engine(), v1::ENGINE_CUDA);
  EXPECT_EQ(HostRequests("sort"), 2);
  EXPECT_EQ(HostRequests("expand_intervals"), 0);
}

TEST_F(HostRequestsTest, MayHaveTwiceAsManyBytesOnlyWhereTheWorkIsLight) {
  Start();
  const auto engine_of_merge = [this](size_t inputs) {
    v1::MergeRequest merge;
    const std::vector<int32_t> keys(kHostBytes / 8 / inputs + 1, 7);  // with the result, more than kHostBytes in total
    for (size_t i = 0; i < inputs; ++i) *merge.add_keys() = Int32s(keys);
    v1::MergeResponse merged;
    grpc::ClientContext context;
    EXPECT_TRUE(running_->stub().Merge(&context, merge, &merged).ok());
    return merged.stats().engine();
  };
  EXPECT_EQ(engine_of_merge(8), v1::ENGINE_CPU);
  EXPECT_EQ(engine_of_merge(9), v1::ENGINE_CUDA);
  const auto engine_of_move = [this](size_t times) {  // of eight bytes to one place
    v1::MoveIntervalsRequest move;
    *move.mutable_source() = Int32s({1, 2});
    *move.mutable_source_offsets() = *move.mutable_destination_offsets() = Int64s(std::vector<int64_t>(times, 0));
    *move.mutable_counts() = Int64s(std::vector<int64_t>(times, 2));
    move.set_destination_count(2);
    move.set_allow_overlap(true);
    v1::MoveIntervalsResponse moved;
    grpc::ClientContext context;
    const grpc::Status status = running_->stub().MoveIntervals(&context, move, &moved);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return moved.stats().engine();
  };
  constexpr size_t kMost = (2 * kHostBytes - 8) / (3 * 8 + 8);  // counts, offsets and moved data, except two keys
  EXPECT_EQ(engine_of_move(kMost), v1::ENGINE_CPU);
  EXPECT_EQ(engine_of_move(kMost + 1), v1::ENGINE_CUDA);
}

TEST_F(HostRequestsTest, AreNotThoseWithArraysElsewhere) {
  Start();
  v1::SortRequest keeps = SortOf(3);
  keeps.mutable_keys_destination()->mutable_stored()->set_name("kept");
  v1::SortResponse response;
  ASSERT_TRUE(Sort(keeps, &response).ok());
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CUDA);
  v1::SortRequest reads;
  reads.mutable_keys()->set_type(v1::ELEMENT_TYPE_INT32);
  reads.mutable_keys()->mutable_stored()->set_name("kept");
  ASSERT_TRUE(Sort(reads, &response).ok());
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CUDA);
  EXPECT_EQ(GpuRuns(), 2);
  EXPECT_EQ(HostRequests("sort"), 0);
}

TEST_F(HostRequestsTest, AreNoneWhereItIsSwitchedOff) {
  Start(0);
  v1::SortResponse response;
  ASSERT_TRUE(Sort(SortOf(3), &response).ok());
  EXPECT_EQ(response.stats().engine(), v1::ENGINE_CUDA);
  EXPECT_EQ(HostRequests("sort"), 0);
}

TEST_F(HostRequestsTest, AreToldWhatIsWrongWithThem) {
  Start();
  v1::MergeRequest merge;
  *merge.add_keys() = Int32s({1, 2});
  *merge.add_keys() = Int32s({2, 1});
  v1::MergeResponse merged;
  grpc::ClientContext context;
  const grpc::Status status = running_->stub().Merge(&context, merge, &merged);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("keys[1]: not sorted"));
  EXPECT_EQ(HostRequests("merge"), 1);
}

TEST_F(HostRequestsTest, AreRefusedWhileTheServerDrains) {
  Start();
  running_->server().Drain([] {});
  v1::SortResponse response;
  const grpc::Status status = Sort(SortOf(3), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(HostRequests("sort"), 0);
}

TEST_F(HostRequestsTest, ManyAtOnceDoNotDisturbEachOther) {
  Start();
  constexpr int kCallers = 8, kCalls = 50;
  std::vector<std::thread> callers;
  std::vector<int> wrong(kCallers, 0);
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([this, caller, &wrong] {
      for (int i = 0; i < kCalls; ++i) {
        const int64_t count = 1 + (caller * kCalls + i) % (kHostBytes / 8);
        v1::SortResponse response;
        const bool is_right = Sort(SortOf(count), &response).ok() && IsRight(response, count);
        wrong[static_cast<size_t>(caller)] += is_right ? 0 : 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
  EXPECT_EQ(HostRequests("sort"), kCallers * kCalls);
  EXPECT_EQ(GpuRuns(), 0);
}

}  // namespace
}  // namespace corank::testing
