// The order in which a loop reads sockets and runs tasks.
#include "server/wire/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"

namespace corank::wire {
namespace {

using ::testing::ElementsAre;

// A pipe that a loop reads, byte after byte.
class Pipe final : public Watcher {
 public:
  Pipe(Loop* loop, std::vector<std::string>* seen) : loop_(*loop), seen_(*seen) {
    if (pipe(ends_.data()) != 0) ADD_FAILURE() << "no pipe";
    loop_.Watch(ends_[0], EPOLLIN, this);
  }
  ~Pipe() override {
    for (const int end : ends_) close(end);
  }
  void Write() {
    const char byte = 0;
    ASSERT_EQ(write(ends_[1], &byte, 1), 1);
  }
  void OnReady(uint32_t) override {
    char byte = 0;
    ASSERT_EQ(read(ends_[0], &byte, 1), 1);
    seen_.push_back("read");
  }

 private:
  Loop& loop_;
  std::vector<std::string>& seen_;
  std::array<int, 2> ends_{};
};

// Longer than tasks run before sockets are read again.
void TakeLong() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

TEST(LoopTest, ReadsWhatComesWhileTasksTakeLong) {
  std::vector<std::string> seen;
  absl::Notification done;
  Loop loop;
  auto pipe = std::make_shared<Pipe>(&loop, &seen);
  loop.Post([&] {
    loop.AfterReads(1, [&] {
      seen.push_back("first");
      pipe->Write();
      TakeLong();
    });
    loop.AfterReads(1, [&] {
      seen.push_back("second");
      TakeLong();
    });
    loop.AfterReads(1, [&] {
      seen.push_back("third");
      done.Notify();
    });
  });
  done.WaitForNotification();
  loop.Stop();
  EXPECT_THAT(seen, ElementsAre("first", "read", "second", "third"));
}

TEST(LoopTest, ReadsNoMoreWhileTasksHoldMuchMemory) {
  constexpr size_t kHalf = size_t{8} << 20;
  std::vector<bool> may_read;
  absl::Notification done;
  Loop loop;
  loop.Post([&] {
    may_read.push_back(loop.MayRead());
    loop.AfterReads(kHalf, [&] { may_read.push_back(loop.MayRead()); });
    may_read.push_back(loop.MayRead());
    loop.AfterReads(kHalf, [&] { done.Notify(); });
    may_read.push_back(loop.MayRead());
  });
  done.WaitForNotification();
  loop.Stop();
  EXPECT_THAT(may_read, ElementsAre(true, true, false, true));
}

TEST(LoopTest, EstimatesTheWaitByTheTimeOfEarlierTasks) {
  std::chrono::nanoseconds none{-1}, wait{0};
  absl::Notification done;
  Loop loop;
  loop.Post([&] {
    none = loop.Wait();
    for (int i = 0; i < 4; ++i) loop.AfterReads(1, [] { TakeLong(); });
    loop.AfterReads(1, [&] {
      for (int i = 0; i < 10; ++i) loop.AfterReads(1, [] {});
      wait = loop.Wait();
      done.Notify();
    });
  });
  done.WaitForNotification();
  loop.Stop();
  EXPECT_EQ(none.count(), 0);
  EXPECT_GE(wait, std::chrono::milliseconds(5)) << "ten tasks after some that took 2 ms each";
}

TEST(LoopTest, ForgetsTasksThatAreWithdrawn) {
  constexpr size_t kMuch = size_t{16} << 20;
  const auto held = std::make_shared<int>(0);
  std::chrono::nanoseconds wait{-1};
  bool may_read = false, has_run = false;
  int64_t holders = 0;
  absl::Notification done;
  Loop loop;
  loop.Post([&] {
    loop.AfterReads(1, [] { TakeLong(); });
    loop.AfterReads(1, [&] {
      const Loop::Place place = loop.AfterReads(kMuch, [&has_run, held] { has_run = true; });
      loop.Withdraw(place);
      holders = held.use_count();
      may_read = loop.MayRead();
      wait = loop.Wait();
      loop.AfterReads(1, [&] { done.Notify(); });
    });
  });
  done.WaitForNotification();
  loop.Stop();
  EXPECT_EQ(wait.count(), 0) << "nothing else waits";
  EXPECT_TRUE(may_read);
  EXPECT_FALSE(has_run);
  EXPECT_EQ(holders, 1);
}

TEST(LoopTest, DropsTasksWhenItStops) {
  const auto held = std::make_shared<int>(0);
  absl::Notification added;
  {
    Loop loop;
    loop.Post([&] {
      for (int i = 0; i < 1000; ++i) loop.AfterReads(1, [held] { TakeLong(); });
      added.Notify();
    });
    added.WaitForNotification();
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace corank::wire
