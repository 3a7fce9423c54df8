// The whole server when it is full, cancelled, late, draining, or without its device. A puppet engine holds the work,
// so that nothing depends on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A Sort call on its own thread.
class PendingSort {
 public:
  explicit PendingSort(v1::CorankService::Stub& stub, absl::Duration timeout = absl::InfiniteDuration(),
                       v1::Priority priority = v1::PRIORITY_NORMAL, size_t keys = 3) {
    if (timeout != absl::InfiniteDuration()) context_.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    request_.mutable_options()->set_priority(priority);
    request_.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
    request_.mutable_keys()->set_inline_data(std::string(keys, 'x'));
    ended_ = std::async(std::launch::async, [this, &stub] { return stub.Sort(&context_, request_, &response_); });
  }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Wait() { return ended_.get(); }
  const v1::SortResponse& response() const { return response_; }

 private:
  grpc::ClientContext context_;
  v1::SortRequest request_;
  v1::SortResponse response_;
  std::future<grpc::Status> ended_;
};

class OverloadTest : public ::testing::Test {
 protected:
  void StartServer(Server::Options options = TestOptions(), PuppetEngine::Script script = nullptr) {
    auto [puppet, engine] = MakePuppet(std::move(script));
    puppet_ = puppet;
    options.on_device_lost = [this] { device_lost_.Notify(); };
    options.queue.direct_bytes = 0;  // all requests go to the lane
    running_ = std::make_unique<RunningServer>(options, std::move(engine));
  }
  std::unique_ptr<PendingSort> Send(absl::Duration timeout = absl::InfiniteDuration(),
                                    v1::Priority priority = v1::PRIORITY_NORMAL) {
    return std::make_unique<PendingSort>(running_->stub(), timeout, priority);
  }
  // Sends a request that a lane holds until puppet_->Release().
  std::unique_ptr<PendingSort> SendAndHold() {
    puppet_->Hold();
    auto held = Send();
    puppet_->AwaitHeld(1);
    return held;
  }
  bool AwaitWaiting(int64_t requests) {
    return Eventually([&] { return running_->server().waiting_requests() == requests; });
  }

  PuppetEngine* puppet_ = nullptr;
  absl::Notification device_lost_;
  std::unique_ptr<RunningServer> running_;
};

TEST_F(OverloadTest, AFullQueueRefusesWithARetryDelayAndRecovers) {
  Server::Options options = TestOptions();
  options.queue.max_requests = 2;
  StartServer(options);
  auto held = SendAndHold();
  auto first = Send();
  auto second = Send();
  ASSERT_TRUE(AwaitWaiting(2));
  const grpc::Status refused = Send()->Wait();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  EXPECT_TRUE(first->Wait().ok());
  EXPECT_TRUE(second->Wait().ok());
  EXPECT_TRUE(Send()->Wait().ok());
}

TEST_F(OverloadTest, QueuedBytesAreLimitedToo) {
  Server::Options options = TestOptions();
  options.queue.max_bytes = 1500;
  StartServer(options);
  auto held = SendAndHold();
  PendingSort first(running_->stub(), absl::InfiniteDuration(), v1::PRIORITY_NORMAL, 1000);
  ASSERT_TRUE(AwaitWaiting(1));
  PendingSort second(running_->stub(), absl::InfiniteDuration(), v1::PRIORITY_NORMAL, 1000);
  EXPECT_EQ(second.Wait().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  EXPECT_TRUE(first.Wait().ok());
}

TEST_F(OverloadTest, AFullQueueRefusesALargeMessageBeforeItIsRead) {
  constexpr size_t kLarge = size_t{1} << 20;
  Server::Options options = TestOptions();
  options.queue.max_bytes = kLarge * 3 / 2;
  StartServer(options);
  auto held = SendAndHold();
  PendingSort first(running_->stub(), absl::InfiniteDuration(), v1::PRIORITY_NORMAL, kLarge);
  ASSERT_TRUE(AwaitWaiting(1));
  PendingSort second(running_->stub(), absl::InfiniteDuration(), v1::PRIORITY_HIGH, kLarge);
  const grpc::Status refused = second.Wait();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  EXPECT_TRUE(first.Wait().ok());
  ExpectAllFreed(running_->server());
  EXPECT_LT(MetricOf(running_->server(), "corank_received_bytes_total", "sort"), 2 * kLarge);
  EXPECT_EQ(MetricOf(running_->server(), "corank_refused_total", "queue_bytes"), 1);
  EXPECT_EQ(MetricOf(running_->server(), "corank_refused_total", "memory"), 0);
}

TEST_F(OverloadTest, ACancelledRequestLeavesTheQueueAtOnce) {
  StartServer();
  auto held = SendAndHold();
  auto queued = Send();
  ASSERT_TRUE(AwaitWaiting(1));
  queued->Cancel();
  EXPECT_EQ(queued->Wait().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(AwaitWaiting(0));
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  const std::vector<std::string> phases = puppet_->phases();
  EXPECT_EQ(std::count(phases.begin(), phases.end(), "Run"), 1) << "cancelled work must not run";
}

TEST_F(OverloadTest, ALateRequestLeavesTheQueueAtOnce) {
  StartServer();
  auto held = SendAndHold();
  auto queued = Send(absl::Milliseconds(300));
  EXPECT_EQ(queued->Wait().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(AwaitWaiting(0));
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
}

TEST_F(OverloadTest, ACallWhoseTurnComesTooLateIsRefusedWithoutItsWork) {
  // As if every call waited for 50 s between its arrival and its turn.
  class LateClock final : public Clock {
   public:
    Instant Now() const override { return std::chrono::steady_clock::now() + std::chrono::seconds(50); }
  };
  const LateClock clock;
  auto [puppet, engine] = MakePuppet(nullptr);
  RunningServer running(TestOptions(), std::move(engine), &clock);
  PendingSort late(running.stub(), absl::Seconds(60)), in_time(running.stub(), absl::Seconds(600));
  const grpc::Status refused = late.Wait();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(refused.error_message(), HasSubstr("too busy"));
  EXPECT_EQ(RetryDelay(refused), absl::Milliseconds(50));
  EXPECT_TRUE(in_time.Wait().ok());
  EXPECT_THAT(puppet->phases(), Contains("Run").Times(1));
}

TEST_F(OverloadTest, ACancelledCallOnALaneEndsAndTheLaneGoesOn) {
  StartServer();
  auto held = SendAndHold();
  held->Cancel();
  EXPECT_EQ(held->Wait().error_code(), grpc::StatusCode::CANCELLED);
  puppet_->Release();
  EXPECT_TRUE(Eventually([&] { return running_->server().active_calls() == 0; }));
  EXPECT_TRUE(Send()->Wait().ok());
}

TEST_F(OverloadTest, HighPriorityGoesFirst) {
  StartServer();
  auto held = SendAndHold();
  auto low = Send(absl::InfiniteDuration(), v1::PRIORITY_LOW);
  ASSERT_TRUE(AwaitWaiting(1));
  auto high = Send(absl::InfiniteDuration(), v1::PRIORITY_HIGH);
  ASSERT_TRUE(AwaitWaiting(2));
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  EXPECT_TRUE(low->Wait().ok());
  EXPECT_TRUE(high->Wait().ok());
  // The low-priority request arrived first and still waited for the high-priority one.
  EXPECT_GT(low->response().stats().queue_ns(), high->response().stats().queue_ns());
}

TEST_F(OverloadTest, ABurstOfSmallRequestsSharesALease) {
  StartServer();
  auto held = SendAndHold();
  std::vector<std::unique_ptr<PendingSort>> burst;
  for (int i = 0; i < 5; ++i) burst.push_back(Send());
  ASSERT_TRUE(AwaitWaiting(5));
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  EXPECT_EQ(held->response().stats().batch_size(), 1);
  for (const auto& request : burst) {
    EXPECT_TRUE(request->Wait().ok());
    EXPECT_EQ(request->response().stats().batch_size(), 5);
  }
}

TEST_F(OverloadTest, DrainRefusesNewRequestsAndFinishesTheOthers) {
  StartServer();
  auto held = SendAndHold();
  auto queued = Send();
  ASSERT_TRUE(AwaitWaiting(1));
  RawStream watch(running_->channel(), "/grpc.health.v1.Health/Watch", HealthRequest("corank.v1.CorankService"));
  EXPECT_EQ(watch.Read(), kServing);
  std::atomic<bool> drained{false};
  running_->server().Drain([&drained] { drained = true; });
  EXPECT_EQ(watch.Read(), kNotServing);
  const grpc::Status refused = Send()->Wait();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  EXPECT_FALSE(drained);
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
  EXPECT_TRUE(queued->Wait().ok());
  EXPECT_TRUE(Eventually([&] { return drained.load(); }));
}

TEST_F(OverloadTest, AnIdleServerIsDrainedAtOnce) {
  StartServer();
  bool drained = false;
  running_->server().Drain([&drained] { drained = true; });
  EXPECT_TRUE(drained);
}

TEST_F(OverloadTest, AbortEndsWhatWaitsWithUnavailable) {
  StartServer();
  auto held = SendAndHold();
  auto queued = Send();
  ASSERT_TRUE(AwaitWaiting(1));
  running_->server().AbortQueued();
  EXPECT_EQ(queued->Wait().error_code(), grpc::StatusCode::UNAVAILABLE);
  puppet_->Release();
  EXPECT_TRUE(held->Wait().ok());
}

TEST_F(OverloadTest, ALostDeviceEndsEveryCallWithUnavailable) {
  std::atomic<bool> broken{false};
  StartServer(TestOptions(), [&broken](const std::string& phase, OperatorReport*) {
    return broken && phase == "Run" ? absl::UnavailableError("an illegal address") : absl::OkStatus();
  });
  EXPECT_TRUE(Send()->Wait().ok());
  auto held = SendAndHold();
  auto queued = Send();
  ASSERT_TRUE(AwaitWaiting(1));
  broken = true;
  puppet_->Release();
  for (PendingSort* call : {held.get(), queued.get()}) {
    const grpc::Status status = call->Wait();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
    EXPECT_THAT(status.error_message(), ::testing::Not(::testing::HasSubstr("illegal address")));
  }
  device_lost_.WaitForNotification();
  EXPECT_EQ(Send()->Wait().error_code(), grpc::StatusCode::UNAVAILABLE);
  RawStream check(running_->channel(), "/grpc.health.v1.Health/Check", HealthRequest(""));
  EXPECT_EQ(check.Read(), kNotServing);
}

TEST_F(OverloadTest, AFaultOfTheEngineIsInternalAndTheServerGoesOn) {
  std::atomic<bool> broken{true};
  StartServer(TestOptions(), [&broken](const std::string& phase, OperatorReport*) {
    return broken && phase == "Run" ? absl::InternalError("0xdead") : absl::OkStatus();
  });
  const grpc::Status status = Send()->Wait();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), ::testing::Not(::testing::HasSubstr("0xdead")));
  broken = false;
  EXPECT_TRUE(Send()->Wait().ok());
}

TEST_F(OverloadTest, EverySlotOfManyConcurrentCallersIsAnswered) {
  Server::Options options = TestOptions();
  options.lanes = 4;
  StartServer(options);
  std::vector<std::unique_ptr<PendingSort>> calls;
  for (int i = 0; i < 64; ++i) calls.push_back(Send());
  for (const auto& call : calls) EXPECT_TRUE(call->Wait().ok());
  EXPECT_TRUE(Eventually([&] { return running_->server().active_calls() == 0; }));
}

}  // namespace
}  // namespace corank::testing
