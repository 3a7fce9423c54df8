// What the work of a ShardedMerge waits for. The CPU engine finishes work while it is enqueued, so its streams get
// points here, and a journal says which earlier work each piece of work comes after.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "kernels/cpu/cpu_engine.h"
#include "kernels/engine/forwarding_engine.h"
#include "kernels/engine/sharded_merge.h"

namespace corank {
namespace {

struct Range {
  const char* begin = nullptr;
  int64_t bytes = 0;
  bool Overlaps(const Range& other) const {
    return bytes > 0 && other.bytes > 0 && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

// A copy or a merge.
struct Work {
  bool is_copy = false;
  std::vector<Range> reads, writes;
  std::set<size_t> after;  // the numbers of all work that has ended before this begins
};

class Journal {
 public:
  // `after`: of the stream, to which the work is added.
  void Add(Work work, std::set<size_t>& after) {
    const absl::MutexLock lock(&mutex_);
    work.after = after;
    after.insert(works_.size());
    works_.push_back(std::move(work));
  }
  const void* Mark(const std::set<size_t>& after) {
    const absl::MutexLock lock(&mutex_);
    points_.push_back(std::make_unique<std::set<size_t>>(after));
    return points_.back().get();
  }
  const std::vector<Work>& works() const { return works_; }

 private:
  absl::Mutex mutex_;
  std::vector<Work> works_;
  std::vector<std::unique_ptr<std::set<size_t>>> points_;
};

class JournalledStream final : public ForwardingStream {
 public:
  JournalledStream(std::unique_ptr<EngineStream> stream, Journal* journal)
      : ForwardingStream(std::move(stream)), journal_(journal) {}

  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    const absl::StatusOr<void*> memory = ForwardingStream::AllocateDevice(bytes);
    if (memory.ok()) allocated_.push_back({static_cast<const char*>(*memory), bytes});
    return memory;
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    journal_->Add({true, {{static_cast<const char*>(d_from), bytes}}, {{static_cast<char*>(d_to), bytes}}, {}}, after_);
    return ForwardingStream::Copy(d_to, d_from, bytes);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    Work work;
    int64_t count = 0;
    for (int32_t i = 0; i < args.input_count; ++i) {
      const MergeInput& input = args.inputs[i];
      work.reads.push_back({static_cast<const char*>(input.keys), input.count * KeyBytes(args.key_type)});
      if (args.value_bytes > 0) {
        work.reads.push_back({static_cast<const char*>(input.values), input.count * args.value_bytes});
      }
      count += input.count;
    }
    work.writes.push_back({static_cast<const char*>(args.keys_out), count * KeyBytes(args.key_type)});
    work.writes.push_back({static_cast<const char*>(args.values_out), count * args.value_bytes});
    journal_->Add(std::move(work), after_);
    return ForwardingStream::Merge(args, report);
  }
  absl::StatusOr<const void*> MarkPoint() override { return journal_->Mark(after_); }
  absl::Status After(const void* point) override {
    if (point != nullptr) {
      const auto& before = *static_cast<const std::set<size_t>*>(point);
      after_.insert(before.begin(), before.end());
    }
    return absl::OkStatus();
  }
  bool Allocated(const Range& range) const {
    return std::any_of(allocated_.begin(), allocated_.end(),
                       [&](const Range& memory) { return memory.Overlaps(range); });
  }

 private:
  Journal* const journal_;
  std::set<size_t> after_;  // of this stream's next work
  std::vector<Range> allocated_;
};

bool Conflict(const Work& a, const Work& b) {
  const auto any = [](const std::vector<Range>& left, const std::vector<Range>& right) {
    return std::any_of(left.begin(), left.end(), [&](const Range& range) {
      return std::any_of(right.begin(), right.end(), [&](const Range& other) { return range.Overlaps(other); });
    });
  };
  return any(a.writes, b.writes) || any(a.writes, b.reads) || any(a.reads, b.writes);
}

struct Way {
  int32_t value_bytes = 0;
  bool are_linked = true;
  bool cuts_by_samples = false;
};

class ShardedOrderTest : public ::testing::TestWithParam<Way> {
 protected:
  static constexpr size_t kShards = 4;
  static constexpr int64_t kRows = 20'000;  // of a shard

  // Merges a sorted run of each shard.
  void Merge() {
    const std::unique_ptr<Engine> engine = *CreateCpuEngine({/*threads=*/1});
    const int32_t value_bytes = GetParam().value_bytes;
    std::mt19937 random(1);
    std::vector<std::vector<uint32_t>> runs(kShards, std::vector<uint32_t>(kRows));
    std::vector<char> values(kRows * 8), merged_values(kShards * kRows * 8);
    std::vector<uint32_t> merged(kShards * kRows), expected;
    std::vector<ShardResult> results;
    std::vector<ShardedMerge::Run> inputs;
    for (size_t i = 0; i < kShards; ++i) {
      for (uint32_t& key : runs[i]) key = static_cast<uint32_t>(random());
      std::sort(runs[i].begin(), runs[i].end());
      expected.insert(expected.end(), runs[i].begin(), runs[i].end());
      ShardResult& result = results.emplace_back();
      for (EngineStream** const made : {&result.stream, &result.copier}) {
        streams_.push_back(std::make_unique<JournalledStream>(*engine->CreateStream(), &journal_));
        *made = streams_.back().get();
        ASSERT_TRUE((*made)->Begin().ok());
      }
      copiers_.push_back(streams_.back().get());
      result.count = kRows;
      result.keys = merged.data() + i * kRows;
      result.values = merged_values.data() + static_cast<ptrdiff_t>(i * kRows) * value_bytes;
      inputs.push_back({reinterpret_cast<const char*>(runs[i].data()), values.data(), kRows, i, false});
    }
    ShardedMerge::Options options;
    options.value_bytes = value_bytes;
    options.are_linked = GetParam().are_linked;
    options.tile_bytes = 8'000;
    ShardedMerge merge(options, results);
    std::vector<std::unique_ptr<EngineStream>> owned;
    std::vector<EngineStream*> cutters;
    for (size_t i = 0; i < kShards; ++i) cutters.push_back(owned.emplace_back(*engine->CreateStream()).get());
    const absl::Status cut =
        GetParam().cuts_by_samples ? merge.CutBySamples(inputs, {}, cutters) : merge.Cut(inputs, {}, *cutters.front());
    ASSERT_TRUE(cut.ok());
    ASSERT_TRUE(merge.Merge().ok());
    for (const auto& stream : streams_) ASSERT_TRUE(stream->Finish().ok());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(merged, expected);
    // The streams' memory ends here, and so do its addresses.
    for (const Work& work : journal_.works()) to_.push_back(work.is_copy ? DeviceOf(work.writes.front()) : kShards);
    streams_.clear();
  }

  size_t DeviceOf(const Range& range) const {
    for (size_t i = 0; i < copiers_.size(); ++i) {
      if (copiers_[i]->Allocated(range)) return i;
    }
    ADD_FAILURE() << "a copy to memory of no shard";
    return kShards;
  }

  Journal journal_;
  std::vector<std::unique_ptr<JournalledStream>> streams_;
  std::vector<const JournalledStream*> copiers_;
  std::vector<size_t> to_;  // by work: the device that a copy goes to
};

TEST_P(ShardedOrderTest, WorkOnTheSameMemoryWaits) {
  ASSERT_NO_FATAL_FAILURE(Merge());
  const std::vector<Work>& works = journal_.works();
  size_t conflicts = 0;
  for (size_t later = 0; later < works.size(); ++later) {
    for (size_t earlier = 0; earlier < later; ++earlier) {
      if (!Conflict(works[earlier], works[later])) continue;
      ++conflicts;
      EXPECT_TRUE(works[later].after.count(earlier) > 0) << "work " << later << " may run beside " << earlier;
    }
  }
  // Every tile but the first two waits for the merge that read its buffer, and each merge for its pieces.
  EXPECT_GT(conflicts, 2 * kShards * kShards);
}

// Only over links.
TEST_P(ShardedOrderTest, CopiesToOneDeviceTakeTurns) {
  ASSERT_NO_FATAL_FAILURE(Merge());
  const std::vector<Work>& works = journal_.works();
  std::map<size_t, size_t> last;  // by device: the last copy to it
  size_t copies = 0, beside = 0;
  for (size_t i = 0; i < works.size(); ++i) {
    if (!works[i].is_copy) continue;
    const auto before = last.find(to_[i]);
    if (before != last.end() && works[i].after.count(before->second) == 0) ++beside;
    last[to_[i]] = i;
    ++copies;
  }
  EXPECT_EQ(last.size(), kShards);
  EXPECT_GT(copies, 2 * kShards * kShards);
  EXPECT_EQ(beside == 0, GetParam().are_linked) << beside << " of " << copies;
}

INSTANTIATE_TEST_SUITE_P(Ways, ShardedOrderTest,
                         ::testing::Values(Way{0, true}, Way{8, true}, Way{8, true, true}, Way{0, false, true},
                                           Way{8, false, true}));

}  // namespace
}  // namespace corank
