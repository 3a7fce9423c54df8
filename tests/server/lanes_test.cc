// execute: lanes that stall, hang, or are idle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/run/device_watch.h"
#include "tests/server/lane_pool_fixture.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;

// Stalls until it is told to continue, or for a while.
class StandingStill final : public Operation {
 public:
  StandingStill(absl::Notification* goes_on, absl::Duration most, bool* told)
      : goes_on_(goes_on), most_(most), told_(told) {}
  Operator op() const override { return Operator::kSort; }
  absl::Status Execute(Lane& lane, Outcome&) override {
    lane.SetStalled(true);
    *told_ = goes_on_->WaitForNotificationWithTimeout(most_);
    lane.SetStalled(false);
    return absl::OkStatus();
  }

 private:
  absl::Notification* const goes_on_;
  const absl::Duration most_;
  bool* const told_;
};

class Telling final : public Operation {
 public:
  explicit Telling(absl::Notification* goes_on) : goes_on_(goes_on) {}
  Operator op() const override { return Operator::kSort; }
  absl::Status Execute(Lane&, Outcome&) override {
    goes_on_->Notify();
    return absl::OkStatus();
  }

 private:
  absl::Notification* const goes_on_;
};

TEST_F(LanePoolTest, ASpareWorksWhileALaneStandsStill) {
  for (const int spares : {0, 1}) {
    SCOPED_TRACE(spares);
    spares_ = spares;
    RecordedRequest stands_still, tells;
    absl::Notification goes_on;
    bool told = false;
    const absl::Duration most = spares > 0 ? absl::Seconds(60) : absl::Milliseconds(200);
    work_.Add(stands_still.MakeTask(std::make_unique<StandingStill>(&goes_on, most, &told)));
    work_.Add(tells.MakeTask(std::make_unique<Telling>(&goes_on)));
    PuppetEngine engine;
    RunAll(engine);
    EXPECT_EQ(told, spares > 0);
    EXPECT_TRUE(stands_still.status.ok() && tells.status.ok());
  }
}

TEST_F(LanePoolTest, CallersOfStuckLanesAreAnsweredOnceAndLetGoLater) {
  PuppetEngine engine;
  engine.Hold();
  work_.Add(request_.MakeTask());
  const std::unique_ptr<LanePool> pool = OneLane(engine);
  engine.AwaitHeld(1);
  for (int i = 0; i < 2; ++i) pool->Abandon(0, DeviceLost());
  EXPECT_THAT(request_.abandoned, ElementsAre(DeviceLost()));
  EXPECT_EQ(request_.ends, 0);
  engine.Release();
  EXPECT_TRUE(Eventually([&] { return request_.ends == 1; }));
  pool->Abandon(0, DeviceLost());
  EXPECT_EQ(request_.abandoned.size(), 1U) << "it has ended";
}

int64_t Trims(const PuppetEngine& engine) {
  const std::vector<std::string> phases = engine.phases();
  return std::count(phases.begin(), phases.end(), "Trim");
}

TEST_F(LanePoolTest, ASpareWithoutWorkGivesMemoryBackToo) {
  spares_ = 1;
  RecordedRequest stands_still;
  absl::Notification goes_on;
  bool told = false;
  work_.SetOpen(true);
  work_.Add(stands_still.MakeTask(std::make_unique<StandingStill>(&goes_on, absl::Seconds(60), &told)));
  work_.Add(request_.MakeTask());
  PuppetEngine engine;
  const std::unique_ptr<LanePool> pool = OneLane(engine);
  ASSERT_TRUE(Eventually([&] { return request_.ends == 1; }));
  int64_t calls = 0;
  EXPECT_TRUE(Eventually([&] {
    pool->Trim();
    return Trims(engine) > ++calls;
  })) << "the lane for what comes directly gives back each time, the one that stands still never";
  goes_on.Notify();
  work_.SetOpen(false);
}

TEST_F(LanePoolTest, LanesWithoutWorkGiveMemoryBack) {
  PuppetEngine engine;
  engine.Hold();
  work_.Add(request_.MakeTask());
  const std::unique_ptr<LanePool> pool = OneLane(engine);
  engine.AwaitHeld(1);
  int64_t calls = 0;
  for (; calls < 3; ++calls) pool->Trim();
  EXPECT_EQ(Trims(engine), calls) << "of the lane for what comes directly alone";
  engine.Release();
  EXPECT_TRUE(Eventually([&] {
    pool->Trim();
    return Trims(engine) > ++calls;
  }));
}

TEST_F(LanePoolTest, IdleLanesFreeWhatTheyKeepEvenIfTheyWorkedJustNow) {
  PuppetEngine engine;
  const std::unique_ptr<LanePool> pool = DirectLanes(engine);
  pool->RunDirectly(request_.MakeTask());
  pool->Trim();
  EXPECT_EQ(Trims(engine), 0) << "its next request may come soon";
  pool->RunDirectly(second_.MakeTask());
  pool->Trim(LanePool::Idle::kNow);
  EXPECT_EQ(Trims(engine), 1);
}

// A second stream, which keeps memory too.
class OnTwoStreams final : public Operation {
 public:
  Operator op() const override { return Operator::kSort; }
  absl::Status Execute(Lane& lane, Outcome&) override { return lane.ExtraStream(0).status(); }
};

TEST_F(LanePoolTest, LanesGiveUpWhatTheyMayNotKeepAfterEveryBatch) {
  PuppetEngine engine;
  work_.Add(request_.MakeTask(std::make_unique<OnTwoStreams>()));
  RunAll(engine);
  EXPECT_EQ(engine.ends(), 2);
  const std::unique_ptr<LanePool> direct = DirectLanes(engine);
  direct->RunDirectly(second_.MakeTask());
  EXPECT_EQ(engine.ends(), 3);
}

TEST_F(LanePoolTest, ARequestThatFindsNoMemoryRunsAgainOnceIdleLanesHaveFreedTheirs) {
  int failing = 1;
  PuppetEngine engine([&failing](const std::string& phase, OperatorReport*) {
    return phase == "Run" && failing-- > 0 ? absl::ResourceExhaustedError("no memory") : absl::OkStatus();
  });
  work_.Add(request_.MakeTask(SortOf(keys_, 4)));
  RunAll(engine);
  EXPECT_TRUE(request_.status.ok()) << request_.status;
  EXPECT_EQ(idle_freed_, 1);
  EXPECT_EQ(Trims(engine), 1) << "of its own lane, where no chunk may be large enough";
}

TEST_F(LanePoolTest, EachTaskThatComesDirectlyHasALaneThatTheNextOneTakesOver) {
  PuppetEngine engine;
  const std::unique_ptr<LanePool> pool = DirectLanes(engine);
  std::array<RecordedRequest, 4> requests;
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    engine.Hold();
    std::vector<std::thread> callers;
    for (int i = 2 * round; i < 2 * round + 2; ++i) {
      callers.emplace_back([&pool, task = requests[i].MakeTask()]() mutable { pool->RunDirectly(std::move(task)); });
    }
    engine.AwaitHeld(2);
    engine.Release();
    for (std::thread& caller : callers) caller.join();
  }
  for (const RecordedRequest& request : requests) EXPECT_TRUE(request.ends == 1 && request.status.ok());
  pool->Trim();  // checks which lanes worked since the last call
  pool->Trim();
  EXPECT_EQ(Trims(engine), 2) << "of the streams that there are";
}

TEST_F(LanePoolTest, WhatComesDirectlyAndFindsNoMemoryForAStreamIsToldSo) {
  PuppetEngine engine;
  const std::unique_ptr<LanePool> pool = DirectLanes(engine);
  engine.Hold();
  std::thread first([&pool, task = request_.MakeTask()]() mutable { pool->RunDirectly(std::move(task)); });
  engine.AwaitHeld(1);  // it has the stream that existed from the start
  engine.SetStreamsFail(true);
  pool->RunDirectly(second_.MakeTask());
  EXPECT_EQ(second_.ends, 1);
  EXPECT_EQ(second_.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasRetryDelay(second_.status));
  engine.Release();
  first.join();
  EXPECT_TRUE(request_.status.ok());
}

}  // namespace
}  // namespace corank::testing
