// The memory estimates of streamed work: enough for all its allocations, and within the limit of a job.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/engine/forwarding_engine.h"
#include "server/base/errors.h"
#include "server/run/chunk_merge.h"
#include "server/run/run_sort.h"
#include "server/run/segment_sort.h"
#include "server/run/stream_options.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

constexpr int64_t kMaxDevice = int64_t{1} << 20;
constexpr int64_t kMaxHost = int64_t{4} << 20;
constexpr int64_t kPiece = 16 << 10;
constexpr int64_t kTile = 8 << 10;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// A lane on this thread.
class OwnLane final : public Lane {
 public:
  explicit OwnLane(Engine* engine) : engine_(engine) { EXPECT_TRUE(ExtraStream(kMain).ok()); }
  EngineStream& stream() override { return *streams_[kMain]; }
  Engine& engine() override { return *engine_; }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override {
    while (static_cast<size_t>(i) >= streams_.size()) {
      auto stream = engine_->CreateStream();
      if (!stream.ok()) return stream.status();
      streams_.push_back(*std::move(stream));
    }
    return streams_[static_cast<size_t>(i)].get();
  }
  absl::Status CheckWanted() override { return absl::OkStatus(); }

 private:
  static constexpr int kMain = 7;  // after the streams of sorts and merges
  Engine* const engine_;
  std::vector<std::unique_ptr<EngineStream>> streams_;
};

SortOperation::Spec SortOf(int64_t count, bool has_values) {
  SortOperation::Spec sort;
  sort.keys.type = v1::ELEMENT_TYPE_UINT32;
  sort.keys.element_bytes = 4;
  sort.keys.count = std::max<int64_t>(0, count);
  sort.keys.has_count = count >= 0;
  if (!has_values) return sort;
  sort.values = sort.keys;
  sort.values->type = v1::ELEMENT_TYPE_RECORD;
  sort.values->element_bytes = 12;
  return sort;
}

class StreamNeedTest : public ::testing::Test {
 protected:
  // Sorts `count` rows whose chunks come in order, within the memory that the sort announces.
  absl::Status Sort(int64_t count, bool has_values, bool all_at_once) {
    return Sort(SortOf(count, has_values), all_at_once);
  }
  absl::Status Sort(const SortOperation::Spec& sort, bool all_at_once) {
    const int64_t count = sort.keys.count;
    const bool has_values = sort.values.has_value();
    const std::vector<RowSource::Array> arrays = {{"keys", count}, {"values", count}};
    const JobMemory limits(kMaxDevice, kMaxHost, nullptr, nullptr);
    const int64_t host = RunSorter::HostBytes(sort, all_at_once ? 0 : 1, kPiece, limits);
    const int64_t need = RunSorter::DeviceBytes(sort, kPiece, kTile, limits, *engine_) + host;
    JobMemory memory(kMaxDevice, host, Budget::Create(need), buffers_.get());
    memory.SetEngine(engine_);
    std::vector<uint32_t> keys(static_cast<size_t>(count));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i) * 2654435761U;
    std::vector<char> values(keys.size() * 12);
    v1::RequestStats stats;
    RunSorter sorter(sort, arrays, kPiece, &memory, &lane_, &stats);
    if (all_at_once) {
      const absl::Status added = sorter.AddAll({reinterpret_cast<const char*>(keys.data()), values.data()});
      return added.ok() ? sorter.Finish().status() : added;
    }
    // A whole window together, which is many pieces.
    constexpr int64_t kChunk = 1000, kChunksAtOnce = 64;
    for (int64_t first = 0; first < count;) {
      std::vector<InputChunk> chunks;
      for (int64_t i = 0; i < kChunksAtOnce && first < count; ++i) {
        const int64_t rows = std::min(kChunk, count - first);
        chunks.push_back({0, first, rows, {std::shared_ptr<void>(), keys.data() + first}});
        if (has_values) chunks.push_back({1, first, rows, {std::shared_ptr<void>(), values.data() + first * 12}});
        first += rows;
      }
      const absl::Status added = sorter.Add(std::move(chunks));
      if (!added.ok()) return added;
    }
    return sorter.Finish().status();
  }

  const ChosenEngine chosen_ = CpuEngine();
  Engine* const engine_ = chosen_.engine.get();
  const std::shared_ptr<RunBuffers> buffers_ = RunBuffers::Create({});
  OwnLane lane_{engine_};
};

TEST_F(StreamNeedTest, SortsOfAllLengthsStayWithinIt) {
  for (const bool has_values : {false, true}) {
    const int64_t most_in_core = kMaxDevice / 2 / (has_values ? 16 : 4);
    for (const int64_t count : {int64_t{1}, int64_t{999}, int64_t{4096}, int64_t{4097}, int64_t{30'000},
                                most_in_core - 1, most_in_core, most_in_core + 1, 2 * most_in_core}) {
      for (const bool all_at_once : {false, true}) {
        const absl::Status sorted = Sort(count, has_values, all_at_once);
        EXPECT_TRUE(sorted.ok()) << count << " rows, values " << has_values << ": " << sorted;
      }
    }
  }
}

TEST_F(StreamNeedTest, SortsWithIndicesAndOfFirstRowsStayWithinIt) {
  for (const bool all_at_once : {false, true}) {
    for (const bool has_values : {false, true}) {
      const int64_t most_in_core = kMaxDevice / 2 / (has_values ? 16 : 8);
      for (const int64_t limit : {int64_t{-1}, int64_t{1}, int64_t{5000}, 3 * most_in_core}) {
        for (const int64_t count : {int64_t{1}, int64_t{4097}, most_in_core, most_in_core + 1, 2 * most_in_core}) {
          SortOperation::Spec sort = SortOf(count, has_values);
          sort.want_indices = !has_values;
          sort.limit = limit;
          for (const int64_t offset : {int64_t{0}, count / 2}) {
            sort.offset = offset;
            const absl::Status sorted = Sort(sort, all_at_once);
            EXPECT_TRUE(sorted.ok()) << count << " rows, values " << has_values << ", limit " << limit << ", offset "
                                     << offset << ": " << sorted;
          }
        }
      }
    }
  }
}

TEST_F(StreamNeedTest, SegmentsOfAllLengthsStayWithinIt) {
  constexpr int64_t kCount = kMaxDevice / 4;  // keys of twice the memory in core
  const JobMemory limits(kMaxDevice, kMaxHost, nullptr, nullptr);
  std::vector<uint32_t> keys(static_cast<size_t>(kCount)), sorted(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i) * 2654435761U;
  const auto check = [&](int64_t length, int64_t limit) {
    SCOPED_TRACE(::testing::Message() << "length " << length << ", limit " << limit);
    std::vector<int64_t> offsets;
    for (int64_t offset = 0; offset < kCount; offset += length) offsets.push_back(offset);
    offsets.push_back(kCount);
    SortOperation::Spec sort = SortOf(kCount, false);
    sort.limit = limit;
    sort.segment_offsets = Operand();
    sort.segment_offsets->bytes = offsets.data();
    sort.segment_offsets->count = static_cast<int64_t>(offsets.size());
    sort.segment_offsets->element_bytes = sizeof(int64_t);
    const int64_t host = SegmentSorter::HostBytes(sort, kPiece, limits);
    EXPECT_LT(host, kMaxDevice / 4 + (length == kCount ? 2 * kCount * 4 : 0));
    const int64_t need = SegmentSorter::DeviceBytes(sort, kPiece, kTile, limits, *engine_) + host;
    JobMemory memory(kMaxDevice, host, Budget::Create(need), buffers_.get());
    memory.SetEngine(engine_);
    const std::vector<RowSource::Array> arrays = {{"keys", kCount, 4, reinterpret_cast<const char*>(keys.data())}};
    v1::RequestStats stats;
    RowSink sink(RunSorter::ShapeOf(sort), reinterpret_cast<char*>(sorted.data()), nullptr, /*on_device=*/false, kTile);
    SegmentSorter sorter(sort, arrays, kPiece, &memory, &lane_, &stats);
    ASSERT_EQ(sorter.SortInto(sink), absl::OkStatus());
    EXPECT_EQ(sorter.runs() > 0, length > kPiece / 4);
    int64_t begin = 0;
    for (size_t i = 1; i < offsets.size(); ++i) {
      const int64_t count = offsets[i] - offsets[i - 1];
      const int64_t end = begin + (limit < 0 ? count : std::min(limit, count));
      ASSERT_TRUE(std::is_sorted(sorted.begin() + begin, sorted.begin() + end));
      begin = end;
    }
    EXPECT_EQ(begin, sort.result_count());
  };
  for (const int64_t length : {int64_t{1}, int64_t{999}, kTile / 4 + 1, kCount / 3, kCount}) {
    for (const int64_t limit : {int64_t{-1}, int64_t{1}, int64_t{500}, kCount / 3 - 1}) check(length, limit);
  }
}

TEST_F(StreamNeedTest, SegmentsNeedTheWorkspaceOfATileOfOneSegmentToo) {
  class AskingMoreForOne final : public ForwardingEngine {
   public:
    using ForwardingEngine::ForwardingEngine;
    using ForwardingEngine::WorkspaceBytes;
    int64_t WorkspaceBytes(const SortArgs& args) const override { return args.segment_count == 1 ? 10'000 : 7'000; }
  };
  const AskingMoreForOne engine(CpuEngine().engine);
  const JobMemory limits(kMaxDevice, kMaxHost, nullptr, nullptr);
  const std::vector<int64_t> offsets = {0, 1000, 2000};
  SortOperation::Spec sort = SortOf(offsets.back(), false);
  sort.segment_offsets = Operand();
  sort.segment_offsets->bytes = offsets.data();
  sort.segment_offsets->count = static_cast<int64_t>(offsets.size());
  sort.segment_offsets->element_bytes = sizeof(int64_t);
  constexpr int kStreams = 3;
  const int64_t rows = 2 * offsets.back() * 4, d_offsets = kTile + 8;
  EXPECT_EQ(SegmentSorter::DeviceBytes(sort, kPiece, kTile, limits, engine), kStreams * (rows + d_offsets + 10'000));
}

TEST_F(StreamNeedTest, FirstRowsNeedLittleOfTheHost) {
  const JobMemory limits(kMaxDevice, kMaxHost, nullptr, nullptr);
  const int64_t count = 100 * kMaxDevice;
  SortOperation::Spec sort = SortOf(count, false);
  sort.limit = 10;
  const int64_t of_one = RunSorter::HostBytes(sort, /*parts=*/1, kPiece, limits);
  EXPECT_LT(of_one, count * 4 / 50);
  EXPECT_GT(RunSorter::HostBytes(sort, /*parts=*/8, kPiece, limits), of_one);
  EXPECT_LT(RunSorter::HostBytes(sort, /*parts=*/0, kPiece, limits), of_one);
}

TEST_F(StreamNeedTest, RunsThatAreMergedInRoundsStayWithinIt) {
  constexpr int64_t kLittleDevice = 32 << 10, kPieceRows = kLittleDevice / 16 / 4;
  for (const int64_t pieces : {32, 33, 1024, 1025, 1100}) {
    SCOPED_TRACE(pieces);
    const int64_t count = pieces * kPieceRows;
    const SortOperation::Spec sort = SortOf(count, false);
    const int64_t need =
        RunSorter::HostBytes(sort, /*parts=*/1, /*piece_bytes=*/1, {kLittleDevice, kNoLimit, nullptr, nullptr});
    EXPECT_LE(need, 2 * count * 4);
    JobMemory memory(kLittleDevice, need, Budget::Create(kNoLimit), buffers_.get());
    memory.SetEngine(engine_);
    const std::vector<uint32_t> keys(static_cast<size_t>(count), 7);
    v1::RequestStats stats;
    const std::vector<RowSource::Array> arrays = {{"keys", count}};
    RunSorter sorter(sort, arrays, /*piece_bytes=*/1, &memory, &lane_, &stats);
    ASSERT_EQ(sorter.AddAll({reinterpret_cast<const char*>(keys.data()), nullptr}), absl::OkStatus());
    absl::StatusOr<std::vector<SortedRun>> runs = sorter.Finish();
    ASSERT_EQ(runs.status(), absl::OkStatus());
    ASSERT_EQ(static_cast<int64_t>(runs->size()), pieces);
    EXPECT_EQ(RunMerger(lane_, RunSorter::ShapeOf(sort), &stats).Reduce(*runs, memory, "keys"), absl::OkStatus());
    EXPECT_LE(runs->size(), static_cast<size_t>(kMaxSplitInputs));
  }
}

TEST_F(StreamNeedTest, OfASortFollowsItsLength) {
  const JobMemory limits(kMaxDevice, kMaxHost, nullptr, nullptr);
  const auto device = [&](int64_t count) {
    return RunSorter::DeviceBytes(SortOf(count, false), kPiece, kTile, limits, *engine_);
  };
  const auto host = [&](int64_t count) { return RunSorter::HostBytes(SortOf(count, false), 1, kPiece, limits); };
  EXPECT_LT(device(1000), 64 << 10);
  EXPECT_GE(device(1000), 8000);
  EXPECT_EQ(host(1000), 0);
  EXPECT_EQ(device(-1), kMaxDevice) << "a length that nobody knows";
  EXPECT_EQ(host(-1), kMaxHost);
  EXPECT_EQ(device(200'000), kMaxDevice) << "out of core";
  EXPECT_EQ(host(200'000), 800'000);
  EXPECT_LE(device(kMaxDevice / 8), kMaxDevice);
}

TEST_F(StreamNeedTest, OfAMergeFollowsItsInputs) {
  const JobMemory limits(kMaxDevice, kMaxHost, nullptr, nullptr);
  const auto merge_of = [](size_t ways, int64_t count) {
    MergeOperation::Spec merge;
    merge.keys.resize(ways, SortOf(count, false).keys);
    return merge;
  };
  const int64_t small = ChunkMerger::DeviceBytes(merge_of(3, 1000), kTile, limits, *engine_);
  EXPECT_GE(small, 12'000);
  EXPECT_LT(small, kMaxDevice / 4);
  EXPECT_EQ(ChunkMerger::HostBytes(merge_of(3, 1000), limits), 0);
  EXPECT_EQ(ChunkMerger::DeviceBytes(merge_of(3, 100'000), kTile, limits, *engine_), kMaxDevice);
  EXPECT_EQ(ChunkMerger::HostBytes(merge_of(3, 100'000), limits), 1'200'000);
  EXPECT_EQ(ChunkMerger::HostBytes(merge_of(40, 10'000), limits), 3'200'000) << "in two rounds";
}

TEST_F(StreamNeedTest, BuffersOfRunsServeTheNextSort) {
  for (const bool has_values : {false, true}) {
    const int64_t row_bytes = has_values ? 16 : 4, count = kMaxDevice / row_bytes - 1234;
    for (const bool all_at_once : {false, true}) {
      ASSERT_EQ(Sort(count, has_values, all_at_once), absl::OkStatus());
      EXPECT_EQ(buffers_->bytes_in_use(), 0);
      const int64_t allocated = buffers_->allocations();
      EXPECT_GT(allocated, 0);
      ASSERT_EQ(Sort(count, has_values, all_at_once), absl::OkStatus());
      EXPECT_EQ(buffers_->allocations(), allocated);
    }
  }
}

TEST_F(StreamNeedTest, SaysWhoseLimitIsReachedAndTakesNothingThen) {
  const std::shared_ptr<Budget> all = Budget::Create(1'000'000);
  JobMemory one(800'000, 800'000, all, buffers_.get()), other(800'000, 800'000, all, buffers_.get());
  one.SetEngine(engine_);
  other.SetEngine(engine_);
  auto taken = one.AllocateDevice(700'000, "keys");
  ASSERT_TRUE(taken.ok()) << taken.status();
  const auto of_all = other.AllocateHost(400'000, "keys").status();
  EXPECT_TRUE(absl::IsResourceExhausted(of_all)) << of_all;
  EXPECT_TRUE(HasRetryDelay(of_all)) << "it goes when others end";
  EXPECT_EQ(NamedField(of_all), "");
  const auto of_job = one.AllocateDevice(200'000, "keys").status();
  EXPECT_TRUE(absl::IsInvalidArgument(of_job)) << of_job;
  EXPECT_FALSE(HasRetryDelay(of_job)) << "it never goes";
  EXPECT_EQ(NamedField(of_job), "keys");
  EXPECT_EQ(all->used(), 700'000);
  EXPECT_EQ(other.free_host_bytes(), 800'000);
  taken->reset();
  EXPECT_TRUE(other.AllocateHost(400'000, "keys").ok());
  EXPECT_EQ(all->used(), 0);
}

TEST(StreamOptionsTest, AllJobsTogetherHaveWhatAFewLanesMayTake) {
  StreamOptions options;
  options.max_host_bytes = 100;
  EXPECT_EQ(options.HostBudget(/*lanes=*/1, /*devices=*/1), 100);
  EXPECT_EQ(options.HostBudget(/*lanes=*/8, /*devices=*/2), 800);
  options.max_host_bytes = kNoLimit;
  EXPECT_EQ(options.HostBudget(/*lanes=*/8, /*devices=*/2), kNoLimit);
}

}  // namespace
}  // namespace corank::testing
