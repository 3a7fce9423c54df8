// ShardedSort: one array on several devices, compared with a stable sort of the whole. Where the machine has too few
// devices, several streams of one stand for them. Devices that do not reach each other's memory take the second way
// only (cuda_engine_under_test.cc).
#include <algorithm>
#include <numeric>

#include "kernels/engine/sharded_sort.h"
#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

class Sharded : public OnEnginesUnderTest {
 protected:
  struct Case {
    std::vector<int64_t> counts;
    Distribution distribution = Distribution::kUniform;
    Order order = Order::kAscending;
    int32_t value_bytes = 0;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    int64_t tile_bytes = 3000;
    int64_t limit = -1;
    int64_t offset = 0;
    bool lends = false;  // ShardedSort::Options::lends_keys and lends_values
  };

  void Check(const Case& test) {
    if (devices_are_linked()) Check(test, /*are_linked=*/true);
    Check(test, /*are_linked=*/false);
  }

  void Check(const Case& test, bool are_linked) {
    SCOPED_TRACE(::testing::Message() << KeyTypeName(GetParam()) << " shards=" << test.counts.size() << " "
                                      << DistributionName(test.distribution) << " value_bytes=" << test.value_bytes
                                      << " limit=" << test.limit << " offset=" << test.offset
                                      << (are_linked ? " linked" : " not linked"));
    const int key_bytes = KeyBytes(GetParam()), value_bytes = test.value_bytes;
    const int64_t total = std::accumulate(test.counts.begin(), test.counts.end(), int64_t{0});
    const int64_t after = std::max<int64_t>(0, total - test.offset);
    const int64_t result = test.limit >= 0 ? std::min(test.limit, after) : after;
    const Bytes keys = MakeKeys(GetParam(), test.distribution, total, 1);
    const Bytes values = MakeKeys(KeyType::kUint8, Distribution::kUniform, total * value_bytes, 2);

    std::vector<std::unique_ptr<EngineStream>> streams;
    std::vector<Shard> shards;
    int64_t first = 0, left = result;
    for (const int64_t count : test.counts) {
      Engine& device = engine(shards.size());
      Shard shard;
      for (EngineStream** const made : {&shard.result.stream, &shard.result.copier}) {
        streams.push_back(*device.CreateStream());
        *made = streams.back().get();
        ASSERT_TRUE((*made)->Begin().ok());
      }
      EngineStream& stream = *shard.result.stream;
      shard.count = count;
      // Copies, because the outputs take the memory of the inputs.
      const auto place = [&](const Bytes& from, int bytes) {
        void* const memory = *stream.AllocateDevice(std::max<int64_t>(1, count * bytes));
        EXPECT_TRUE(stream.CopyToDevice(memory, from.data() + first * bytes, count * bytes).ok());
        return memory;
      };
      shard.keys = shard.result.keys = place(keys, key_bytes);
      if (value_bytes > 0) shard.values = shard.result.values = place(values, value_bytes);
      if (test.lends) shard.result.keys = place(keys, key_bytes);
      if (test.lends && value_bytes > 0) shard.result.values = place(values, value_bytes);
      EXPECT_TRUE(stream.EndCopyIn().ok());
      // All rows, or of a few rows parts that some shards have no room for.
      left -= shard.result.count = std::min(left, count);
      shards.push_back(shard);
      first += count;
    }
    std::vector<EngineStream*> cutters;
    for (size_t i = 0; i < shards.size(); ++i) {
      streams.push_back(*engine(i).CreateStream());
      cutters.push_back(streams.back().get());
    }

    ShardedSort::Options options;
    options.key_type = GetParam();
    options.order = test.order;
    options.algorithm = test.algorithm;
    options.value_bytes = value_bytes;
    options.tile_bytes = test.tile_bytes;
    options.limit = test.limit;
    options.offset = test.offset;
    options.are_linked = are_linked;
    options.lends_keys = options.lends_values = test.lends;
    ShardedSort sort(options, shards);
    ASSERT_TRUE(sort.SortEach().ok());
    ASSERT_TRUE((are_linked ? sort.Cut(*cutters[0]) : sort.CutBySamples(cutters)).ok());
    ASSERT_TRUE(sort.MergePieces().ok());
    Bytes sorted_keys(static_cast<size_t>(result * key_bytes)),
        sorted_values(static_cast<size_t>(result * value_bytes));
    first = 0;
    for (const Shard& shard : shards) {
      const auto fetch = [&](Bytes& to, const void* from, int64_t bytes) {
        EXPECT_TRUE(shard.result.stream->CopyToHost(to.data() + first * bytes, from, shard.result.count * bytes).ok());
      };
      fetch(sorted_keys, shard.result.keys, key_bytes);
      fetch(sorted_values, shard.result.values, value_bytes);
      first += shard.result.count;
    }
    for (size_t i = 0; i < shards.size(); ++i) {
      ASSERT_TRUE(shards[i].result.stream->Finish().ok());
      ASSERT_TRUE(shards[i].result.copier->Finish().ok());
      EXPECT_EQ(sort.report(static_cast<int>(i)).fault, OperatorReport::Fault::kNone);
      // The sorted rows and copies are of the algorithm, not of an operator.
      const int64_t most = ShardedSort::WorkspaceBytes(options, shards[i].count, shards[i].result.count,
                                                       static_cast<int>(shards.size()), engine(i));
      const int64_t kept = test.limit >= 0 ? test.offset + test.limit : shards[i].count;
      const int64_t sorted = std::min(kept, shards[i].count);
      EXPECT_LE(shards[i].result.stream->workspace_bytes() + sorted * (key_bytes + value_bytes), most);
    }
    std::vector<int64_t> expected = StableOrder(GetParam(), test.order, keys);
    expected = FirstOfOrder(std::move(expected), test.limit, {}, test.offset);
    EXPECT_TRUE(sorted_keys == Gather(keys, key_bytes, expected));
    EXPECT_TRUE(value_bytes == 0 || sorted_values == Gather(values, value_bytes, expected));
  }
};

TEST_P(Sharded, SortsAsOneDeviceDoes) {
  for (const Order order : kBothOrders) {
    for (const Distribution distribution : {Distribution::kUniform, Distribution::kSixteenDistinct,
                                            Distribution::kAllEqual, Distribution::kSpecialFloats}) {
      for (const int32_t value_bytes : {0, 4, 12}) Check({{1000, 777}, distribution, order, value_bytes});
    }
  }
}

TEST_P(Sharded, TakesShardsOfAnyNumberAndLength) {
  Check({{0}});
  Check({{5}});
  Check({{0, 0, 0}});
  Check({{0, 1000, 0, 3}, Distribution::kZipf, Order::kDescending, 8});
  Check({{4097, 1, 4096, 100'003, 4095}, Distribution::kUniform, Order::kAscending, 4});
  Check({std::vector<int64_t>(ShardedMerge::kMaxShards, 101), Distribution::kSixteenDistinct, Order::kAscending, 4});
  for (size_t shards = 1; shards <= 8; ++shards) {
    Check({std::vector<int64_t>(shards, 5001), Distribution::kZipf, Order::kAscending, 4});
  }
}

TEST_P(Sharded, KeepsTheFirstRowsOfTheWhole) {
  for (const Order order : kBothOrders) {
    for (const Distribution distribution : {Distribution::kUniform, Distribution::kAllEqual, Distribution::kSorted}) {
      for (const int64_t limit : {1, 777, 2777, 5000}) {
        for (const int32_t value_bytes : {0, 4}) {
          Check({{1000, 0, 777, 1001}, distribution, order, value_bytes, SortAlgorithm::kAuto, 3000, limit});
          Check({{1000, 0, 777, 1001}, distribution, order, value_bytes, SortAlgorithm::kAuto, 3000, limit, 1200});
        }
      }
    }
  }
}

TEST_P(Sharded, SortsInTheMemoryOfTheResults) {
  for (const SortAlgorithm algorithm : {SortAlgorithm::kAuto, SortAlgorithm::kRadix, SortAlgorithm::kMergesort}) {
    for (const int32_t value_bytes : {0, 4, 8, 12}) {
      for (const Distribution distribution : {Distribution::kUniform, Distribution::kSixteenDistinct}) {
        Check({{70'000, 70'001},
               distribution,
               Order::kDescending,
               value_bytes,
               algorithm,
               30'000,
               -1,
               0,
               /*lends=*/true});
      }
    }
  }
  Check(
      {{5, 0, 1000}, Distribution::kUniform, Order::kAscending, 8, SortAlgorithm::kAuto, 3000, -1, 0, /*lends=*/true});
}

TEST_P(Sharded, NeedsThatMuchLessMemory) {
  if (KeyBytes(GetParam()) == 1) GTEST_SKIP() << "a radix sort of bytes has one pass";
  constexpr int64_t kCount = 1 << 20;
  ShardedSort::Options options;
  options.key_type = GetParam();
  options.algorithm = SortAlgorithm::kRadix;
  const int64_t apart = ShardedSort::WorkspaceBytes(options, kCount, kCount, 2, engine(0));
  options.lends_keys = true;
  const int64_t lent = ShardedSort::WorkspaceBytes(options, kCount, kCount, 2, engine(0));
  EXPECT_GE(apart - lent, kCount * KeyBytes(GetParam()));
}

TEST_P(Sharded, MovesWholeShardsWhereTheyAreInTheWrongOrder) {
  for (const Order order : kBothOrders) {
    Check({{20'000, 20'000, 20'000}, Distribution::kSorted, order, 4});
    Check({{20'000, 20'000, 20'000}, Distribution::kReversed, order, 4});
  }
}

TEST_P(Sharded, TakesTheAlgorithmThatIsAskedFor) {
  for (const SortAlgorithm algorithm : kSortAlgorithms) {
    Check({{30'000, 30'001}, Distribution::kUniform, Order::kAscending, 4, algorithm});
  }
}

TEST_P(Sharded, MergesInTilesOfAnySize) {
  for (const int64_t tile_bytes : {int64_t{1}, int64_t{5000}, int64_t{1} << 30}) {
    Check({{9973, 8191, 17}, Distribution::kZipf, Order::kAscending, 3, SortAlgorithm::kAuto, tile_bytes});
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Sharded, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
