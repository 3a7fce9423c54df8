// Sorts of 64-bit keys with values or indices, by prefixes of their ranks, with equal and different prefixes.
#include "kernels/cpu/rank_prefix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "tests/engine/harness.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

struct Pattern {
  std::string name;
  bool told_apart;  // whether prefixes distinguish 100003 of them
  std::function<uint64_t(Random&, int64_t i)> key;
};

// Nearly all keys share a prefix, except those that the sample of 100003 reads.
uint64_t HiddenFromTheSample(Random& random, int64_t i) {
  static const auto* const sampled = [] {
    auto* const positions = new std::set<int64_t>;
    for (uint64_t k = 0; k < 1024; ++k) positions->insert(static_cast<int64_t>(k * 0x9E3779B97F4A7C15 % 100003));
    return positions;
  }();
  return sampled->count(i) > 0 ? random.Next() : random.Next() >> 48;
}

// All 64 bits vary in patterns with "wide" in their names.
std::vector<Pattern> Patterns() {
  return {
      {"uniform", true, [](Random& random, int64_t) { return random.Next(); }},
      {"45 bits that vary", true, [](Random& random, int64_t) { return 0x5A000 | random.Next() >> 19; }},
      {"wide, three of 100 share their prefix", true,
       [](Random& random, int64_t i) {
         return i % 100 < 3 ? Random(static_cast<uint64_t>(i / 100)).Next() >> 4 << 4 | random.Next() >> 60
                            : random.Next();
       }},
      {"wide, 40 distinct", true, [](Random& random, int64_t) { return (random.Next() % 40) * 0x0606060606060606; }},
      {"wide, all but one share their prefix", false,
       [](Random& random, int64_t i) { return i == 0 ? ~uint64_t{0} : random.Next() >> 50; }},
      {"wide, all but what the sample sees share their prefix", true, HiddenFromTheSample},
  };
}

std::vector<uint64_t> KeysOf(const Pattern& pattern, int64_t count) {
  Random random(17);
  std::vector<uint64_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) keys[static_cast<size_t>(i)] = pattern.key(random, i);
  return keys;
}

TEST(RankPrefix, TellsApartWhatFewShare) {
  for (const Pattern& pattern : Patterns()) {
    SCOPED_TRACE(pattern.name);
    const std::vector<uint64_t> keys = KeysOf(pattern, 100003);
    const auto rank = [&](int64_t i) { return keys[static_cast<size_t>(i)]; };
    cpu::Parallel parallel(2);
    const cpu::RankPrefix prefix = cpu::ChooseRankPrefix(100003, rank, parallel);
    EXPECT_EQ(prefix.index_bits, 17);
    EXPECT_EQ(prefix.HoldsAll(), pattern.name == "45 bits that vary");
    EXPECT_EQ(cpu::TellsRanksApart(prefix, 100003, rank), pattern.told_apart);
  }
}

TEST(RankPrefix, SortsAreStableWhateverTheKeysShare) {
  for (int threads : {1, 3}) {
    const auto engine = CreateCpuEngine({threads});
    ASSERT_TRUE(engine.ok()) << engine.status();
    Harness harness(engine->get());
    for (const Pattern& pattern : Patterns()) {
      for (int64_t count : {1023, 1024, 1025, 4097, 100003}) {
        const std::vector<uint64_t> keys = KeysOf(pattern, count);
        for (KeyType type : {KeyType::kUint64, KeyType::kInt64, KeyType::kFloat64}) {
          for (Order order : {Order::kAscending, Order::kDescending}) {
            SCOPED_TRACE(::testing::Message() << pattern.name << ", " << count << ", type " << static_cast<int>(type)
                                              << ", order " << static_cast<int>(order));
            SortCase test;
            test.type = type;
            test.order = order;
            test.keys.resize(keys.size() * sizeof(uint64_t));
            std::memcpy(test.keys.data(), keys.data(), test.keys.size());
            test.value_bytes = 4;
            test.values = MakeBytes(count * 4, 51);
            const std::vector<int64_t> stable = StableOrder(type, order, test.keys);
            const Outcome outcome = harness.Sort(test);
            EXPECT_TRUE(outcome.outputs[0] == Gather(test.keys, 8, stable));
            EXPECT_TRUE(outcome.outputs[1] == Gather(test.values, 4, stable));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace corank::testing
