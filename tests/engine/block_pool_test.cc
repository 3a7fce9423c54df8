#include "kernels/cpu/engine/block_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "kernels/cpu/cpu_engine.h"
#include "kernels/engine/budget.h"
#include "kernels/engine/engine.h"

namespace corank::testing {
namespace {

using cpu::BlockPool;

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(BlockPool, LeavesALargeBlockToWhoAsksForAsManyBytesNext) {
  BlockPool pool(Budget::Create(2 * 64 * kMiB));
  void* const first = *pool.Allocate(5 * kMiB);
  void* const second = *pool.Allocate(5 * kMiB);
  ASSERT_NE(first, second);
  std::memset(first, 1, 5 * kMiB);
  pool.Free(first);
  EXPECT_EQ(pool.kept_bytes(), 5 * kMiB);
  void* const other = *pool.Allocate(6 * kMiB);
  EXPECT_NE(other, first) << "of another size";
  EXPECT_EQ(*pool.Allocate(5 * kMiB - 1000), first);
  EXPECT_EQ(pool.kept_bytes(), 0);
  for (void* const each : {first, second, other}) pool.Free(each);
  EXPECT_EQ(pool.kept_bytes(), 16 * kMiB);
  EXPECT_EQ(*pool.Allocate(5 * kMiB), second) << "the last one that came back";
  pool.Free(second);
}

TEST(BlockPool, ABlockHasRoomForWhatIsAskedFor) {
  BlockPool pool(Budget::Create(2 * 4096 * kMiB));
  for (int64_t bytes = 4 * kMiB; bytes < 300 * kMiB; bytes += bytes / 5 + 1) {
    void* const block = *pool.Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 256, 0U);
    std::memset(block, 2, static_cast<size_t>(bytes));
    const int64_t before = pool.kept_bytes();
    pool.Free(block);
    const int64_t kept = pool.kept_bytes() - before;
    EXPECT_GE(kept, bytes);
    EXPECT_LE(kept, bytes + bytes / 8);
  }
}

TEST(BlockPool, KeepsNeitherSmallBlocksNorMoreThanItMay) {
  BlockPool pool(Budget::Create(2 * 9 * kMiB));
  void* const small = *pool.Allocate(kMiB);
  void* const large = *pool.Allocate(5 * kMiB);
  void* const beyond = *pool.Allocate(5 * kMiB);
  for (void* const each : {small, large, beyond}) pool.Free(each);
  EXPECT_EQ(pool.kept_bytes(), 5 * kMiB);
}

TEST(BlockPool, LeavesHalfOfTheBudgetAndCountsInIt) {
  const std::shared_ptr<Budget> kept = Budget::Create(20 * kMiB);
  const auto taken = kept->Reserve(14 * kMiB);
  BlockPool pool(kept);
  void* const first = *pool.Allocate(5 * kMiB);
  void* const second = *pool.Allocate(5 * kMiB);
  pool.Free(first);
  EXPECT_EQ(kept->used(), 19 * kMiB);
  pool.Free(second);
  EXPECT_EQ(kept->used(), 19 * kMiB) << "the budget is full";
  EXPECT_EQ(*pool.Allocate(5 * kMiB), first);
  EXPECT_EQ(kept->used(), 14 * kMiB);
  pool.Free(first);
}

TEST(BlockPool, GivesBackWhatNobodyHasTakenForAWhile) {
  BlockPool pool(Budget::Create(2 * 64 * kMiB));
  pool.Free(*pool.Allocate(5 * kMiB));
  const auto now = BlockPool::Clock::now();
  pool.Trim(now);
  EXPECT_EQ(pool.kept_bytes(), 5 * kMiB);
  pool.Trim(now + BlockPool::kKeep - std::chrono::seconds(10));
  EXPECT_EQ(pool.kept_bytes(), 5 * kMiB);
  pool.Trim(now + BlockPool::kKeep);
  EXPECT_EQ(pool.kept_bytes(), 0);
}

TEST(BlockPool, GivesAllBackBeforeItSaysThatTheHostHasNoMore) {
  BlockPool pool(Budget::Create(2 * 64 * kMiB));
  pool.Free(*pool.Allocate(5 * kMiB));
  EXPECT_EQ(pool.Allocate(int64_t{1} << 58).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(pool.kept_bytes(), 0);
  EXPECT_EQ(pool.Allocate(std::numeric_limits<int64_t>::max()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(CpuEngine, LeavesMemoryOutsideOfRequestsToTheNext) {
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  void* const first = (*(*engine)->AllocateDevice(5 * kMiB))->data();
  const std::unique_ptr<EngineMemory> second = *(*engine)->AllocateDevice(5 * kMiB);
  EXPECT_EQ(second->data(), first);
  EXPECT_EQ(second->size_bytes(), 5 * kMiB);
}

}  // namespace
}  // namespace corank::testing
