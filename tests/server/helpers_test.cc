#include "server/rpc/helpers.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"

namespace corank {
namespace {

TEST(Helpers, DoAllThatIsAskedOfThem) {
  for (int count : {0, 1, 3}) {
    std::atomic<int> done{0};
    {
      Helpers helpers(count);
      for (int i = 0; i < 1000; ++i) helpers.Run(i % 3 == 0 ? "a" : "b", [&done] { ++done; });
    }
    EXPECT_EQ(done, 1000);
  }
}

TEST(Helpers, ATenantWhoseTasksWaitHoldsUpNoOther) {
  absl::Notification goes_on;
  std::atomic<int> waited{0}, done{0};
  {
    Helpers helpers(4);
    for (int i = 0; i < 10; ++i) {
      helpers.Run("waits", [&] {
        goes_on.WaitForNotification();
        ++waited;
      });
    }
    for (int i = 0; i < 100; ++i) {
      helpers.Run(i % 2 == 0 ? "a" : "z", [&] {
        if (++done == 100) goes_on.Notify();
      });
    }
  }
  EXPECT_EQ(done, 100);
  EXPECT_EQ(waited, 10);
}

TEST(Helpers, TakeNoMoreTasksOfATenantThanMayWait) {
  absl::Notification begins, goes_on;
  std::atomic<size_t> done{0};
  {
    Helpers helpers(2);  // one for each tenant
    helpers.Run("stuck", [&] {
      begins.Notify();
      goes_on.WaitForNotification();
    });
    begins.WaitForNotification();
    size_t taken = 0;
    while (taken <= Helpers::kMostWaiting && helpers.TryRun("stuck", [&done] { ++done; })) ++taken;
    EXPECT_EQ(taken, Helpers::kMostWaiting);
    EXPECT_TRUE(helpers.TryRun("other", [&goes_on] { goes_on.Notify(); }));
  }
  EXPECT_EQ(done, Helpers::kMostWaiting);
}

TEST(Helpers, TenantsTakeTurns) {
  absl::Notification begins;
  std::string order;
  {
    Helpers helpers(1);
    helpers.Run("m", [&] { begins.WaitForNotification(); });
    for (const char* tenant : {"c", "c", "c", "b", "a", "b"})
      helpers.Run(tenant, [&order, tenant] { order += tenant; });
    begins.Notify();
  }
  EXPECT_EQ(order, "abcbcc");
}

TEST(Helpers, AreSomeOnAnyMachineAndFewOnALargeOne) {
  EXPECT_EQ(Helpers::CountFor(1), 4);
  EXPECT_EQ(Helpers::CountFor(12), 6);
  EXPECT_EQ(Helpers::CountFor(192), 8);
}

}  // namespace
}  // namespace corank
