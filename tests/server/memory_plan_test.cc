// The budgets of a server's memory together fit into its container.
#include "server/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kGiB = int64_t{1} << 30;

// The defaults of corankd in a container of this size.
MemoryPlan::Needs Defaults(EngineKind engine, int64_t host_bytes) {
  MemoryPlan::Needs needs;
  needs.host_bytes = host_bytes;
  needs.engine = engine;
  needs.device_bytes = {engine == EngineKind::kCpu ? host_bytes : 140 * kGiB};
  needs.long_lanes = 8;
  needs.host_pool_bytes = std::min(host_bytes / 4, 8 * kGiB);
  needs.buffered_bytes = 2 * kGiB;
  return needs;
}

TEST(MemoryPlan, DefaultsFitTheContainerWithRoomForTheRest) {
  for (const EngineKind engine : {EngineKind::kCpu, EngineKind::kCuda}) {
    for (const int64_t host_bytes : {4 * kGiB, 16 * kGiB, 24 * kGiB, 64 * kGiB, 2048 * kGiB}) {
      const MemoryPlan::Needs needs = Defaults(engine, host_bytes);
      const MemoryPlan plan = MemoryPlan::Make(needs);
      SCOPED_TRACE(host_bytes);
      EXPECT_THAT(plan.warnings, IsEmpty());
      EXPECT_EQ(plan.error, "");
      EXPECT_LE(plan.host_bytes, host_bytes / 8 * 7);
      EXPECT_GT(plan.streams.max_host_bytes, 0);
      EXPECT_GT(plan.streams.max_device_bytes, 0);
      const int64_t on_host = engine == EngineKind::kCpu ? plan.budgets.limits[0] : 0;
      EXPECT_EQ(plan.host_bytes,
                needs.host_pool_bytes + needs.buffered_bytes + plan.budgets.host_limit_bytes + on_host);
      EXPECT_EQ(plan.budgets.host_limit_bytes, 4 * plan.streams.max_host_bytes) << "of all streams";
    }
  }
}

TEST(MemoryPlan, KeptArraysOfTheCpuEngineAreTheHostsToo) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCpu, 16 * kGiB);
  const MemoryPlan without = MemoryPlan::Make(needs);
  needs.kept_bytes = 4 * kGiB;
  const MemoryPlan with = MemoryPlan::Make(needs);
  EXPECT_THAT(with.warnings, IsEmpty());
  EXPECT_LE(with.host_bytes, 14 * kGiB);
  EXPECT_LT(with.budgets.limits[0], without.budgets.limits[0]);
  needs = Defaults(EngineKind::kCuda, 16 * kGiB);
  needs.kept_bytes = 40 * kGiB;
  EXPECT_EQ(MemoryPlan::Make(needs).budgets.limits[0], 140 * kGiB / 10 * 9 - 40 * kGiB) << "on the GPU";
  EXPECT_THAT(MemoryPlan::Make(needs).warnings, IsEmpty());
}

TEST(MemoryPlan, LanesKeepWhatTheBudgetsLeaveFree) {
  for (const int64_t host_bytes : {4 * kGiB, 16 * kGiB, 64 * kGiB, 2048 * kGiB}) {
    SCOPED_TRACE(host_bytes);
    const MemoryPlan on_host = MemoryPlan::Make(Defaults(EngineKind::kCpu, host_bytes));
    EXPECT_EQ(on_host.lanes[0].device_bytes, on_host.budgets.limits[0] / 4);
    EXPECT_EQ(on_host.lanes[0].host_bytes, 0);
    EXPECT_LE(on_host.host_bytes + on_host.lanes[0].device_bytes, host_bytes);
    MemoryPlan::Needs two_gpus = Defaults(EngineKind::kCuda, host_bytes);
    two_gpus.device_bytes = {140 * kGiB, 80 * kGiB};
    const MemoryPlan plan = MemoryPlan::Make(two_gpus);
    int64_t pinned = 0;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_LE(plan.budgets.limits[i] + plan.lanes[i].device_bytes, two_gpus.device_bytes[i]);
      EXPECT_GE(plan.lanes[i].device_bytes, 4 * kGiB);
      pinned += plan.lanes[i].host_bytes;
    }
    EXPECT_LE(plan.host_bytes + pinned, host_bytes);
  }
}

TEST(MemoryPlan, CopiesBetweenGpusLeaveLessToStreams) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCuda, 8 * kGiB);
  const MemoryPlan without = MemoryPlan::Make(needs);
  needs.relay_bytes = kGiB;
  const MemoryPlan with = MemoryPlan::Make(needs);
  EXPECT_EQ(with.host_bytes, without.host_bytes);
  EXPECT_EQ(with.budgets.host_limit_bytes, without.budgets.host_limit_bytes - kGiB);
  needs.host_pool_bytes = 8 * kGiB;
  EXPECT_THAT(MemoryPlan::Make(needs).warnings,
              ElementsAre(HasSubstr("copies between GPUs without a link 1073741824")));
}

TEST(MemoryPlan, LanesKeepAQuarterOfASmallBudget) {
  for (const EngineKind engine : {EngineKind::kCpu, EngineKind::kCuda}) {
    MemoryPlan::Needs needs = Defaults(engine, 16 * kGiB);
    needs.device_budget_bytes = kGiB / 4;
    EXPECT_EQ(MemoryPlan::Make(needs).lanes[0].device_bytes, kGiB / 16);
    needs.device_budget_bytes = kGiB / 16;
    EXPECT_EQ(MemoryPlan::Make(needs).lanes[0].device_bytes, kGiB / 64);
  }
}

TEST(MemoryPlan, ALargeHostBesideAGpuGivesHalfToStreams) {
  const MemoryPlan plan = MemoryPlan::Make(Defaults(EngineKind::kCuda, 128 * kGiB));
  EXPECT_EQ(plan.streams.max_host_bytes, 16 * kGiB);
  EXPECT_EQ(plan.streams.max_device_bytes, 140 * kGiB / 4 * 3 / 4);
}

TEST(MemoryPlan, WhatIsAskedForHoldsAndIsWarnedOfWhereItIsTooMuch) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCpu, 16 * kGiB);
  needs.streams.max_host_bytes = 5 * kGiB;
  needs.streams.max_device_bytes = kGiB;
  needs.device_budget_bytes = 3 * kGiB;
  const MemoryPlan plan = MemoryPlan::Make(needs);
  EXPECT_EQ(plan.streams.max_host_bytes, 5 * kGiB);
  EXPECT_EQ(plan.streams.max_device_bytes, kGiB);
  EXPECT_EQ(plan.budgets.limits[0], 3 * kGiB);
  EXPECT_EQ(plan.host_bytes, 29 * kGiB);
  EXPECT_THAT(plan.warnings, ElementsAre(AllOf(HasSubstr("17179869184 bytes"), HasSubstr("31138512896"),
                                               HasSubstr("--max-stream-host-bytes of all streams 21474836480"),
                                               HasSubstr("--device-budget-bytes 3221225472"))));
  needs.streams.max_host_bytes = INT64_MAX;
  EXPECT_EQ(MemoryPlan::Make(needs).host_bytes, INT64_MAX) << "and no overflow";
}

// Otherwise the server would refuse every stream of unknown size, however small.
TEST(MemoryPlan, AStreamFitsTheBudgetOfItsDevice) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCuda, 128 * kGiB);
  needs.device_bytes = {140 * kGiB, 80 * kGiB};
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_device_bytes, 80 * kGiB / 4 * 3 / 4) << "of the smallest";
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_host_bytes, 8 * kGiB) << "of either device";
  needs.device_budget_bytes = kGiB;
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_device_bytes, kGiB);
}

TEST(MemoryPlan, AHostPoolThatTakesAllLeavesSomething) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCpu, 8 * kGiB);
  needs.host_pool_bytes = 64 * kGiB;
  const MemoryPlan plan = MemoryPlan::Make(needs);
  EXPECT_GT(plan.streams.max_host_bytes, 0);
  EXPECT_GT(plan.budgets.limits[0], 0);
  EXPECT_EQ(plan.error, "");
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("--host-pool-bytes 68719476736")));
  needs.host_pool_bytes = needs.buffered_bytes = INT64_MAX;
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_host_bytes, plan.streams.max_host_bytes) << "and no overflow";
}

TEST(MemoryPlan, KeptArraysThatLeaveNothingToWorkWithAreAnError) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  for (const EngineKind engine : {EngineKind::kCpu, EngineKind::kCuda}) {
    SCOPED_TRACE(EngineKindName(engine));
    MemoryPlan::Needs needs = Defaults(engine, 16 * kGiB);
    const int64_t device_bytes = needs.device_bytes[0];
    for (const int64_t kept_bytes : {device_bytes / 10 * 9 - 64 * kMiB + 1, device_bytes / 10 * 9, 200 * kGiB}) {
      needs.kept_bytes = kept_bytes;
      const MemoryPlan plan = MemoryPlan::Make(needs);
      EXPECT_THAT(plan.error, AllOf(HasSubstr(absl::StrCat("--kept-bytes ", kept_bytes, " leaves ")),
                                    HasSubstr(absl::StrCat(" of a device with ", device_bytes)),
                                    HasSubstr("need at least 67108864")));
    }
    needs.kept_bytes = device_bytes / 10 * 9 - 64 * kMiB;
    EXPECT_EQ(MemoryPlan::Make(needs).error, "");
    EXPECT_EQ(MemoryPlan::Make(needs).budgets.limits[0], 64 * kMiB);
    needs.kept_bytes = device_bytes;
    needs.device_budget_bytes = kMiB;
    EXPECT_EQ(MemoryPlan::Make(needs).error, "") << "what is asked for holds";
    EXPECT_THAT(MemoryPlan::Make(needs).warnings, Contains(HasSubstr("(--device-budget-bytes), less than 67108864")));
  }
  MemoryPlan::Needs needs = Defaults(EngineKind::kCuda, 16 * kGiB);
  needs.device_bytes = {140 * kGiB, 40 * kGiB};
  needs.kept_bytes = 36 * kGiB;
  EXPECT_THAT(MemoryPlan::Make(needs).error, HasSubstr("of a device with 42949672960")) << "of the smallest";
}

TEST(MemoryPlan, ASmallDeviceDoesWhatItCan) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCpu, kGiB);
  needs.kept_bytes = 1 << 20;
  const MemoryPlan plan = MemoryPlan::Make(needs);
  EXPECT_EQ(plan.error, "") << "fewer kept arrays would not help";
  EXPECT_GT(plan.budgets.limits[0], 0);
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("less than 67108864")));
}

TEST(MemoryPlan, BudgetsThatAreMoreThanTheGpuAreWarnedOf) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCuda, 128 * kGiB);
  needs.device_budget_bytes = 100 * kGiB;
  needs.kept_bytes = 40 * kGiB;
  EXPECT_THAT(MemoryPlan::Make(needs).warnings, IsEmpty());
  needs.kept_bytes += 1;
  EXPECT_THAT(MemoryPlan::Make(needs).warnings,
              ElementsAre(AllOf(HasSubstr("150323855360"), HasSubstr("--device-budget-bytes 107374182400"),
                                HasSubstr("--kept-bytes 42949672961"))));
}

// Otherwise the server would never admit a large one.
TEST(MemoryPlan, AStreamMayTakeNoMoreThanTheBudgetThatItIsAdmittedBy) {
  MemoryPlan::Needs needs = Defaults(EngineKind::kCuda, 128 * kGiB);
  needs.device_bytes = {140 * kGiB, 80 * kGiB};
  needs.streams.max_device_bytes = 100 * kGiB;
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_device_bytes, 100 * kGiB) << "the larger one runs it";
  EXPECT_THAT(MemoryPlan::Make(needs).warnings, IsEmpty());
  needs.streams.max_device_bytes = 130 * kGiB;
  const MemoryPlan plan = MemoryPlan::Make(needs);
  EXPECT_EQ(plan.streams.max_device_bytes, 140 * kGiB / 10 * 9);
  EXPECT_THAT(plan.warnings, ElementsAre(AllOf(HasSubstr("--max-device-bytes 139586437120"),
                                               HasSubstr("135291469824 (--device-budget-bytes)"))));
  needs.device_budget_bytes = kGiB;
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_device_bytes, kGiB);
  needs.device_budget_bytes = 1 << 20;
  needs.streams.max_device_bytes = 64 << 20;
  EXPECT_EQ(MemoryPlan::Make(needs).streams.max_device_bytes, 64 << 20) << "which a lane has in any case";
}

}  // namespace
}  // namespace corank::testing
