// One queue for several devices: which device may take a task, whose memory the task needs, and the loss of a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/errors.h"
#include "server/schedule/scheduler.h"
#include "tests/server/doubles.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NeedyOperation final : public Operation {
 public:
  explicit NeedyOperation(std::function<int64_t(const Engine&)> bytes) : bytes_(std::move(bytes)) {}
  Operator op() const override { return Operator::kSort; }
  int64_t device_bytes(const Engine& engine) const override { return bytes_(engine); }
  absl::Status Execute(Lane&, Outcome&) override { return absl::OkStatus(); }

 private:
  const std::function<int64_t(const Engine&)> bytes_;
};

struct RecordingRunner {
  void operator()(std::unique_ptr<Task> task) {
    ran.push_back(task->request.completion);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    task->Drop(absl::OkStatus());
  }
  std::vector<Completion*> ran;
  std::function<void()> meanwhile;
};

class SeveralQueueTest : public ::testing::Test {
 protected:
  static Scheduler::Options QueueOptions() {
    Scheduler::Options options;
    options.direct_bytes = 10;
    options.batch_requests = 1;
    return options;
  }
  std::unique_ptr<Task> Anywhere(int64_t bytes = 100) { return requests_.emplace_back().MakeTask(bytes); }
  std::unique_ptr<Task> OnlyOn(int device, int64_t bytes = 100) {
    auto task = Anywhere(bytes);
    task->plan.devices = DeviceSet::Only(device);
    return task;
  }
  std::unique_ptr<Task> Needy(int64_t bytes) { return Needy(bytes, bytes); }
  // Needs this much memory on either device.
  std::unique_ptr<Task> Needy(int64_t first, int64_t second) {
    const auto bytes = [this, first, second](const Engine& engine) { return &engine == &first_ ? first : second; };
    auto task = requests_.emplace_back().MakeTask(std::make_unique<NeedyOperation>(bytes), 100'000);
    task->plan.need = NeedOf(*task->plan.operation, task->plan.strategy, devices_);
    return task;
  }
  std::unique_ptr<Task> Take(int device) {
    auto tasks = queue_.NextBatch(device, /*is_spare=*/false);
    return tasks.empty() ? nullptr : std::move(tasks.front());
  }

  FakeClock clock_;
  Metrics metrics_;
  std::deque<RecordedRequest> requests_;
  PuppetEngine first_, second_;
  DeviceSet devices_{{&first_, &second_}};
  DeviceMemory memory_{{/*limit_bytes=*/100, /*lane_bytes=*/0, /*limits=*/{100, 300}}};
  Scheduler queue_{QueueOptions(), &clock_, &metrics_, &memory_, &devices_};
};

TEST_F(SeveralQueueTest, TheFirstDeviceThatAsksGetsWorkAndPinnedWorkWaitsForItsOwn) {
  ASSERT_TRUE(queue_.Submit(OnlyOn(1)).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  EXPECT_EQ(Take(0)->request.completion, &requests_[1]);
  EXPECT_EQ(Take(1)->request.completion, &requests_[0]);
  EXPECT_EQ(Take(1)->request.completion, &requests_[2]);
}

TEST_F(SeveralQueueTest, EachDeviceHasItsOwnBudget) {
  ASSERT_TRUE(queue_.Submit(Needy(60)).ok());
  ASSERT_TRUE(queue_.Submit(Needy(60)).ok());
  const auto first = Take(0), second = Take(1);
  EXPECT_EQ(first->device_bytes, 60);
  EXPECT_EQ(second->device_bytes, 60);
  EXPECT_EQ(memory_.used_bytes(0), 60);
  EXPECT_EQ(memory_.used_bytes(1), 60);
}

TEST_F(SeveralQueueTest, WorkGoesWhereItsMemoryIs) {
  ASSERT_TRUE(queue_.Submit(Needy(200)).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  EXPECT_EQ(Take(0)->request.completion, &requests_[1]) << "the first device has not enough memory for the first task";
  EXPECT_EQ(Take(1)->request.completion, &requests_[0]);
  const absl::Status refused = queue_.Submit(Needy(301));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--device-budget-bytes is 300"));
}

TEST_F(SeveralQueueTest, ANeedIsThatOfTheDevicesThatHaveIt) {
  ASSERT_TRUE(queue_.Submit(Needy(400, 250)).ok());
  EXPECT_EQ(Take(1)->device_bytes, 250) << "the first, which needs more, has not enough in any case";
  ASSERT_TRUE(queue_.Submit(Needy(90, 250)).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  EXPECT_EQ(Take(0)->request.completion, &requests_[2]) << "the first device does not have the need of the second";
  EXPECT_EQ(Take(1)->request.completion, &requests_[1]);
}

TEST_F(SeveralQueueTest, ALostDeviceHasNoMemory) {
  devices_.Lose(1);
  EXPECT_EQ(queue_.Submit(Needy(200)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(queue_.Submit(Needy(100)).ok());
  devices_.Lose(0);
  EXPECT_EQ(queue_.Submit(Needy(100)).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SeveralQueueTest, SharedWorkTakesMemoryOfAllItsDevicesAndKeepsThemBusy) {
  const auto shared = [this] {
    auto task = Needy(60);
    task->plan.shard_devices = devices_.all();
    return task;
  };
  EXPECT_EQ(queue_.IdleDevices(), devices_.all());
  ASSERT_TRUE(queue_.Submit(shared()).ok());
  EXPECT_EQ(queue_.IdleDevices(), 0U) << "work waits";
  auto task = Take(1);
  EXPECT_EQ(queue_.IdleDevices(), 0U);
  EXPECT_EQ(memory_.used_bytes(0), 60);
  EXPECT_EQ(memory_.used_bytes(1), 60);
  ASSERT_TRUE(queue_.Submit(shared()).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  EXPECT_EQ(Take(1)->request.completion, &requests_[2]) << "the second device has room, but not the first";
  task.reset();
  task = Take(0);
  EXPECT_EQ(task->request.completion, &requests_[1]);
  task.reset();
  EXPECT_EQ(memory_.used_bytes(0), 0);
  EXPECT_EQ(memory_.used_bytes(1), 0);
  EXPECT_EQ(queue_.IdleDevices(), devices_.all());
}

TEST_F(SeveralQueueTest, SharedWorkEndsWithAnyOfItsDevices) {
  const auto shared = [this] {
    auto task = Needy(60);
    task->plan.shard_devices = devices_.all();
    return task;
  };
  ASSERT_TRUE(queue_.Submit(shared()).ok());
  devices_.Lose(1);
  queue_.DevicesChanged();
  EXPECT_EQ(queue_.waiting_requests(), 0);
  EXPECT_EQ(queue_.Submit(shared()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(queue_.IdleDevices(), DeviceSet::Only(0));
}

TEST_F(SeveralQueueTest, SmallRequestsRunDirectlyOnTheDeviceWithLeastToDo) {
  RecordingRunner first, second;
  queue_.SetDirectRunner(std::ref(first), 0);
  queue_.SetDirectRunner(std::ref(second), 1);
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  {
    const auto busy = Take(0);
    ASSERT_TRUE(queue_.Submit(Anywhere(1)).ok());
    EXPECT_THAT(second.ran, ElementsAre(&requests_[1])) << "the first device works on a batch";
  }
  first.meanwhile = [&] {
    ASSERT_TRUE(queue_.Submit(Anywhere(1)).ok());
    EXPECT_THAT(second.ran, ElementsAre(&requests_[1], &requests_[3])) << "one at a time on each";
  };
  ASSERT_TRUE(queue_.Submit(Anywhere(1)).ok());
  EXPECT_THAT(first.ran, ElementsAre(&requests_[2]));
  ASSERT_TRUE(queue_.Submit(OnlyOn(1, 1)).ok());
  EXPECT_EQ(second.ran.back(), &requests_[4]);
}

TEST_F(SeveralQueueTest, EachDeviceHasItsOwnTakersOfSmallTasks) {
  Scheduler::Options options = QueueOptions();
  options.direct_bytes = 0;
  options.small_takers = 1;
  Scheduler queue(options, &clock_, &metrics_, &memory_, &devices_);
  const auto take = [&queue](int device) { return queue.NextBatch(device, /*is_spare=*/false); };
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(queue.Submit(Anywhere()).ok());
  const auto first = take(0), second = take(1);  // with a shared budget they would wait for each other
  EXPECT_EQ(first.size(), 1U);
  EXPECT_EQ(second.size(), 1U);
}

TEST_F(SeveralQueueTest, WhatOnlyALostDeviceMayRunEndsAndItsTakersGoHome) {
  ASSERT_TRUE(queue_.Submit(OnlyOn(0)).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  const auto first = Take(0);
  const auto second = Take(0);
  EXPECT_EQ(second->request.completion, &requests_[1]);
  std::unique_ptr<Task> nothing = Anywhere();
  std::thread taker([&] { nothing = Take(0); });
  ASSERT_TRUE(queue_.Submit(OnlyOn(1)).ok());
  devices_.Lose(0);
  queue_.DevicesChanged();
  taker.join();
  EXPECT_EQ(nothing, nullptr);
  const absl::Status refused = queue_.Submit(OnlyOn(0));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(HasRetryDelay(refused));
  EXPECT_EQ(Take(1)->request.completion, &requests_[3]);
  EXPECT_EQ(queue_.waiting_requests(), 0);
}

TEST_F(SeveralQueueTest, WaitingWorkOfALostDeviceEndsAtOnceAndOtherWorkGoesToOthers) {
  ASSERT_TRUE(queue_.Submit(OnlyOn(0)).ok());
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  devices_.Lose(0);
  queue_.DevicesChanged();
  EXPECT_EQ(requests_[0].ends, 1);
  EXPECT_EQ(requests_[0].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(HasRetryDelay(requests_[0].status));
  EXPECT_EQ(Take(1)->request.completion, &requests_[1]);
}

TEST_F(SeveralQueueTest, ADeviceThatDoesNotWorkWellTakesOnlyWhatNoOtherMayRun) {
  devices_.SetGood(0, false);
  ASSERT_TRUE(queue_.Submit(Anywhere()).ok());
  ASSERT_TRUE(queue_.Submit(OnlyOn(0)).ok());
  EXPECT_EQ(Take(0)->request.completion, &requests_[1]);
  queue_.Close(absl::UnavailableError("closed"));
  std::unique_ptr<Task> left;
  std::thread bad([&] { left = Take(0); });
  const auto taken = Take(1);
  bad.join();
  EXPECT_EQ(left, nullptr);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->request.completion, &requests_[0]);
}

TEST(DeviceSetTest, ABadDeviceRunsAllWhereNoneIsGood) {
  PuppetEngine engine;
  DeviceSet devices({&engine, &engine});
  EXPECT_EQ(devices.all(), 3U);
  devices.SetGood(0, false);
  EXPECT_FALSE(devices.ShouldRun(0, devices.all()));
  EXPECT_TRUE(devices.ShouldRun(1, devices.all()));
  devices.Lose(1);
  EXPECT_TRUE(devices.ShouldRun(0, devices.all()));
  EXPECT_FALSE(devices.ShouldRun(1, devices.all()));
  EXPECT_EQ(devices.good(), 0U);
  devices.SetGood(0, true);
  EXPECT_EQ(devices.good(), 1U);
  EXPECT_EQ(DeviceSet(std::vector<Engine*>(64, &engine)).all(), ~uint64_t{0});
}

// Kernels would fault on memory that they do not reach.
TEST(DeviceSetTest, LinksDevicesThatReachEachOther) {
  PuppetEngine first, second, third;
  first.SetLinks(/*ordinal=*/4, 1 << 4 | 1 << 6);
  second.SetLinks(/*ordinal=*/5, 1 << 5 | 1 << 6);
  third.SetLinks(/*ordinal=*/6, 1 << 4 | 1 << 6);
  const DeviceSet devices({&first, &second, &third});
  EXPECT_EQ(devices.topology().reach, (std::vector<uint64_t>{0b101, 0b010, 0b101})) << "one way is not enough";
}

}  // namespace
}  // namespace corank::testing
