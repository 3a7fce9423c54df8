// Merge: 0 to 1024 inputs, every type and algorithm, compared with std::merge on the keys' real values.
#include <algorithm>

#include "tests/engine/conformance_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

using Fault = OperatorReport::Fault;

class Merge : public OnEngineUnderTest<::testing::TestWithParam<KeyType>> {
 protected:
  // One sorted input for each count.
  MergeCase Make(const std::vector<int64_t>& counts, Order order, Distribution distribution, uint64_t seed) {
    MergeCase test;
    test.type = GetParam();
    test.order = order;
    for (int64_t count : counts) {
      const Bytes keys = MakeKeys(test.type, distribution, count, ++seed);
      test.keys.push_back(Gather(keys, KeyBytes(test.type), StableOrder(test.type, order, keys)));
    }
    return test;
  }

  static void AddValues(MergeCase& test, int value_bytes) {
    test.value_bytes = value_bytes;
    for (const Bytes& keys : test.keys) {
      test.values.push_back(
          MakeBytes(static_cast<int64_t>(keys.size()) / KeyBytes(test.type) * value_bytes, test.values.size()));
    }
  }

  void Check(const MergeCase& test) {
    if (!RunsNextCase()) return;
    const std::vector<int64_t> expected = MergeOrder(test.type, test.order, test.keys);
    SCOPED_TRACE(::testing::Message() << KeyTypeName(test.type) << (test.order == Order::kAscending ? " asc" : " desc")
                                      << " algorithm=" << MergeAlgorithmName(test.algorithm)
                                      << " inputs=" << test.keys.size() << " n=" << expected.size()
                                      << " value_bytes=" << test.value_bytes);
    const Outcome outcome = harness().Merge(test);
    EXPECT_EQ(outcome.report.fault, Fault::kNone);
    const bool is_path = test.algorithm == MergeAlgorithm::kAuto || engine().info().kind == EngineKind::kCpu;
    EXPECT_EQ(outcome.report.merge_algorithm, is_path ? MergeAlgorithm::kMergePath : test.algorithm);
    EXPECT_TRUE(outcome.outputs[0] == Gather(Concatenated(test.keys), KeyBytes(test.type), expected)) << "keys";
    if (test.value_bytes > 0) {
      EXPECT_TRUE(outcome.outputs[1] == Gather(Concatenated(test.values), test.value_bytes, expected)) << "values";
    }
  }

  static Bytes Concatenated(const std::vector<Bytes>& arrays) {
    Bytes all;
    for (const Bytes& array : arrays) all.insert(all.end(), array.begin(), array.end());
    return all;
  }
};

TEST_P(Merge, MergesTwoInputsOfAnySizes) {
  const std::vector<int64_t> sizes[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {4097, 1}, {5, 4096}, {20000, 50003}};
  uint64_t seed = 1;
  for (const auto& counts : sizes) {
    for (Distribution distribution : {Distribution::kUniform, Distribution::kSixteenDistinct, Distribution::kAllEqual,
                                      Distribution::kSpecialFloats}) {
      ++seed;
      MergeCase test = Make(counts, kBothOrders[seed % 2], distribution, seed);
      for (MergeAlgorithm algorithm : kMergeAlgorithms) {
        test.algorithm = algorithm;
        Check(test);
      }
    }
  }
}

TEST_P(Merge, TakesEqualKeysFromTheEarlierInput) {
  for (Order order : kBothOrders) {
    for (int64_t inputs : {2, 3, 9}) {
      // Long enough that the work is cut into pieces, most of them in the middle of equal keys.
      const std::vector<int64_t> counts(static_cast<size_t>(inputs), 100000 / inputs);
      MergeCase test = Make(counts, order, Distribution::kSixteenDistinct, 5);
      AddValues(test, 4);
      for (MergeAlgorithm algorithm : kMergeAlgorithms) {
        test.algorithm = algorithm;
        Check(test);
      }
    }
  }
}

TEST_P(Merge, MergesManyInputs) {
  Random random(9);
  for (int64_t inputs : {0, 1, 3, 4, 7, 16, 1024}) {
    std::vector<int64_t> counts;
    for (int64_t i = 0; i < inputs; ++i) counts.push_back(random.OneIn(4) ? 0 : random.Below(60000 / inputs));
    MergeCase test = Make(counts, kBothOrders[inputs % 2], Distribution::kZipf, 77);
    if (inputs % 2 == 1) AddValues(test, 8);
    for (MergeAlgorithm algorithm : kMergeAlgorithms) {
      test.algorithm = algorithm;
      Check(test);
    }
  }
}

TEST_P(Merge, MovesValuesOfEveryWidth) {
  for (int value_bytes : kValueWidths) {
    for (const std::vector<int64_t>& counts :
         {std::vector<int64_t>{4097, 3000}, std::vector<int64_t>{10, 4096, 2000}}) {
      MergeCase test = Make(counts, Order::kAscending, Distribution::kUniform, 3);
      AddValues(test, value_bytes);
      Check(test);
    }
  }
}

TEST_P(Merge, ReportsTheFirstIndexOfTheFirstUnsortedInput) {
  for (MergeAlgorithm algorithm : kMergeAlgorithms) {
    for (int64_t fault : {1, 4095, 4096, 4097, 19999}) {
      MergeCase test = Make({5000, 20000, 20000}, Order::kAscending, Distribution::kUniform, 13);
      test.algorithm = algorithm;
      // Faults in the last two inputs: swapped keys from `fault` on.
      for (size_t faulty : {size_t{1}, size_t{2}}) {
        Bytes& keys = test.keys[faulty];
        const int64_t at = faulty == 1 ? fault : 1;
        const auto first = keys.begin() + at * KeyBytes(test.type);
        std::swap_ranges(keys.begin(), keys.begin() + KeyBytes(test.type), first);
      }
      // Keys of 8 bits repeat, so that a swap may leave an input sorted.
      int32_t input = 1;
      if (!FirstUnsorted(test.type, test.order, test.keys[1])) input = 2;
      const std::optional<int64_t> expected =
          FirstUnsorted(test.type, test.order, test.keys[static_cast<size_t>(input)]);
      const Outcome outcome = harness().Merge(test);
      ASSERT_EQ(outcome.report.fault, expected ? Fault::kUnsorted : Fault::kNone);
      if (!expected) continue;
      EXPECT_EQ(outcome.report.input, input);
      EXPECT_EQ(outcome.report.index, *expected);
    }
  }
}

TEST_P(Merge, ReportsTheOneUnsortedIndexOfTwoInputs) {
  // The merge of two inputs may also check them. One key is out of order, at any place, including the borders of parts.
  for (size_t faulty : {size_t{0}, size_t{1}}) {
    for (int64_t fault = 1; fault < 30000; fault += 1 + fault / 3) {
      MergeCase test = Make({30000, 30000}, Order::kAscending, Distribution::kUniform, 17);
      Bytes& keys = test.keys[faulty];
      const auto key = keys.begin() + fault * KeyBytes(test.type);
      std::swap_ranges(keys.begin(), keys.begin() + KeyBytes(test.type), key);
      const std::optional<int64_t> expected = FirstUnsorted(test.type, test.order, keys);
      const Outcome outcome = harness().Merge(test);
      ASSERT_EQ(outcome.report.fault, expected ? Fault::kUnsorted : Fault::kNone) << fault;
      if (!expected) continue;
      EXPECT_EQ(outcome.report.input, static_cast<int32_t>(faulty));
      EXPECT_EQ(outcome.report.index, *expected);
    }
  }
}

TEST_P(Merge, UnsortedInputsThatAreNotCheckedStayAPermutation) {
  for (size_t inputs : {size_t{2}, size_t{5}}) {
    for (MergeAlgorithm algorithm : kMergeAlgorithms) {
      MergeCase test;
      test.type = GetParam();
      test.algorithm = algorithm;
      test.check_sorted = false;
      for (size_t i = 0; i < inputs; ++i) test.keys.push_back(MakeKeys(test.type, Distribution::kUniform, 40000, i));
      const Outcome outcome = harness().Merge(test);
      EXPECT_EQ(outcome.report.fault, Fault::kNone);
      const auto sorted_bytes = [&](const Bytes& keys) {
        std::vector<std::string> all;
        for (size_t i = 0; i < keys.size(); i += static_cast<size_t>(KeyBytes(test.type))) {
          all.emplace_back(reinterpret_cast<const char*>(&keys[i]), static_cast<size_t>(KeyBytes(test.type)));
        }
        std::sort(all.begin(), all.end());
        return all;
      };
      EXPECT_TRUE(sorted_bytes(outcome.outputs[0]) == sorted_bytes(Concatenated(test.keys)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Merge, ::testing::ValuesIn(kAllKeyTypes), TypeParamName);

}  // namespace
}  // namespace corank::testing
