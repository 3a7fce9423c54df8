// More than 2^31 elements: no operator may count in 32 bits. Needs about 5 GiB of memory, and skips without it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/cpu_engine.h"

namespace corank {
namespace {

constexpr int64_t kCount = (int64_t{1} << 31) + 12345;

class LargeOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const int64_t available = static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    if (available < int64_t{6} << 30) GTEST_SKIP() << "less than 6 GiB of free memory";
    absl::StatusOr<std::unique_ptr<Engine>> engine = CreateCpuEngine({});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine_->CreateStream();
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
    ASSERT_TRUE(stream_->Begin().ok());
  }

  uint8_t* Allocate(int64_t bytes) {
    const absl::StatusOr<void*> memory = stream_->AllocateDevice(bytes);
    EXPECT_TRUE(memory.ok()) << memory.status();
    return static_cast<uint8_t*>(*memory);
  }

  EngineStream& stream() { return *stream_; }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineStream> stream_;
};

TEST_F(LargeOnCpu, SortsMoreThanTwoToTheThirtyOneKeys) {
  uint8_t* keys = Allocate(kCount);
  std::vector<int64_t> histogram(256, 0);
  for (int64_t i = 0; i < kCount; ++i) ++histogram[keys[i] = static_cast<uint8_t>((i * 2654435761) >> 13)];
  SortArgs args;
  args.key_type = KeyType::kUint8;
  args.order = Order::kDescending;
  args.count = kCount;
  args.keys_in = keys;
  uint8_t* sorted = Allocate(kCount);
  args.keys_out = sorted;
  OperatorReport report;
  ASSERT_TRUE(stream().Sort(args, &report).ok());
  int64_t position = 0;
  for (int key = 255; key >= 0; --key) {
    for (int64_t i = 0; i < histogram[static_cast<size_t>(key)]; ++i) ASSERT_EQ(sorted[position++], key);
  }
  EXPECT_EQ(position, kCount);
}

TEST_F(LargeOnCpu, MergesMoreThanTwoToTheThirtyOneKeys) {
  const int64_t half = kCount / 2;
  uint8_t* keys = Allocate(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    keys[i] = static_cast<uint8_t>(i < half ? i * 200 / half : (i - half) * 250 / half);
  const MergeInput inputs[] = {{keys, nullptr, half}, {keys + half, nullptr, kCount - half}};
  MergeArgs args;
  args.key_type = KeyType::kUint8;
  args.inputs = inputs;
  args.input_count = 2;
  uint8_t* merged = Allocate(kCount);
  args.keys_out = merged;
  OperatorReport report;
  ASSERT_TRUE(stream().Merge(args, &report).ok());
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  std::vector<int64_t> difference(256, 0);
  for (int64_t i = 0; i < kCount; ++i) {
    ++difference[keys[i]];
    --difference[merged[i]];
    ASSERT_LE(merged[i > 0 ? i - 1 : 0], merged[i]) << i;
  }
  EXPECT_EQ(difference, std::vector<int64_t>(256, 0));
}

TEST_F(LargeOnCpu, ExpandsAndMovesBeyondTwoToTheThirtyOne) {
  const std::vector<int64_t> counts = {5, kCount - 15, 0, 10};
  const uint8_t values[] = {1, 2, 3, 4};
  uint8_t* expanded = Allocate(kCount);
  ExpandArgs expand;
  expand.values = values;
  expand.element_bytes = 1;
  expand.counts = counts.data();
  expand.interval_count = 4;
  expand.total = kCount;
  expand.out = expanded;
  OperatorReport report;
  ASSERT_TRUE(stream().Expand(expand, &report).ok());
  const auto expected = [](int64_t i) { return i < 5 ? 1 : i < kCount - 10 ? 2 : 4; };
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(expanded[i], expected(i)) << i;

  uint8_t* moved = Allocate(kCount);
  const std::vector<int64_t> source_offsets = {0, 5, 0, kCount - 10};
  const std::vector<int64_t> destination_offsets = {kCount - 5, 10, 0, 0};
  MoveArgs move;
  move.source = expanded;
  move.destination = moved;
  move.element_bytes = 1;
  move.source_offsets = source_offsets.data();
  move.destination_offsets = destination_offsets.data();
  move.counts = counts.data();
  move.interval_count = 4;
  move.total = move.destination_count = kCount;
  ASSERT_TRUE(stream().Move(move, &report).ok());
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(moved[i], i < 10 ? 4 : i < kCount - 5 ? 2 : 1) << i;
}

}  // namespace
}  // namespace corank
