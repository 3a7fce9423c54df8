#include "kernels/engine/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/engine/budget.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kKiB = 1024;

// The sizes of the chunks that an arena has, in the order of their allocation.
class Source {
 public:
  explicit Source(std::vector<int64_t>* sizes) : sizes_(sizes) {}
  absl::StatusOr<void*> Allocate(int64_t bytes) {
    sizes_->push_back(bytes);
    auto* const memory = static_cast<int64_t*>(std::aligned_alloc(256, static_cast<size_t>(bytes)));
    *memory = bytes;
    return memory;
  }
  void Free(void* memory) {
    sizes_->erase(std::find(sizes_->begin(), sizes_->end(), *static_cast<int64_t*>(memory)));
    std::free(memory);
  }

 private:
  std::vector<int64_t>* const sizes_;
};

class ArenaTest : public ::testing::Test {
 protected:
  Arena<Source>::Options Options(int64_t keep_bytes = int64_t{1} << 30) {
    return {/*minimum_chunk_bytes=*/4 * kKiB, /*first_chunk_bytes=*/kKiB, keep_bytes, kept_};
  }
  static void Take(Arena<Source>& arena, std::vector<int64_t> sizes) {
    for (const int64_t bytes : sizes) {
      auto* const memory = static_cast<int64_t*>(*arena.Allocate(bytes));
      memory[1] = 1;  // beside the size
    }
  }

  const std::shared_ptr<Budget> kept_ = Budget::Create(20 * kKiB);
  std::vector<int64_t> first_chunks_, second_chunks_;
};

TEST_F(ArenaTest, ArenasKeepNoMoreTogetherThanTheirBudgetBesideTheirFirstChunks) {
  Arena<Source> first(Source(&first_chunks_), Options()), second(Source(&second_chunks_), Options());
  Take(first, {kKiB, 8 * kKiB});
  Take(second, {kKiB, 8 * kKiB, 16 * kKiB});
  EXPECT_EQ(kept_->used(), 0) << "requests count what they use";
  first.Reset();
  second.Reset();
  EXPECT_THAT(first_chunks_, ElementsAre(kKiB, 8 * kKiB));
  EXPECT_THAT(second_chunks_, ElementsAre(kKiB, 8 * kKiB)) << "the largest one had no room";
  EXPECT_EQ(kept_->used(), 16 * kKiB);
}

TEST_F(ArenaTest, WhatOneArenaGivesUpAnotherMayKeep) {
  Arena<Source> second(Source(&second_chunks_), Options());
  {
    Arena<Source> first(Source(&first_chunks_), Options());
    Take(first, {kKiB, 16 * kKiB});
    first.Reset();
    Take(second, {kKiB, 12 * kKiB});
    second.Reset();
    EXPECT_THAT(second_chunks_, ElementsAre(kKiB));
    first.Trim();
    EXPECT_THAT(first_chunks_, ElementsAre(kKiB)) << "for the next small request";
    EXPECT_EQ(kept_->used(), 0);
    Take(first, {4 * kKiB});
    first.Reset();
  }
  EXPECT_THAT(first_chunks_, IsEmpty());
  EXPECT_EQ(kept_->used(), 0) << "with the arena";
  Take(second, {kKiB, 12 * kKiB});
  second.Reset();
  EXPECT_EQ(kept_->used(), 12 * kKiB);
  second.Clear();
  EXPECT_THAT(second_chunks_, IsEmpty());
  EXPECT_EQ(kept_->used(), 0);
}

TEST_F(ArenaTest, KeepsTheSameChunksFromRequestToRequest) {
  Arena<Source> arena(Source(&first_chunks_), Options(/*keep_bytes=*/10 * kKiB));
  for (int request = 0; request < 3; ++request) {
    Take(arena, {kKiB, 8 * kKiB, 4 * kKiB});
    EXPECT_EQ(first_chunks_.size(), 3U);
    arena.Reset();
    EXPECT_EQ(kept_->used(), 4 * kKiB) << "the options of the arena hold too";
  }
  kept_->set_limit(0);
  Take(arena, {kKiB, 4 * kKiB, 4 * kKiB});
  arena.Reset();
  EXPECT_EQ(kept_->used(), 4 * kKiB) << "what it has it keeps";
  Arena<Source> late(Source(&second_chunks_), Options());
  Take(late, {kKiB, 4 * kKiB});
  late.Reset();
  EXPECT_THAT(second_chunks_, ElementsAre(kKiB));
}

}  // namespace
}  // namespace corank::testing
