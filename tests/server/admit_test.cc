// admit and batch: which requests start, when, with which others, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "corank/wire/v1/rpc_status.pb.h"
#include "server/schedule/drain_rate.h"
#include "server/schedule/scheduler.h"
#include "tests/server/doubles.h"

namespace corank::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

absl::Duration RetryDelay(const absl::Status& status) {
  const auto payload = status.GetPayload("type.googleapis.com/google.rpc.RetryInfo");
  wire::v1::RetryInfo info;
  if (!payload || !info.ParseFromString(std::string(*payload))) return -absl::InfiniteDuration();
  return absl::Seconds(info.retry_delay().seconds()) + absl::Nanoseconds(info.retry_delay().nanos());
}

class AdmitTest : public ::testing::Test {
 protected:
  Scheduler::Options Small() {
    Scheduler::Options options;
    options.max_requests = 3;
    options.max_bytes = 100;
    options.batch_requests = 1;
    return options;
  }
  // Takes one task, which must be alone.
  std::unique_ptr<Task> TakeOne() {
    auto taken = queue_.NextBatch(0, /*is_spare=*/false);
    return taken.empty() ? nullptr : std::move(taken.front());
  }

  FakeClock clock_;
  Metrics metrics_;
  std::array<RecordedRequest, 8> requests_;
  Scheduler queue_{Small(), &clock_, &metrics_};
};

TEST_F(AdmitTest, TakesInOrderOfArrivalWithinAPriority) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue_.Submit(requests_[i].MakeTask()).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(TakeOne()->request.completion, &requests_[i]);
}

TEST_F(AdmitTest, TakesHigherPrioritiesFirst) {
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask(1, TaskPriority::kLow)).ok());
  ASSERT_TRUE(queue_.Submit(requests_[1].MakeTask(1, TaskPriority::kNormal)).ok());
  ASSERT_TRUE(queue_.Submit(requests_[2].MakeTask(1, TaskPriority::kHigh)).ok());
  EXPECT_EQ(TakeOne()->request.completion, &requests_[2]);
  EXPECT_EQ(TakeOne()->request.completion, &requests_[1]);
  EXPECT_EQ(TakeOne()->request.completion, &requests_[0]);
}

// Records the requests that it runs, and may call an action meanwhile.
struct RecordingRunner {
  void operator()(std::unique_ptr<Task> task) {
    ran.push_back(task->request.completion);
    if (meanwhile) meanwhile();
    task->Drop(absl::OkStatus());
  }
  std::vector<Completion*> ran;
  std::function<void()> meanwhile;
};

TEST_F(AdmitTest, ASmallRequestRunsAtOnceWhileNothingWaits) {
  RecordingRunner runner;
  queue_.SetDirectRunner(std::ref(runner));
  runner.meanwhile = [this] {
    if (requests_[1].ends > 0) return;
    EXPECT_TRUE(queue_.Submit(requests_[1].MakeTask()).ok());  // waits: one at a time
    EXPECT_EQ(queue_.waiting_requests(), 1);
  };
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask()).ok());
  EXPECT_THAT(runner.ran, ElementsAre(&requests_[0]));
  ASSERT_TRUE(queue_.Submit(requests_[2].MakeTask()).ok());  // after the waiting ones
  EXPECT_EQ(TakeOne()->request.completion, &requests_[1]);
  EXPECT_EQ(TakeOne()->request.completion, &requests_[2]);
  runner.meanwhile = nullptr;
  ASSERT_TRUE(queue_.Submit(requests_[3].MakeTask()).ok());
  EXPECT_THAT(runner.ran, ElementsAre(&requests_[0], &requests_[3]));
}

TEST_F(AdmitTest, ALargeRequestNeverRunsOnItsCallersThread) {
  Scheduler::Options options;
  options.direct_bytes = 10;
  Scheduler queue(options, &clock_, &metrics_);
  RecordingRunner runner;
  queue.SetDirectRunner(std::ref(runner));
  ASSERT_TRUE(queue.Submit(requests_[0].MakeTask(11)).ok());
  EXPECT_EQ(queue.waiting_requests(), 1);
  EXPECT_TRUE(runner.ran.empty());
}

TEST_F(AdmitTest, WhatIsPlannedForTheHostRunsThereWhateverWaits) {
  Scheduler::Options options;
  options.max_requests = 1;
  Scheduler queue(options, &clock_, &metrics_);
  RecordingRunner device, host;
  queue.SetDirectRunner(std::ref(device));
  queue.SetHostRunner(std::ref(host));
  const auto make = [this](size_t i, Strategy strategy) {
    std::unique_ptr<Task> task = requests_[i].MakeTask(20'000);
    task->plan.strategy = strategy;
    return task;
  };
  ASSERT_TRUE(queue.Submit(make(0, Strategy::kDevice)).ok());
  EXPECT_EQ(queue.waiting_requests(), 1);  // there is room for no more
  host.meanwhile = [&] {
    if (host.ran.size() > 1) return;
    EXPECT_TRUE(queue.Submit(make(2, Strategy::kHost)).ok());  // while the first one runs
  };
  EXPECT_TRUE(queue.Submit(make(1, Strategy::kHost)).ok());
  EXPECT_THAT(host.ran, ElementsAre(&requests_[1], &requests_[2]));
  EXPECT_EQ(queue.Submit(make(3, Strategy::kBatched)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(queue.Submit(make(4, Strategy::kDevice)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(device.ran.empty());
}

TEST_F(AdmitTest, NothingRunsOnTheHostThatIsNotWantedOrOfAClosedQueue) {
  Scheduler queue({}, &clock_, &metrics_);
  RecordingRunner host;
  queue.SetHostRunner(std::ref(host));
  std::unique_ptr<Task> late = requests_[0].MakeTask();
  late->plan.strategy = Strategy::kHost;
  late->request.deadline = clock_.Now();
  EXPECT_EQ(queue.Submit(std::move(late)).code(), absl::StatusCode::kDeadlineExceeded);
  queue.Close(absl::UnavailableError("closed"));
  std::unique_ptr<Task> refused = requests_[1].MakeTask();
  refused->plan.strategy = Strategy::kHost;
  EXPECT_EQ(queue.Submit(std::move(refused)).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(host.ran.empty());
}

TEST_F(AdmitTest, AClosedQueueRunsNothingDirectly) {
  RecordingRunner runner;
  queue_.SetDirectRunner(std::ref(runner));
  queue_.Close(absl::UnavailableError("closed"));
  EXPECT_EQ(queue_.Submit(requests_[0].MakeTask()).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(runner.ran.empty());
}

TEST_F(AdmitTest, SmallTasksWaitForOneOfTheTakersThatMayHaveThem) {
  Scheduler::Options options;
  options.small_takers = 1;
  options.direct_bytes = 0;
  Scheduler queue(options, &clock_, &metrics_);
  const auto take = [&queue] { return queue.NextBatch(0, /*is_spare=*/false); };
  ASSERT_TRUE(queue.Submit(requests_[0].MakeTask(10)).ok());
  auto first = take();
  ASSERT_TRUE(queue.Submit(requests_[1].MakeTask(10)).ok());
  ASSERT_TRUE(queue.Submit(requests_[2].MakeTask(10)).ok());
  absl::Notification taken;
  std::vector<std::unique_ptr<Task>> second;
  std::thread taker([&] {
    second = take();
    taken.Notify();
  });
  EXPECT_FALSE(taken.WaitForNotificationWithTimeout(absl::Milliseconds(20)));
  first.clear();
  taker.join();
  EXPECT_EQ(second.size(), 2U) << "what came meanwhile is a batch";
  // A large request passes.
  ASSERT_TRUE(queue.Submit(requests_[3].MakeTask(100'000)).ok());
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(AdmitTest, RefusesMoreRequestsThanAllowedAndLeavesTheTaskToTheCaller) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue_.Submit(requests_[i].MakeTask()).ok());
  std::unique_ptr<Task> task = requests_[3].MakeTask();
  const absl::Status refused = queue_.Submit(std::move(task));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  EXPECT_NE(task, nullptr);
  EXPECT_EQ(requests_[3].ends, 0);
  TakeOne();
  EXPECT_TRUE(queue_.Submit(std::move(task)).ok());
  EXPECT_EQ(task, nullptr);
}

TEST_F(AdmitTest, RefusesMoreBytesThanAllowedUntilBytesLeft) {
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask(60, TaskPriority::kHigh)).ok());
  std::unique_ptr<Task> task = requests_[1].MakeTask(41, TaskPriority::kHigh);
  EXPECT_EQ(queue_.Submit(std::move(task)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(queue_.Submit(requests_[2].MakeTask(40, TaskPriority::kHigh)).ok());
  TakeOne();
  EXPECT_TRUE(queue_.Submit(std::move(task)).ok());
}

TEST_F(AdmitTest, BytesThatWouldOverflowAreRefused) {
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask(1)).ok());
  EXPECT_EQ(queue_.Submit(requests_[1].MakeTask(std::numeric_limits<int64_t>::max())).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(AdmitTest, RefusesADeadlineThatPassed) {
  std::unique_ptr<Task> task = requests_[0].MakeTask();
  task->request.deadline = clock_.Now();
  EXPECT_EQ(queue_.Submit(std::move(task)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(task, nullptr);
}

TEST_F(AdmitTest, RefusesACallThatWasCancelled) {
  requests_[0].cancelled = true;
  EXPECT_EQ(queue_.Submit(requests_[0].MakeTask()).code(), absl::StatusCode::kCancelled);
}

TEST_F(AdmitTest, SweepEndsWhatIsLateOrCancelledAndKeepsTheOrderOfTheRest) {
  std::unique_ptr<Task> late = requests_[0].MakeTask(10);
  late->request.deadline = clock_.Now() + seconds(5);
  ASSERT_TRUE(queue_.Submit(std::move(late)).ok());
  ASSERT_TRUE(queue_.Submit(requests_[1].MakeTask(10)).ok());
  ASSERT_TRUE(queue_.Submit(requests_[2].MakeTask(10)).ok());
  queue_.Sweep();
  EXPECT_EQ(queue_.waiting_requests(), 3);
  clock_.Advance(seconds(5));
  requests_[1].cancelled = true;
  queue_.Sweep();
  EXPECT_EQ(requests_[0].status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(requests_[1].status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(requests_[0].ends + requests_[1].ends, 2);
  EXPECT_EQ(queue_.waiting_requests(), 1);
  EXPECT_TRUE(queue_.Submit(requests_[3].MakeTask(77)).ok()) << "the swept bytes must be free again";
  EXPECT_EQ(TakeOne()->request.completion, &requests_[2]);
}

TEST_F(AdmitTest, ADeadlineComesBeforeTheCancellationThatItCauses) {
  std::unique_ptr<Task> task = requests_[0].MakeTask();
  task->request.deadline = clock_.Now() + seconds(1);
  ASSERT_TRUE(queue_.Submit(std::move(task)).ok());
  clock_.Advance(seconds(1));
  requests_[0].cancelled = true;
  queue_.Sweep();
  EXPECT_EQ(requests_[0].status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(AdmitTest, CloseRefusesNewTasksAndHandsOutWhatWaits) {
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask()).ok());
  queue_.Close(RetryLater(v1::ERROR_REASON_DRAINING, "draining", absl::Seconds(5)));
  std::unique_ptr<Task> task = requests_[1].MakeTask();
  const absl::Status refused = queue_.Submit(std::move(task));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RetryDelay(refused), absl::Seconds(5));
  EXPECT_NE(task, nullptr);
  EXPECT_EQ(TakeOne()->request.completion, &requests_[0]);
  EXPECT_EQ(TakeOne(), nullptr);
}

TEST_F(AdmitTest, AbortEndsWhatWaits) {
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask()).ok());
  queue_.Abort(absl::UnavailableError("gone"));
  EXPECT_EQ(requests_[0].ends, 1);
  EXPECT_EQ(requests_[0].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(TakeOne(), nullptr);
}

TEST_F(AdmitTest, TakeWaitsForATask) {
  std::unique_ptr<Task> taken;
  std::thread taker([&] { taken = TakeOne(); });
  ASSERT_TRUE(queue_.Submit(requests_[0].MakeTask()).ok());
  taker.join();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->request.completion, &requests_[0]);
}

// Whether the thread waits for something. Takers wait only for work: nobody else uses the queue meanwhile.
bool Sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  return stat.find(") S ") != std::string::npos;
}

// Which of the takers takes each of a few tasks, if they came in the order of their numbers.
std::vector<int> TakersOfTasks(Scheduler& queue, std::array<RecordedRequest, 8>& requests,
                               const std::vector<bool>& is_spare) {
  constexpr int kTasks = 6;
  std::vector<std::atomic<pid_t>> asks(is_spare.size());  // its thread; 0: has a task
  std::atomic<int> tasks{0};
  std::vector<int> takers_of_tasks;
  const auto await_asleep = [&](size_t taker) {
    while (asks[taker] == 0 || !Sleeps(asks[taker])) std::this_thread::yield();
  };
  std::vector<std::thread> takers;
  for (size_t i = 0; i < is_spare.size(); ++i) {
    takers.emplace_back([&, i] {
      for (asks[i] = gettid(); !queue.NextBatch(0, is_spare[i]).empty(); asks[i] = gettid()) {
        asks[i] = 0;
        takers_of_tasks.push_back(static_cast<int>(i));
        ++tasks;
      }
    });
    await_asleep(i);
  }
  for (int i = 0; i < kTasks; ++i) {
    EXPECT_TRUE(queue.Submit(requests[static_cast<size_t>(i)].MakeTask()).ok());
    while (tasks <= i) std::this_thread::yield();
    for (size_t taker = 0; taker < is_spare.size(); ++taker) await_asleep(taker);
  }
  queue.Close(absl::UnavailableError("closed"));
  for (std::thread& taker : takers) taker.join();
  return takers_of_tasks;
}

TEST_F(AdmitTest, TheTakerThatCameLastTakesFirst) {
  EXPECT_EQ(TakersOfTasks(queue_, requests_, {false, false, false, false}), std::vector<int>(6, 3));
}

TEST_F(AdmitTest, SparesTakeBeforeAllOthers) {
  EXPECT_EQ(TakersOfTasks(queue_, requests_, {false, true, false, false}), std::vector<int>(6, 1));
}

TEST_F(AdmitTest, ATakerThatGathersLeavesTheOthersTheirShare) {
  Scheduler::Options options;
  options.batch_requests = 4;
  options.batch_delay = absl::Hours(1);
  Scheduler queue(options, &Clock::Steady(), &metrics_);
  std::array<std::atomic<pid_t>, 2> asks{};
  std::array<size_t, 2> taken{};
  std::vector<std::thread> takers;
  for (size_t i = 0; i < taken.size(); ++i) {
    takers.emplace_back([&, i] {
      asks[i] = gettid();
      taken[i] = queue.NextBatch(0, /*is_spare=*/false).size();
    });
    while (asks[i] == 0 || !Sleeps(asks[i])) std::this_thread::yield();
  }
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.Submit(requests_[static_cast<size_t>(i)].MakeTask()).ok());
  queue.Close(absl::UnavailableError("closed"));  // ends the wait for more
  for (std::thread& taker : takers) taker.join();
  EXPECT_THAT(taken, ElementsAre(2, 2));
}

TEST_F(AdmitTest, CloseWakesTakers) {
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i) takers.emplace_back([&] { EXPECT_EQ(TakeOne(), nullptr); });
  queue_.Close(absl::UnavailableError("closed"));
  for (std::thread& taker : takers) taker.join();
}

TEST_F(AdmitTest, RetryDelayFollowsTheMeasuredRate) {
  constexpr int64_t kBytes = 10'000'000;
  for (const TaskPriority priority : {TaskPriority::kHigh, TaskPriority::kNormal}) {
    Scheduler::Options options;
    options.max_requests = 100;
    options.max_bytes = 12 * kBytes;
    options.batch_requests = 1;
    // 10 MB leave every second, and 100 MB wait.
    std::array<RecordedRequest, 21> requests;
    Scheduler queue(options, &clock_, &metrics_);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.Submit(requests[i].MakeTask(kBytes, priority)).ok());
    for (int i = 0; i < 10; ++i) {
      clock_.Advance(seconds(1));
      queue.NextBatch(0, /*is_spare=*/false);
      ASSERT_TRUE(queue.Submit(requests[10 + i].MakeTask(kBytes, priority)).ok());
    }
    const auto expect_ten_seconds = [](const absl::Status& refused) {
      EXPECT_GT(RetryDelay(refused), absl::Seconds(9));
      EXPECT_LT(RetryDelay(refused), absl::Seconds(11));
    };
    expect_ten_seconds(queue.Submit(requests[20].MakeTask(3 * kBytes, priority)));
    expect_ten_seconds(queue.CheckRoom("", 3 * kBytes));  // unread, it may have any priority
  }
}

TEST(DrainRate, IdleTimeDoesNotCount) {
  DrainRate rate;
  Instant now{};
  rate.Leave(1'000'000, now, true);
  rate.Leave(1'000'000, now += seconds(1), false);
  rate.Leave(1'000'000, now += seconds(1000), true);
  rate.Leave(1'000'000, now += seconds(1), false);
  EXPECT_GT(rate.RetryDelay(1'000'000), absl::Milliseconds(900));
  EXPECT_LT(rate.RetryDelay(1'000'000), absl::Milliseconds(1100));
}

TEST(DrainRate, StaysWithinItsBounds) {
  DrainRate rate;
  EXPECT_EQ(rate.RetryDelay(1'000'000), absl::Milliseconds(100));
  Instant now{};
  rate.Leave(1'000, now, true);
  rate.Leave(1'000, now += seconds(1), true);
  EXPECT_EQ(rate.RetryDelay(int64_t{1} << 40), absl::Seconds(30));
  EXPECT_EQ(rate.RetryDelay(0), absl::Milliseconds(10));
}

class BatchTest : public AdmitTest {
 protected:
  std::vector<const Completion*> Next() {
    std::vector<const Completion*> order;
    for (const auto& task : batching_.NextBatch(0, /*is_spare=*/false)) order.push_back(task->request.completion);
    return order;
  }
  static Scheduler::Options Batches() {
    Scheduler::Options options;
    options.batch_requests = 3;
    return options;
  }
  Scheduler batching_{Batches(), &clock_, &metrics_};
};

TEST_F(BatchTest, SmallRequestsOfOneOperatorShareALease) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(batching_.Submit(requests_[i].MakeTask(10)).ok());
  EXPECT_THAT(Next(), ElementsAre(&requests_[0], &requests_[1], &requests_[2]));
  EXPECT_THAT(Next(), ElementsAre(&requests_[3]));
}

TEST_F(BatchTest, LargeRequestsHaveALeaseOfTheirOwn) {
  ASSERT_TRUE(batching_.Submit(requests_[0].MakeTask(10)).ok());
  ASSERT_TRUE(batching_.Submit(requests_[1].MakeTask(100'000)).ok());
  ASSERT_TRUE(batching_.Submit(requests_[2].MakeTask(10)).ok());
  EXPECT_THAT(Next(), ElementsAre(&requests_[0]));
  EXPECT_THAT(Next(), ElementsAre(&requests_[1]));
  EXPECT_THAT(Next(), ElementsAre(&requests_[2]));
}

TEST_F(BatchTest, OperatorsAndPrioritiesAreNotMixed) {
  ASSERT_TRUE(batching_.Submit(requests_[0].MakeTask(1, TaskPriority::kHigh, Operator::kSort)).ok());
  ASSERT_TRUE(batching_.Submit(requests_[1].MakeTask(1, TaskPriority::kNormal, Operator::kSort)).ok());
  ASSERT_TRUE(batching_.Submit(requests_[2].MakeTask(1, TaskPriority::kNormal, Operator::kMerge)).ok());
  EXPECT_THAT(Next(), ElementsAre(&requests_[0]));
  EXPECT_THAT(Next(), ElementsAre(&requests_[1]));
  EXPECT_THAT(Next(), ElementsAre(&requests_[2]));
}

TEST_F(BatchTest, EndsWhenTheSourceEnds) {
  batching_.Close(absl::UnavailableError("closed"));
  EXPECT_TRUE(batching_.NextBatch(0, /*is_spare=*/false).empty());
}

}  // namespace
}  // namespace corank::testing
