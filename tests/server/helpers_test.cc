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
      for (int i = 0; i < 1000; ++i) helpers.Run([&done] { ++done; });
    }
    EXPECT_EQ(done, 1000);
  }
}

TEST(Helpers, OneThatWaitsDoesNotHoldUpTheOthers) {
  absl::Notification goes_on;
  std::atomic<int> done{0};
  {
    Helpers helpers(2);
    helpers.Run([&] { goes_on.WaitForNotification(); });
    for (int i = 0; i < 100; ++i) {
      helpers.Run([&] {
        if (++done == 100) goes_on.Notify();
      });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(Helpers, AreSomeOnAnyMachineAndFewOnALargeOne) {
  EXPECT_EQ(Helpers::CountFor(1), 4);
  EXPECT_EQ(Helpers::CountFor(12), 6);
  EXPECT_EQ(Helpers::CountFor(192), 8);
}

}  // namespace
}  // namespace corank
