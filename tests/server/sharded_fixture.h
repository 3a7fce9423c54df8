// A server on several devices, CPU engines that tests hold and lose, which share requests of few bytes.
#ifndef CORANK_TESTS_SERVER_SHARDED_FIXTURE_H_
#define CORANK_TESTS_SERVER_SHARDED_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/memory/device_set.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"
#include "tests/server/several_devices.h"
#include "tests/server/shared_object.h"
#include "tests/support/faulty_engine.h"

namespace corank::testing {

inline constexpr int64_t kShardBytes = 1000;

inline std::vector<int32_t> Keys(int64_t count, uint32_t distinct = 1 << 30) {
  std::vector<int32_t> keys(static_cast<size_t>(count));
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<int32_t>(static_cast<uint32_t>(i) * 2654435761U % distinct) - 1000;
  }
  return keys;
}

class ShardedTest : public ::testing::Test {
 protected:
  void Start(int devices = 2, int devices_per_request = 0) {
    Server::Options options = TestOptions();
    options.queue.direct_bytes = 0;
    options.shard_bytes = kShardBytes;
    options.devices_per_request = devices_per_request;
    options.arrays.max_bytes = kept_bytes_;
    options.streams.max_host_bytes = pinned_bytes_;
    if (work_bytes_ > 0) options.device_budget_bytes = work_bytes_;
    if (job_bytes_ > 0) options.streams.max_device_bytes = job_bytes_;
    options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
    std::vector<ChosenEngine> engines = SwitchedEngines(devices, &devices_, are_linked_);
    for (ChosenEngine& engine : engines) engine.engine = Faulty(std::move(engine.engine), faults_);
    running_ = std::make_unique<RunningServer>(options, std::move(engines));
  }
  DeviceSwitch& device(int i) { return *devices_[static_cast<size_t>(i)]; }
  /// Waits until every device is idle, which may be a moment after an answer. Then requests that may share take all.
  void AwaitIdle() {
    EXPECT_TRUE(Eventually(
        [this] { return DeviceSet::Count(running_->server().idle_devices()) == static_cast<int>(devices_.size()); }));
  }
  /// The answer to a request that `send` sends while every device is idle. So many devices work on it.
  template <typename Send>
  auto AnswerOn(int devices, const Send& send) {
    AwaitIdle();
    auto answer = send();
    EXPECT_EQ(answer.devices(), devices) << answer.status.error_message();
    return answer;
  }
  /// Requests of an operator that several devices have shared.
  double Shared(const std::string& op) const {
    return MetricOf(running_->server(), "corank_sharded_requests_total", op);
  }
  /// Lets one call after another of all devices fail for lack of memory, until an answer comes before the call.
  /// `answer_of` sends the request and returns the answer. If a call failed, `check` gets the answer, unless fewer
  /// devices than wanted gave it.
  template <typename AnswerOf, typename Check>
  void RunShortInEachCall(int devices, const AnswerOf& answer_of, const Check& check) {
    for (int64_t call = 1;;) {
      SCOPED_TRACE(::testing::Message() << "call " << call);
      faults_->FailCall(call, absl::ResourceExhaustedError("no memory, as planned"));
      const auto answer = answer_of();
      const std::string failed = faults_->failed();
      faults_->FailCall(0, absl::OkStatus());
      if (answer.status.ok() && answer.devices() != devices) continue;  // a device is busy for a moment after an answer
      SCOPED_TRACE(failed);
      if (failed.empty()) {
        EXPECT_GT(call, 20);
        break;
      }
      if (failed != "Engine::AllocateHost") check(answer);  // that one takes the message's memory
      if (::testing::Test::HasFailure()) break;
      ++call;
    }
  }
  /// Loses device 1 in the middle of a request that it works on, which `answer_of` sends: the request ends, and callers
  /// may repeat it at once.
  template <typename AnswerOf>
  void LoseADeviceOf(const AnswerOf& answer_of) {
    device(1).Hold();
    std::future<decltype(answer_of())> running;
    while (device(1).held() == 0) {  // the other one may get it alone
      running = std::async(std::launch::async, answer_of);
      while (device(1).held() == 0 && running.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      }
    }
    device(1).Lose();
    device(1).Release();
    const grpc::Status status = running.get().status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
    EXPECT_LT(RetryDelay(status), absl::Seconds(1)) << "the others can take it at once";
  }

  std::shared_ptr<FaultPlan> faults_ = std::make_shared<FaultPlan>();  // of all devices
  bool are_linked_ = true;                                             // whether devices reach each other's memory
  int64_t kept_bytes_ = 0;                                             // Server::Options::arrays.max_bytes
  int64_t pinned_bytes_ = 0;                                           // Server::Options::streams.max_host_bytes
  int64_t work_bytes_ = 0;  // Server::Options::device_budget_bytes; 0: as it is
  int64_t job_bytes_ = 0;   // Server::Options::streams.max_device_bytes; 0: as it is
  std::vector<std::shared_ptr<DeviceSwitch>> devices_;
  std::unique_ptr<RunningServer> running_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SHARDED_FIXTURE_H_
