// CoRank, bounds and SerialMerge: the properties that every parallel merge relies on.
#include "kernels/common/merge_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

#include "tests/support/distributions.h"
#include "tests/support/published_examples.h"

namespace corank::testing {
namespace {

// An element that remembers its origin, which makes stability visible. Comparisons use `key` only.
struct Element {
  int key;
  char input;
  int position;
  bool operator==(const Element& other) const {
    return key == other.key && input == other.input && position == other.position;
  }
};

bool Before(const Element& x, const Element& y) { return x.key < y.key; }

std::vector<Element> SortedRun(Random& random, char input, int64_t count, int64_t distinct) {
  std::vector<int> keys;
  for (int64_t i = 0; i < count; ++i) keys.push_back(static_cast<int>(random.Below(distinct)));
  std::sort(keys.begin(), keys.end());
  std::vector<Element> run;
  for (int key : keys) run.push_back({key, input, static_cast<int>(run.size())});
  return run;
}

struct Pair {
  std::vector<Element> a, b, merged;
};

std::vector<Pair> RandomPairs() {
  std::vector<Pair> pairs;
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    Pair pair;
    const int64_t distinct = random.OneIn(2) ? 3 : 1000;
    pair.a = SortedRun(random, 'a', random.OneIn(8) ? 0 : random.Below(60), distinct);
    pair.b = SortedRun(random, 'b', random.OneIn(8) ? 0 : random.Below(60), distinct);
    std::merge(pair.a.begin(), pair.a.end(), pair.b.begin(), pair.b.end(), std::back_inserter(pair.merged), Before);
    pairs.push_back(pair);
  }
  return pairs;
}

TEST(CoRank, IsTheNumberOfOutputsFromAForEveryDiagonal) {
  for (const Pair& pair : RandomPairs()) {
    const auto a_count = static_cast<int64_t>(pair.a.size());
    const auto b_count = static_cast<int64_t>(pair.b.size());
    int64_t expected = 0;
    for (int64_t diagonal = 0; diagonal <= a_count + b_count; ++diagonal) {
      ASSERT_EQ(CoRank(diagonal, pair.a.data(), a_count, pair.b.data(), b_count, Before), expected) << diagonal;
      if (diagonal < a_count + b_count) expected += pair.merged[static_cast<size_t>(diagonal)].input == 'a';
    }
  }
}

TEST(CoRank, StaysInsideBothInputsWhateverTheyHold) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> a(static_cast<size_t>(random.Below(20))), b(static_cast<size_t>(random.Below(20)));
    for (int& key : a) key = static_cast<int>(random.Below(10));
    for (int& key : b) key = static_cast<int>(random.Below(10));
    const auto a_count = static_cast<int>(a.size());
    const auto b_count = static_cast<int>(b.size());
    const int diagonal = static_cast<int>(random.Below(a_count + b_count + 1));
    const int from_a = CoRank(diagonal, a.data(), a_count, b.data(), b_count, std::less<int>());
    EXPECT_GE(from_a, std::max(0, diagonal - b_count));
    EXPECT_LE(from_a, std::min(a_count, diagonal));
  }
}

TEST(CoRank, WalkThroughOfTheTextbook) {
  using Example = published::CoRankExample;
  for (size_t thread = 0; thread < std::size(Example::kK); ++thread) {
    const int from_a = CoRank(Example::kK[thread], Example::kA, static_cast<int>(std::size(Example::kA)), Example::kB,
                              static_cast<int>(std::size(Example::kB)), std::less<int>());
    EXPECT_EQ(from_a, Example::kI[thread]);
    EXPECT_EQ(Example::kK[thread] - from_a, Example::kJ[thread]);
  }
}

TEST(SerialMerge, MergesStablyFromAnyDiagonalForAnyNumberOfSteps) {
  for (const Pair& pair : RandomPairs()) {
    const auto a_count = static_cast<int64_t>(pair.a.size());
    const auto b_count = static_cast<int64_t>(pair.b.size());
    const int64_t total = a_count + b_count;
    for (int64_t begin = 0; begin <= total; begin += 7) {
      const int64_t a_begin = CoRank(begin, pair.a.data(), a_count, pair.b.data(), b_count, Before);
      std::vector<Element> got;
      SerialMerge(pair.a.data(), a_begin, a_count, pair.b.data(), begin - a_begin, b_count, int64_t{11}, Before,
                  [&](int64_t step, bool from_a, int64_t position) {
                    EXPECT_EQ(step, static_cast<int64_t>(got.size()));
                    got.push_back((from_a ? pair.a : pair.b)[static_cast<size_t>(position)]);
                  });
      const auto end = std::min(begin + 11, total);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), pair.merged.begin() + begin, pair.merged.begin() + end));
    }
  }
}

TEST(Bounds, AreThoseOfTheStandardLibrary) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<int> keys(static_cast<size_t>(random.Below(40)));
    for (int& key : keys) key = static_cast<int>(random.Below(15));
    std::sort(keys.begin(), keys.end());
    const auto count = static_cast<int64_t>(keys.size());
    for (int key = -1; key <= 15; ++key) {
      EXPECT_EQ(LowerBound(keys.data(), count, key, std::less<int>()),
                std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
      EXPECT_EQ(UpperBound(keys.data(), count, key, std::less<int>()),
                std::upper_bound(keys.begin(), keys.end(), key) - keys.begin());
    }
  }
}

}  // namespace
}  // namespace corank::testing
