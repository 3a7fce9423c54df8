// admit: the tenants' shares of a busy server, refusals that leave room to others, and requests that are late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/base/errors.h"
#include "server/schedule/request_cost.h"
#include "server/schedule/scheduler.h"
#include "tests/server/doubles.h"

namespace corank::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::shared_ptr<const Caller> Tenant(const std::string& name) {
  auto caller = std::make_shared<Caller>();
  caller->tenant = name;
  return caller;
}

// Needs device memory.
class HeavyOperation : public Operation {
 public:
  explicit HeavyOperation(int64_t bytes) : bytes_(bytes) {}
  Operator op() const override { return Operator::kSort; }
  int64_t device_bytes(const Engine&) const override { return bytes_; }
  absl::Status Execute(Lane&, Outcome&) override { return absl::OkStatus(); }

 private:
  const int64_t bytes_;
};

class ShareTest : public ::testing::Test {
 protected:
  static Scheduler::Options Roomy() {
    Scheduler::Options options;
    options.weights = {{"double", 2.0}};
    options.batch_requests = 1;
    return options;
  }
  std::unique_ptr<Task> Of(const std::string& tenant, int64_t bytes = 1,
                           TaskPriority priority = TaskPriority::kNormal) {
    std::unique_ptr<Task> task = requests_.emplace_back().MakeTask(bytes, priority);
    task->request.caller = Tenant(tenant);
    return task;
  }
  static std::unique_ptr<Task> TakeOne(Scheduler& queue, int device = 0) {
    auto taken = queue.NextBatch(device, /*is_spare=*/false);
    return taken.empty() ? nullptr : std::move(taken.front());
  }
  // The cost that each tenant gets in the next `tasks`.
  static std::map<std::string, double> Serve(Scheduler& queue, int tasks) {
    std::map<std::string, double> served;
    for (int i = 0; i < tasks; ++i) {
      const std::unique_ptr<Task> task = TakeOne(queue);
      served[task->request.caller->tenant] += RequestCost(task->request.bytes);
    }
    return served;
  }

  FakeClock clock_;
  Metrics metrics_;
  std::deque<RecordedRequest> requests_;
};

TEST_F(ShareTest, AFloodTakesNoMoreThanItsShareOfBytes) {
  Scheduler queue(Roomy(), &clock_, &metrics_);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(queue.Submit(Of("flood", 1000)).ok());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(queue.Submit(Of("quiet", 50'000)).ok());
  const auto served = Serve(queue, 100);
  EXPECT_LE(std::abs(served.at("flood") - served.at("quiet")), RequestCost(1000) + RequestCost(50'000));
}

TEST_F(ShareTest, SharesFollowTheWeights) {
  Scheduler queue(Roomy(), &clock_, &metrics_);
  for (int i = 0; i < 90; ++i) ASSERT_TRUE(queue.Submit(Of("double", 3000)).ok());
  for (int i = 0; i < 90; ++i) ASSERT_TRUE(queue.Submit(Of("single", 9000)).ok());
  const auto served = Serve(queue, 90);
  EXPECT_LE(std::abs(served.at("double") / 2 - served.at("single")), RequestCost(3000) / 2 + RequestCost(9000));
}

TEST_F(ShareTest, ATenantThatComesLaterWaitsForNoBacklogAndHasSavedNothingUp) {
  Scheduler queue(Roomy(), &clock_, &metrics_);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(queue.Submit(Of("flood")).ok());
  Serve(queue, 20);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.Submit(Of("late")).ok());
  const auto served = Serve(queue, 10);
  EXPECT_EQ(served.at("late"), served.at("flood"));
}

TEST_F(ShareTest, LowPriorityLeavesRoomForWhatIsMoreUrgent) {
  Scheduler::Options options;
  options.batch_requests = 1;
  options.max_requests = 16;
  Scheduler queue(options, &clock_, &metrics_);
  const auto admitted = [&](TaskPriority priority) {
    int count = 0;
    while (queue.Submit(Of("", 1, priority)).ok()) ++count;
    return count;
  };
  EXPECT_EQ(admitted(TaskPriority::kLow), 8);
  EXPECT_EQ(admitted(TaskPriority::kNormal), 6);
  EXPECT_EQ(admitted(TaskPriority::kHigh), 2);
  EXPECT_THAT(std::string(queue.Submit(Of("", 1, TaskPriority::kLow)).message()), HasSubstr("low priority"));
}

TEST_F(ShareTest, ATenantsFloodLeavesRoomForOthers) {
  Scheduler::Options options;
  options.batch_requests = 1;
  options.max_requests = 64;
  Scheduler queue(options, &clock_, &metrics_);
  absl::Status refused;
  while (refused.ok()) refused = queue.Submit(Of("flood"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasRetryDelay(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("this tenant's part"));
  EXPECT_TRUE(queue.Submit(Of("quiet")).ok());
}

TEST_F(ShareTest, BeforeItsMessageIsReadARequestIsRefusedOnlyIfNoPriorityWouldHelp) {
  Scheduler::Options options;
  options.batch_requests = 1;
  options.max_requests = 16;
  options.max_bytes = 1000;
  Scheduler queue(options, &clock_, &metrics_);
  EXPECT_TRUE(queue.CheckRoom("", 1000).ok());
  EXPECT_EQ(queue.CheckRoom("", 1001).code(), absl::StatusCode::kResourceExhausted);
  while (queue.Submit(Of("")).ok()) continue;  // of normal priority
  EXPECT_TRUE(queue.CheckRoom("", 1).ok()) << "it may be urgent";
  while (queue.Submit(Of("", 1, TaskPriority::kHigh)).ok()) continue;
  const absl::Status refused = queue.CheckRoom("", 1);
  EXPECT_EQ(ReasonOf(refused), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_TRUE(HasRetryDelay(refused));
  TakeOne(queue);
  EXPECT_TRUE(queue.CheckRoom("", 1).ok());
}

TEST_F(ShareTest, BeforeItsMessageIsReadARequestIsRefusedIfItsTenantHasItsPart) {
  Scheduler::Options options;
  options.batch_requests = 1;
  options.tenant_max_requests = 2;
  options.tenant_max_bytes = 10;
  Scheduler queue(options, &clock_, &metrics_);
  EXPECT_TRUE(queue.CheckRoom("a", 11).ok()) << "one may always wait";
  ASSERT_TRUE(queue.Submit(Of("a", 4)).ok());
  EXPECT_TRUE(queue.CheckRoom("a", 6).ok());
  EXPECT_EQ(ReasonOf(queue.CheckRoom("a", 7)), v1::ERROR_REASON_QUOTA_EXCEEDED);
  ASSERT_TRUE(queue.Submit(Of("a", 4)).ok());
  const absl::Status refused = queue.CheckRoom("a", 1);
  EXPECT_EQ(ReasonOf(refused), v1::ERROR_REASON_QUOTA_EXCEEDED);
  EXPECT_TRUE(HasRetryDelay(refused));
  EXPECT_TRUE(queue.CheckRoom("b", 7).ok());
}

TEST_F(ShareTest, TheLastIdleTakerIsLeftToOthers) {
  Scheduler::Options options = Roomy();
  options.leaves_a_taker = true;
  const int64_t large = PlannerOptions().small_bytes + 1;
  Scheduler queue(options, &clock_, &metrics_);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(queue.Submit(Of("a", large)).ok());
  std::unique_ptr<Task> first = TakeOne(queue);
  ASSERT_EQ(first->request.caller->tenant, "a") << "who has none may have the last one";
  const auto taker = [&queue](std::unique_ptr<Task>* task, absl::Notification* taken) {
    return std::thread([&queue, task, taken] {
      *task = TakeOne(queue);
      taken->Notify();
    });
  };
  absl::Notification second_taken, third_taken;
  std::unique_ptr<Task> second, third;
  std::thread one = taker(&second, &second_taken);
  EXPECT_FALSE(second_taken.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  ASSERT_TRUE(queue.Submit(Of("b", large)).ok());
  one.join();
  EXPECT_EQ(second->request.caller->tenant, "b");
  std::thread two = taker(&third, &third_taken);
  EXPECT_FALSE(third_taken.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  first.reset();
  two.join();
  EXPECT_EQ(third->request.caller->tenant, "a");
  ASSERT_TRUE(queue.Submit(Of("a", PlannerOptions().small_bytes)).ok());
  EXPECT_NE(TakeOne(queue), nullptr) << "what is small ends soon";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(queue.Submit(Of("", large)).ok());
  const std::unique_ptr<Task> nobodys = TakeOne(queue), nobodys_too = TakeOne(queue);
  EXPECT_TRUE(nobodys->request.caller->tenant.empty() && nobodys_too->request.caller->tenant.empty()) << "one party";
}

TEST_F(ShareTest, CapsOfATenantAreItsOwn) {
  Scheduler::Options options;
  options.batch_requests = 1;
  options.tenant_max_requests = 2;
  options.tenant_max_bytes = 100;
  Scheduler queue(options, &clock_, &metrics_);
  ASSERT_TRUE(queue.Submit(Of("a", 10)).ok());
  EXPECT_THAT(std::string(queue.Submit(Of("a", 91)).message()),
              HasSubstr("10 bytes are waiting, and the limit is 100"));
  ASSERT_TRUE(queue.Submit(Of("a", 10)).ok());
  EXPECT_THAT(std::string(queue.Submit(Of("a", 10)).message()),
              HasSubstr("2 requests are waiting, and the limit is 2"));
  EXPECT_TRUE(queue.Submit(Of("b", 10)).ok());
}

TEST_F(ShareTest, IdleTenantsAreForgotten) {
  const FairLine::Weights weights;
  FairLine line(&weights);
  const auto take = [&line] {
    bool heavy_waits = false;
    const auto any = [](const Task&) { return true; };
    return line.Take(line.First([](uint64_t) { return true; }, any, any, &heavy_waits));
  };
  for (int i = 0; i < 1000; ++i) {
    line.Push(Of("tenant " + std::to_string(i)));
    take();
  }
  EXPECT_LT(line.tenants(), 100U);
}

TEST_F(ShareTest, ADeviceTakesOnlyWhatItMayRun) {
  Scheduler queue(Roomy(), &clock_, &metrics_);
  auto on_one = Of("a");
  on_one->plan.devices = 2;
  const Completion* const pinned = on_one->request.completion;
  ASSERT_TRUE(queue.Submit(std::move(on_one)).ok());
  auto anywhere = Of("a");
  const Completion* const free = anywhere->request.completion;
  ASSERT_TRUE(queue.Submit(std::move(anywhere)).ok());
  EXPECT_EQ(TakeOne(queue, 0)->request.completion, free);
  EXPECT_EQ(TakeOne(queue, 1)->request.completion, pinned);
}

class BudgetTest : public ShareTest {
 protected:
  std::unique_ptr<Task> Make(std::unique_ptr<Operation> operation) {
    auto task = requests_.emplace_back().MakeTask(std::move(operation), 100'000);
    task->plan.need = NeedOf(*task->plan.operation, task->plan.strategy, devices_);
    return task;
  }
  std::unique_ptr<Task> Heavy(int64_t bytes) { return Make(std::make_unique<HeavyOperation>(bytes)); }
  PuppetEngine engine_;
  const DeviceSet devices_{{&engine_}};
  DeviceMemory memory_{{/*limit_bytes=*/100, /*lane_bytes=*/0, /*limits=*/{}, /*host_limit_bytes=*/80}};
  Scheduler queue_{Roomy(), &clock_, &metrics_, &memory_, &devices_};
};

TEST_F(BudgetTest, WorkWaitsUntilItsMemoryIsFreeAndLightWorkPasses) {
  ASSERT_TRUE(queue_.Submit(Heavy(60)).ok());
  ASSERT_TRUE(queue_.Submit(Heavy(50)).ok());
  ASSERT_TRUE(queue_.Submit(Heavy(10)).ok());
  ASSERT_TRUE(queue_.Submit(Of("", 100'000)).ok());
  std::unique_ptr<Task> first = TakeOne(queue_);
  EXPECT_EQ(memory_.used_bytes(0), 60);
  EXPECT_EQ(TakeOne(queue_)->device_bytes, 0) << "what needs little is not held up, and 10 does not pass 50";
  std::unique_ptr<Task> second;
  std::thread taker([&] { second = TakeOne(queue_); });
  first.reset();
  taker.join();
  EXPECT_EQ(second->device_bytes, 50);
  EXPECT_EQ(TakeOne(queue_)->device_bytes, 10);
}

// Needs pinned memory beside that of its request.
class PinnedOperation final : public NullOperation {
 public:
  explicit PinnedOperation(int64_t bytes) : NullOperation(Operator::kSort), bytes_(bytes) {}
  int64_t host_bytes() const override { return bytes_; }

 private:
  const int64_t bytes_;
};

TEST_F(BudgetTest, PinnedMemoryIsWaitedForInTheSameWay) {
  const auto pinned = [this](int64_t bytes) { return Make(std::make_unique<PinnedOperation>(bytes)); };
  ASSERT_TRUE(queue_.Submit(pinned(60)).ok());
  ASSERT_TRUE(queue_.Submit(pinned(50)).ok());
  ASSERT_TRUE(queue_.Submit(Of("", 100'000)).ok());
  std::unique_ptr<Task> first = TakeOne(queue_);
  EXPECT_EQ(memory_.host_used_bytes(), 60);
  EXPECT_FALSE(TakeOne(queue_)->is_heavy()) << "what needs little is not held up";
  std::unique_ptr<Task> second;
  std::thread taker([&] { second = TakeOne(queue_); });
  first.reset();
  taker.join();
  EXPECT_EQ(second->host_bytes, 50);
  second.reset();
  EXPECT_EQ(memory_.host_used_bytes(), 0);
  EXPECT_EQ(queue_.Submit(pinned(81)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(BudgetTest, MoreThanTheWholeBudgetIsRefusedAtOnce) {
  const absl::Status refused = queue_.Submit(Heavy(101));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("--device-budget-bytes is 100"),
                                                    EndsWith("send less at a time, or use a stream (Execute)")));
  class Streamed final : public HeavyOperation {
   public:
    using HeavyOperation::HeavyOperation;
    bool waits_for_caller() const override { return true; }
  };
  auto stream = Make(std::make_unique<Streamed>(101));
  EXPECT_THAT(std::string(queue_.Submit(std::move(stream)).message()), EndsWith("is 100; send less at a time"));
}

TEST_F(BudgetTest, ARandomMixNeverTakesMoreThanThereIs) {
  std::atomic<int64_t> used{0}, most{0};
  std::vector<std::thread> lanes;
  for (int i = 0; i < 4; ++i) {
    lanes.emplace_back([&] {
      while (const std::unique_ptr<Task> task = TakeOne(queue_)) {
        const int64_t now = used += task->device_bytes;
        for (int64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        used -= task->device_bytes;
      }
    });
  }
  uint32_t random = 1;
  for (int i = 0; i < 500; ++i) {
    random = random * 1664525 + 1013904223;
    ASSERT_TRUE(queue_.Submit(Heavy(random >> 8 & 63)).ok());
  }
  queue_.Close(absl::UnavailableError("closed"));
  for (std::thread& lane : lanes) lane.join();
  EXPECT_LE(most, 100);
  EXPECT_EQ(memory_.used_bytes(0), 0);
}

TEST_F(ShareTest, ADeadlineThatPassesWhileNobodyTakesEndsTheRequestThen) {
  Scheduler queue(Roomy(), &Clock::Steady(), &metrics_);
  class Ended final : public Completion {
   public:
    void Done(const absl::Status& status, Outcome&) override {
      code = status.code();
      at = Clock::Steady().Now();
      ended.Notify();
    }
    void Abandon(const absl::Status&) override {}
    absl::StatusCode code = absl::StatusCode::kOk;
    Instant at;
    absl::Notification ended;
  } ended;
  auto task = Of("a");
  task->request.completion = &ended;
  task->request.deadline = Clock::Steady().Now() + milliseconds(30);
  const Instant deadline = task->request.deadline;
  ASSERT_TRUE(queue.Submit(std::move(task)).ok());
  ended.ended.WaitForNotification();
  EXPECT_EQ(ended.code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(ended.at, deadline);
  EXPECT_EQ(queue.waiting_requests(), 0);
}

class LateTest : public ShareTest {
 protected:
  // Performs a request of `bytes` in `time`.
  void Work(int64_t bytes, milliseconds time) {
    ASSERT_TRUE(queue_.Submit(Of("a", bytes)).ok());
    std::unique_ptr<Task> task = TakeOne(queue_);
    clock_.Advance(time);
    task->batch->CountServed();
  }
  absl::Status AdmitWithin(int64_t bytes, milliseconds time) {
    auto task = Of("a", bytes);
    task->request.deadline = clock_.Now() + time;
    return queue_.Submit(std::move(task));
  }
  Scheduler queue_{Roomy(), &clock_, &metrics_};
};

TEST_F(LateTest, WhatCannotBeDoneInTimeIsRefusedOnceItIsKnown) {
  ASSERT_TRUE(AdmitWithin(1'000'000, milliseconds(10)).ok()) << "nothing was learned";
  TakeOne(queue_);
  for (int i = 0; i < 8; ++i) Work(1'000'000, milliseconds(100));
  const absl::Status refused = AdmitWithin(1'000'000, milliseconds(90));
  EXPECT_EQ(refused.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the work alone takes an estimated 100"));
  EXPECT_FALSE(HasRetryDelay(refused)) << "no wait would help";
  EXPECT_NEAR(queue_.EstimatedBytesPerSecond(Operator::kSort), 1e7, 1e5);
  ASSERT_TRUE(AdmitWithin(1'000'000, milliseconds(110)).ok());
}

TEST_F(LateTest, HowFastACallerSendsSaysNothing) {
  class Streamed final : public NullOperation {
   public:
    Streamed() : NullOperation(Operator::kSort) {}
    bool waits_for_caller() const override { return true; }
  };
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(queue_.Submit(requests_.emplace_back().MakeTask(std::make_unique<Streamed>(), 1'000'000)).ok());
    std::unique_ptr<Task> task = TakeOne(queue_);
    clock_.Advance(milliseconds(3000));
    task->batch->CountServed();
  }
  EXPECT_TRUE(AdmitWithin(1'000'000, milliseconds(10)).ok());
  EXPECT_EQ(queue_.EstimatedBytesPerSecond(Operator::kSort), 0);
}

TEST_F(LateTest, WhatWaitsCountsByItsShare) {
  for (int i = 0; i < 8; ++i) Work(1'000'000, milliseconds(100));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue_.Submit(Of("a", 1'000'000)).ok());
  for (int i = 0; i < 4; ++i) {
    TakeOne(queue_);
    clock_.Advance(milliseconds(100));
  }
  EXPECT_FALSE(AdmitWithin(1'000'000, milliseconds(500)).ok()) << "six of its own wait";
  auto other = Of("b", 1'000'000);
  other->request.deadline = clock_.Now() + milliseconds(500);
  EXPECT_TRUE(queue_.Submit(std::move(other)).ok()) << "of which another tenant waits for one";
}

TEST_F(LateTest, AnOutlierMovesLittleAndAnOldEstimateRefusesNothing) {
  for (int i = 0; i < 20; ++i) Work(1'000'000, milliseconds(100));
  Work(1'000'000, milliseconds(5000));
  ASSERT_TRUE(AdmitWithin(1'000'000, milliseconds(120)).ok());
  TakeOne(queue_);
  EXPECT_FALSE(AdmitWithin(1'000'000, milliseconds(50)).ok());
  clock_.Advance(seconds(11));
  ASSERT_TRUE(AdmitWithin(1'000'000, milliseconds(50)).ok()) << "so that it is measured again";
}

TEST_F(ShareTest, ABatchIsWaitedForOnlyWithADelayAndUntilItIsFull) {
  const auto options = [](absl::Duration delay) {
    Scheduler::Options options = Roomy();
    options.batch_requests = 3;
    options.batch_bytes = 1000;
    options.batch_delay = delay;
    return options;
  };
  Scheduler prompt(options(absl::ZeroDuration()), &Clock::Steady(), &metrics_);
  ASSERT_TRUE(prompt.Submit(Of("a")).ok());
  EXPECT_EQ(prompt.NextBatch(0, /*is_spare=*/false).size(), 1U);
  Scheduler queue(options(absl::Hours(1)), &Clock::Steady(), &metrics_);
  ASSERT_TRUE(queue.Submit(Of("a")).ok());
  size_t taken = 0;
  std::thread taker([&] { taken = queue.NextBatch(0, /*is_spare=*/false).size(); });
  ASSERT_TRUE(queue.Submit(Of("a")).ok());
  ASSERT_TRUE(queue.Submit(Of("b")).ok());
  taker.join();
  EXPECT_EQ(taken, 3U);
  ASSERT_TRUE(queue.Submit(Of("a", 600)).ok());
  ASSERT_TRUE(queue.Submit(Of("a", 600)).ok());
  EXPECT_EQ(queue.NextBatch(0, /*is_spare=*/false).size(), 1U) << "full by bytes";
  Scheduler patient(options(absl::Milliseconds(1)), &Clock::Steady(), &metrics_);
  ASSERT_TRUE(patient.Submit(Of("a", 600)).ok());
  EXPECT_EQ(patient.NextBatch(0, /*is_spare=*/false).size(), 1U);
}

}  // namespace
}  // namespace corank::testing
