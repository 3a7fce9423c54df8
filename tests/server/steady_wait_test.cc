// Waits for conditions, with timeouts that never decide a test.
#include "server/base/steady_wait.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/base/clock.h"

namespace corank {
namespace {

constexpr absl::Duration kLong = absl::Hours(1);

class SteadyWaitTest : public ::testing::Test {
 protected:
  bool Await(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    return AwaitSteadily(&mutex_, absl::Condition(&holds_), timeout);
  }
  void Set() {
    absl::MutexLock lock(&mutex_);
    holds_ = true;
  }

  absl::Mutex mutex_;
  bool holds_ = false;
};

TEST_F(SteadyWaitTest, EndsWithTheCondition) {
  for (const absl::Duration timeout : {kLong, absl::InfiniteDuration()}) {
    holds_ = false;
    std::thread setter([this] { Set(); });
    EXPECT_TRUE(Await(timeout));
    setter.join();
  }
  EXPECT_TRUE(Await(absl::ZeroDuration()));
}

TEST_F(SteadyWaitTest, EndsWithTheTime) {
  EXPECT_FALSE(Await(absl::ZeroDuration()));
  const Instant began = Clock::Steady().Now();
  EXPECT_FALSE(Await(absl::Milliseconds(20)));
  EXPECT_GE(Clock::Steady().Now() - began, std::chrono::milliseconds(20));
}

TEST_F(SteadyWaitTest, ASoonerAlarmRingsFirst) {
  std::thread late([this] { EXPECT_TRUE(Await(kLong)); });
  EXPECT_FALSE(Await(absl::Milliseconds(1)));
  Set();
  late.join();
}

TEST(SteadyWait, MutexesMayEndWithTheWait) {
  // The alarm and the condition come at the same time, in every order.
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 500; ++round) {
        absl::Mutex mutex;
        bool holds = false;
        std::thread setter([&] {
          absl::MutexLock lock(&mutex);
          holds = true;
        });
        {
          absl::MutexLock lock(&mutex);
          while (!AwaitSteadily(&mutex, absl::Condition(&holds), absl::Microseconds(1 + round % 50))) {
          }
        }
        setter.join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace corank
