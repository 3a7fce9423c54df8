// ShardedMerge of runs in host memory, compared with a stable merge of the whole. Where the machine has too few
// devices, several streams of one stand for them.
#include <algorithm>
#include <numeric>

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
      for (EngineStream** const made : {&result.stream, &result.puller, &result.sender}) {
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

}  // namespace
}  // namespace corank::testing
