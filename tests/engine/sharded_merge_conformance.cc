// ShardedMerge of runs in host memory, and of arrays in parts on several devices, compared with a stable merge of the
// whole. Where the machine has too few devices, several streams of one stand for them.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/engine/forwarding_engine.h"
#include "kernels/engine/sharded_merge.h"
#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

class ShardedFromHost : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  struct Case {
    std::vector<int64_t> counts;  // of the runs
    std::vector<int64_t> shards;  // rows of each part but the last, which has the rest
    Distribution distribution = Distribution::kUniform;
    Order order = Order::kAscending;
    int32_t value_bytes = 0;
    int64_t tile_bytes = 3000;
    MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  };

  int key_bytes() const { return KeyBytes(GetParam()); }

  std::vector<Bytes> MakeRuns(const Case& test) const {
    std::vector<Bytes> runs;
    for (const int64_t count : test.counts) {
      const Bytes keys = MakeKeys(GetParam(), test.distribution, count, runs.size() + 1);
      runs.push_back(Gather(keys, key_bytes(), StableOrder(GetParam(), test.order, keys)));
    }
    return runs;
  }

  // Returns whether the runs were in order. `merged`: set to the result.
  bool Merge(const Case& test, const std::vector<Bytes>& keys, const std::vector<Bytes>& values, Bytes* merged_keys,
             Bytes* merged_values) {
    const int64_t total = std::accumulate(test.counts.begin(), test.counts.end(), int64_t{0});
    const int32_t value_bytes = test.value_bytes;
    merged_keys->assign(static_cast<size_t>(total * key_bytes()), 0);
    merged_values->assign(static_cast<size_t>(total * value_bytes), 0);
    std::vector<int64_t> counts = test.shards;
    counts.push_back(total - std::accumulate(counts.begin(), counts.end(), int64_t{0}));
    std::vector<std::unique_ptr<EngineStream>> streams;
    std::vector<ShardResult> results;
    int64_t first = 0;
    for (const int64_t count : counts) {
      ShardResult result;
      for (EngineStream** const made : {&result.stream, &result.copier, &result.sender}) {
        streams.push_back(*engine().CreateStream());
        *made = streams.back().get();
        EXPECT_TRUE((*made)->Begin().ok());
      }
      result.count = count;
      result.keys = *result.stream->AllocateDevice(std::max<int64_t>(1, count * key_bytes()));
      result.values = *result.stream->AllocateDevice(std::max<int64_t>(1, count * value_bytes));
      result.h_keys = reinterpret_cast<char*>(merged_keys->data()) + first * key_bytes();
      result.h_values = reinterpret_cast<char*>(merged_values->data()) + first * value_bytes;
      results.push_back(result);
      first += count;
    }
    ShardedMerge::Options options;
    options.key_type = GetParam();
    options.order = test.order;
    options.algorithm = test.algorithm;
    options.value_bytes = value_bytes;
    options.tile_bytes = test.tile_bytes;
    options.check_sorted = true;
    options.is_on_host = true;
    // At an odd address, as in a message.
    Bytes odd_keys(1), odd_values(1);
    for (const Bytes& run : keys) odd_keys.insert(odd_keys.end(), run.begin(), run.end());
    for (const Bytes& run : values) odd_values.insert(odd_values.end(), run.begin(), run.end());
    std::vector<ShardedMerge::Run> runs;
    const char* next_keys = reinterpret_cast<const char*>(odd_keys.data()) + 1;
    const char* next_values = reinterpret_cast<const char*>(odd_values.data()) + 1;
    for (const int64_t count : test.counts) {
      runs.push_back({next_keys, next_values, count});
      next_keys += count * key_bytes();
      next_values += count * value_bytes;
    }
    const auto ways = static_cast<int>(runs.size());
    ShardedMerge merge(options, results);
    merge.CutOnHost(std::move(runs));
    EXPECT_TRUE(merge.Merge().ok());
    for (const auto& stream : streams) EXPECT_TRUE(stream->Finish().ok());
    for (const ShardResult& result : results) {
      EXPECT_LE(result.stream->workspace_bytes(), ShardedMerge::WorkspaceBytes(options, result.count, ways, engine()));
    }
    return merge.in_order();
  }

  void Check(const Case& test) {
    SCOPED_TRACE(::testing::Message() << KeyTypeName(GetParam()) << " runs=" << test.counts.size() << " shards="
                                      << test.shards.size() + 1 << " " << DistributionName(test.distribution)
                                      << " value_bytes=" << test.value_bytes << " tile_bytes=" << test.tile_bytes);
    const std::vector<Bytes> keys = MakeRuns(test);
    std::vector<Bytes> values;
    Bytes all_keys, all_values;
    for (const Bytes& run : keys) {
      const auto bytes = static_cast<int64_t>(run.size()) / key_bytes() * test.value_bytes;
      values.push_back(MakeKeys(KeyType::kUint8, Distribution::kUniform, bytes, 100 + values.size()));
      all_keys.insert(all_keys.end(), run.begin(), run.end());
      all_values.insert(all_values.end(), values.back().begin(), values.back().end());
    }
    Bytes merged_keys, merged_values;
    EXPECT_TRUE(Merge(test, keys, values, &merged_keys, &merged_values));
    const std::vector<int64_t> expected = MergeOrder(GetParam(), test.order, keys);
    EXPECT_TRUE(merged_keys == Gather(all_keys, key_bytes(), expected));
    EXPECT_TRUE(test.value_bytes == 0 || merged_values == Gather(all_values, test.value_bytes, expected));
  }
};

TEST_P(ShardedFromHost, MergesAsOneDeviceDoes) {
  for (const Order order : kBothOrders) {
    for (const Distribution distribution : {Distribution::kUniform, Distribution::kSixteenDistinct,
                                            Distribution::kAllEqual, Distribution::kSpecialFloats}) {
      for (const int32_t value_bytes : {0, 4, 12}) {
        Check({{1000, 777}, {889}, distribution, order, value_bytes});
        Check({{1000, 0, 777, 1}, {600, 593}, distribution, order, value_bytes});
      }
    }
  }
}

TEST_P(ShardedFromHost, TakesRunsAndShardsOfAnyNumberAndLength) {
  Check({{0, 1}, {}});
  Check({{5, 0}, {0, 5, 0}});
  Check({{0, 4097, 0, 1, 4096}, {0, 8000, 0}, Distribution::kZipf, Order::kDescending, 8});
  Check({std::vector<int64_t>(33, 101), std::vector<int64_t>(7, 400), Distribution::kSixteenDistinct, Order::kAscending,
         4});
  Check({std::vector<int64_t>(kMaxMergeInputs, 3), {1000, 1000}, Distribution::kUniform, Order::kAscending, 4});
}

TEST_P(ShardedFromHost, MergesInTilesOfAnySize) {
  for (const int64_t tile_bytes : {int64_t{1}, int64_t{5000}, int64_t{1} << 30}) {
    for (const MergeAlgorithm algorithm : kMergeAlgorithms) {
      Check({{9973, 8191, 17}, {6000, 6001}, Distribution::kZipf, Order::kAscending, 3, tile_bytes, algorithm});
    }
  }
}

TEST_P(ShardedFromHost, FindsEachKeyThatIsOutOfOrder) {
  const Case test{{400, 300}, {233, 233}, Distribution::kSorted, Order::kAscending, 0, 200};
  const std::vector<Bytes> sorted = MakeRuns(test);
  Bytes merged_keys, merged_values;
  for (size_t run = 0; run < sorted.size(); ++run) {
    for (int64_t i = 1; i < test.counts[run]; ++i) {
      std::vector<Bytes> keys = sorted;
      Bytes& bad = keys[run];
      const auto at = [&](int64_t row) { return bad.begin() + row * key_bytes(); };
      std::swap_ranges(at(i - 1), at(i), at(i));
      EXPECT_EQ(Merge(test, keys, {}, &merged_keys, &merged_values),
                !FirstUnsorted(GetParam(), test.order, bad).has_value())
          << "run " << run << " key " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ShardedFromHost, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

// Cuts of arrays that are out of order may be any.
class WrongCuts final : public ForwardingStream {
 public:
  using ForwardingStream::ForwardingStream;
  absl::Status SplitRuns(const SplitArgs& args) override {
    std::fill_n(args.splits, args.position_count * args.input_count, int64_t{7777});
    return absl::OkStatus();
  }
};

// Writes down the points before its first copy. Engines without points have null ones.
class WatchedCopier final : public ForwardingStream {
 public:
  using ForwardingStream::ForwardingStream;
  absl::StatusOr<const void*> MarkPoint() override {
    const absl::StatusOr<const void*> point = ForwardingStream::MarkPoint();
    if (!has_copied_ && point.ok()) marked_.push_back(*point);
    return point;
  }
  absl::Status After(const void* point) override {
    if (!has_copied_) awaited_.push_back(point);
    return ForwardingStream::After(point);
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    has_copied_ = true;
    return ForwardingStream::Copy(d_to, d_from, bytes);
  }
  const std::vector<const void*>& marked() const { return marked_; }
  const std::vector<const void*>& awaited() const { return awaited_; }

 private:
  bool has_copied_ = false;
  std::vector<const void*> marked_, awaited_;
};

class ShardedArrays : public OnEnginesUnderTest {
 protected:
  struct Case {
    std::vector<std::vector<int64_t>> arrays;  // rows of each array's part on each device
    std::vector<int64_t> shards;               // rows of each device's part of the result but the last, which has more
    Distribution distribution = Distribution::kUniform;
    Order order = Order::kAscending;
    int32_t value_bytes = 0;
    int64_t tile_bytes = 3000;
    MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
    bool check_sorted = true;
    bool wrong_cuts = false;
  };
  struct Merged {
    Bytes keys, values;
    bool in_order = false;
    std::optional<std::pair<size_t, int64_t>> disorder;  // the array, and the key in it
  };

  int key_bytes() const { return KeyBytes(GetParam()); }
  static int64_t Sum(const std::vector<int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
  }

  std::vector<Bytes> MakeArrays(const Case& test) const {
    std::vector<Bytes> arrays;
    for (const std::vector<int64_t>& parts : test.arrays) {
      const Bytes keys = MakeKeys(GetParam(), test.distribution, Sum(parts), arrays.size() + 1);
      arrays.push_back(Gather(keys, key_bytes(), StableOrder(GetParam(), test.order, keys)));
    }
    return arrays;
  }

  // Before its first copy, each copier waits for the runs and for the memory that each other one has allocated.
  static void CheckPoints(const std::vector<const WatchedCopier*>& copiers, const std::vector<const void*>& are_ready) {
    for (const WatchedCopier* const copier : copiers) {
      std::vector<const void*> points = are_ready;
      for (const WatchedCopier* const other : copiers) {
        ASSERT_FALSE(other->marked().empty());
        if (other != copier) points.push_back(other->marked().front());
      }
      ASSERT_GE(copier->awaited().size(), points.size());
      // A copier without rows to send goes on to later points.
      const std::vector<const void*> first(copier->awaited().begin(),
                                           copier->awaited().begin() + static_cast<ptrdiff_t>(points.size()));
      EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(points));
    }
  }

  Merged Merge(const Case& test, const std::vector<Bytes>& keys, const std::vector<Bytes>& values) {
    const size_t devices = test.shards.size() + 1;
    std::vector<int64_t> counts = test.shards;
    counts.push_back(-Sum(counts));
    for (const std::vector<int64_t>& parts : test.arrays) counts.back() += Sum(parts);
    std::vector<std::unique_ptr<EngineStream>> streams;
    std::vector<std::unique_ptr<EngineMemory>> memory;
    const auto allocate = [&](size_t shard, int64_t bytes) {
      memory.push_back(*engine(shard).AllocateDevice(std::max<int64_t>(1, bytes)));
      return static_cast<char*>(memory.back()->data());
    };
    std::vector<ShardResult> results;
    std::vector<const WatchedCopier*> copiers;
    for (size_t shard = 0; shard < devices; ++shard) {
      ShardResult& result = results.emplace_back();
      streams.push_back(*engine(shard).CreateStream());
      result.stream = streams.back().get();
      auto copier = std::make_unique<WatchedCopier>(*engine(shard).CreateStream());
      result.copier = copier.get();
      copiers.push_back(copier.get());
      streams.push_back(std::move(copier));
      EXPECT_TRUE(result.stream->Begin().ok());
      EXPECT_TRUE(result.copier->Begin().ok());
      result.count = counts[shard];
      result.keys = allocate(shard, result.count * key_bytes());
      result.values = allocate(shard, result.count * test.value_bytes);
    }
    std::vector<ShardedMerge::Run> runs;
    for (size_t array = 0; array < keys.size(); ++array) {
      int64_t first = 0;
      for (size_t shard = 0; shard < devices; ++shard) {
        ShardedMerge::Run run;
        run.count = test.arrays[array][shard];
        run.shard = shard;
        run.continues = shard > 0;
        const auto place = [&](const Bytes& from, int64_t bytes) {
          char* const to = allocate(shard, run.count * bytes);
          EXPECT_TRUE(results[shard].stream->CopyToDevice(to, from.data() + first * bytes, run.count * bytes).ok());
          return to;
        };
        if (run.count > 0) run.keys = place(keys[array], key_bytes());
        if (run.count > 0 && test.value_bytes > 0) run.values = place(values[array], test.value_bytes);
        first += run.count;
        runs.push_back(run);
      }
    }
    std::vector<const void*> are_ready;
    for (const ShardResult& result : results) {
      EXPECT_TRUE(result.stream->EndCopyIn().ok());
      are_ready.push_back(*result.stream->MarkPoint());
    }

    ShardedMerge::Options options;
    options.key_type = GetParam();
    options.order = test.order;
    options.algorithm = test.algorithm;
    options.value_bytes = test.value_bytes;
    options.tile_bytes = test.tile_bytes;
    options.check_sorted = test.check_sorted;
    const auto ways = static_cast<int>(runs.size());
    std::unique_ptr<EngineStream> cutter = *engine(0).CreateStream();
    if (test.wrong_cuts) cutter = std::make_unique<WrongCuts>(std::move(cutter));
    ShardedMerge merge(options, results);
    EXPECT_TRUE(merge.Cut(std::move(runs), are_ready, *cutter).ok());
    EXPECT_TRUE(merge.Merge().ok());
    CheckPoints(copiers, are_ready);
    Merged merged;
    for (const ShardResult& result : results) {
      const auto fetch = [&](const void* from, int64_t bytes, Bytes& to) {
        const size_t before = to.size();
        to.resize(before + static_cast<size_t>(bytes));
        EXPECT_TRUE(result.stream->CopyToHost(to.data() + before, from, bytes).ok());
        EXPECT_TRUE(result.stream->Finish().ok());
      };
      fetch(result.keys, result.count * key_bytes(), merged.keys);
      fetch(result.values, result.count * test.value_bytes, merged.values);
      EXPECT_LE(result.stream->workspace_bytes(),
                ShardedMerge::WorkspaceBytes(options, *std::max_element(counts.begin(), counts.end()), ways,
                                             engine(results.size())));
    }
    for (const auto& stream : streams) EXPECT_TRUE(stream->Finish().ok());
    merged.in_order = merge.in_order();
    if (const auto disorder = merge.disorder()) {
      const size_t array = disorder->run / devices, part = disorder->run % devices;
      const std::vector<int64_t>& parts = test.arrays[array];
      merged.disorder = {array,
                         std::accumulate(parts.begin(), parts.begin() + static_cast<int64_t>(part), disorder->index)};
    }
    return merged;
  }

  void Check(const Case& test) {
    SCOPED_TRACE(::testing::Message() << KeyTypeName(GetParam()) << " arrays=" << test.arrays.size() << " devices="
                                      << test.shards.size() + 1 << " " << DistributionName(test.distribution)
                                      << " value_bytes=" << test.value_bytes << " tile_bytes=" << test.tile_bytes);
    const std::vector<Bytes> keys = MakeArrays(test);
    std::vector<Bytes> values;
    Bytes all_keys, all_values;
    for (const Bytes& array : keys) {
      const auto bytes = static_cast<int64_t>(array.size()) / key_bytes() * test.value_bytes;
      values.push_back(MakeKeys(KeyType::kUint8, Distribution::kUniform, bytes, 100 + values.size()));
      all_keys.insert(all_keys.end(), array.begin(), array.end());
      all_values.insert(all_values.end(), values.back().begin(), values.back().end());
    }
    const Merged merged = Merge(test, keys, values);
    EXPECT_TRUE(merged.in_order);
    EXPECT_FALSE(merged.disorder.has_value());
    const std::vector<int64_t> expected = MergeOrder(GetParam(), test.order, keys);
    EXPECT_TRUE(merged.keys == Gather(all_keys, key_bytes(), expected));
    EXPECT_TRUE(test.value_bytes == 0 || merged.values == Gather(all_values, test.value_bytes, expected));
  }
};

TEST_P(ShardedArrays, MergeAsWholeOnesDo) {
  for (const Order order : kBothOrders) {
    for (const Distribution distribution : {Distribution::kUniform, Distribution::kSixteenDistinct,
                                            Distribution::kAllEqual, Distribution::kSpecialFloats}) {
      for (const int32_t value_bytes : {0, 4, 12}) {
        Check({{{501, 500}, {388, 388}}, {889}, distribution, order, value_bytes});
        Check({{{334, 333, 333}, {100, 100, 99}, {1, 0, 0}}, {434, 433}, distribution, order, value_bytes});
      }
    }
  }
}

TEST_P(ShardedArrays, OfAnyNumberAndLengthAndPartsOfAnyLength) {
  Check({{{5}}, {}});
  Check({{{0, 0}, {0, 0}}, {0}});
  Check({{{0, 0, 0}, {1, 0, 0}}, {1, 0}});
  Check({{{0, 4097, 0, 1}, {4096, 0, 3, 0}, {0, 0, 0, 5}}, {0, 8000, 0}, Distribution::kZipf, Order::kDescending, 8});
  const std::vector<std::vector<int64_t>> most(ShardedMerge::kMaxRuns / 4, {101, 101, 100, 100});
  Check({most, {804, 804, 804}, Distribution::kSixteenDistinct, Order::kAscending, 4});
  Check({{std::vector<int64_t>(16, 7), std::vector<int64_t>(16, 6)}, std::vector<int64_t>(15, 13)});
}

TEST_P(ShardedArrays, MergeInTilesOfAnySizeByEachAlgorithm) {
  for (const int64_t tile_bytes : {int64_t{1}, int64_t{5000}, int64_t{1} << 30}) {
    for (const MergeAlgorithm algorithm : kMergeAlgorithms) {
      Check({{{4987, 4986}, {4096, 4095}, {9, 8}},
             {9091},
             Distribution::kZipf,
             Order::kAscending,
             3,
             tile_bytes,
             algorithm});
    }
  }
}

// Keys 99, 100, 199 and 200 are at the ends of parts.
TEST_P(ShardedArrays, TellTheFirstKeyThatIsOutOfOrder) {
  const Case test{{{100, 100, 100}, {80, 0, 80}}, {153, 153}, Distribution::kSorted, Order::kAscending, 0, 200};
  const std::vector<Bytes> sorted = MakeArrays(test);
  for (size_t array = 0; array < sorted.size(); ++array) {
    for (int64_t i = 1; i < Sum(test.arrays[array]); ++i) {
      std::vector<Bytes> keys = sorted;
      const auto swap = [&](Bytes& of, int64_t a, int64_t b) {
        std::swap_ranges(of.begin() + a * key_bytes(), of.begin() + (a + 1) * key_bytes(),
                         of.begin() + b * key_bytes());
      };
      swap(keys[array], i - 1, i);
      if (i % 2 == 0) swap(keys[1], 10, 150);
      std::optional<std::pair<size_t, int64_t>> expected;
      for (size_t j = 0; j < keys.size() && !expected; ++j) {
        if (const auto found = FirstUnsorted(GetParam(), test.order, keys[j])) expected = {j, *found};
      }
      const Merged merged = Merge(test, keys, {});
      EXPECT_EQ(merged.disorder, expected) << "array " << array << " key " << i;
      EXPECT_EQ(merged.in_order, !expected.has_value());
    }
  }
}

TEST_P(ShardedArrays, KeepAllRowsWhereTheyAreOutOfOrder) {
  for (const bool check_sorted : {false, true}) {
    Case test{{{2000, 2000, 1999}, {1000, 999, 999}}, {2333, 2332}};
    test.check_sorted = test.wrong_cuts = check_sorted;
    std::vector<Bytes> keys;
    Bytes all;
    for (const std::vector<int64_t>& parts : test.arrays) {
      keys.push_back(MakeKeys(GetParam(), Distribution::kUniform, Sum(parts), keys.size() + 7));
      all.insert(all.end(), keys.back().begin(), keys.back().end());
    }
    const Merged merged = Merge(test, keys, {});
    EXPECT_EQ(merged.in_order, !check_sorted);
    // By their bits, because floats of different bits may be equal.
    constexpr KeyType kBits[] = {KeyType::kUint8, KeyType::kUint16, KeyType::kUint32, KeyType::kUint64};
    const auto in_order = [&](const Bytes& of) {
      const KeyType* const bits = std::find_if(std::begin(kBits), std::end(kBits),
                                               [this](KeyType type) { return KeyBytes(type) == key_bytes(); });
      return Gather(of, key_bytes(), StableOrder(*bits, Order::kAscending, of));
    };
    EXPECT_TRUE(in_order(merged.keys) == in_order(all));
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ShardedArrays, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
