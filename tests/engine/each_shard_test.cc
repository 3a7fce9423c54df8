#include "kernels/engine/each_shard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace corank::testing {
namespace {

TEST(OnEachShard, CallsTheWorkOfEachShardOnceOnItsOwnThread) {
  for (const size_t count : {0, 1, 2, 16}) {
    std::vector<std::atomic<int>> calls(count);
    Barrier barrier(count);
    EXPECT_TRUE(OnEachShard(count, [&](size_t shard) {
                  ++calls[shard];
                  EXPECT_TRUE(barrier.ArriveAndWait(true));  // never, if two shards had one thread
                  return absl::OkStatus();
                }).ok());
    for (const std::atomic<int>& times : calls) EXPECT_EQ(times, 1);
  }
}

TEST(OnEachShard, ReturnsTheErrorOfTheFirstShardThatHasOne) {
  const auto status = OnEachShard(
      4, [](size_t shard) { return shard == 0 ? absl::OkStatus() : absl::InternalError(std::to_string(shard)); });
  EXPECT_EQ(status, absl::InternalError("1"));
}

TEST(OnEachShard, TellsTheOthersThatTheWorkOfOneHasFailed) {
  for (const size_t failing : {0, 1, 3}) {
    const absl::Status status = OnEachShard(4, [=](size_t shard, const std::atomic<bool>& has_failed) {
      if (shard == failing) return absl::InternalError("as planned");
      while (!has_failed) std::this_thread::yield();
      return absl::OkStatus();
    });
    EXPECT_EQ(status, absl::InternalError("as planned"));
  }
  EXPECT_TRUE(OnEachShard(4, [](size_t, const std::atomic<bool>& has_failed) {
                EXPECT_FALSE(has_failed);
                return absl::OkStatus();
              }).ok());
}

TEST(OnEachShard, DoesNoWorkUnlessEachThreadStarts) {
  constexpr int kShards = 5;
  for (int most = 0; most < kShards - 1; ++most) {
    int started = 0;
    std::atomic<int> calls{0};
    const absl::Status status = OnEachShard(
        kShards,
        [&](size_t) {
          ++calls;
          return absl::OkStatus();
        },
        [&](std::function<void()> function) {
          if (started++ == most)
            throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
          return StartThread(std::move(function));
        });
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(started, most + 1);
    EXPECT_EQ(calls, 0);
  }
}

TEST(Barrier, TellsAllThreadsInEachRoundWhetherAllWereOk) {
  constexpr size_t kThreads = 4;
  constexpr int kRounds = 1000;
  Barrier barrier(kThreads);
  EXPECT_TRUE(OnEachShard(kThreads, [&](size_t thread) {
                for (size_t round = 0; round < kRounds; ++round) {
                  // One thread in most rounds, and none in the others.
                  EXPECT_EQ(barrier.ArriveAndWait(round % (kThreads + 1) != thread),
                            round % (kThreads + 1) == kThreads);
                }
                return absl::OkStatus();
              }).ok());
}

}  // namespace
}  // namespace corank::testing
