// The merge kernels on a GPU, compared with plain std:: oracles.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/merge/merge_group.h"
#include "kernels/cuda/merge/merge_tuning.h"
#include "tests/cuda_merge/merge_runner.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/published_examples.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

constexpr Order kOrders[] = {Order::kAscending, Order::kDescending};
constexpr MergeAlgorithm kAlgorithms[] = {MergeAlgorithm::kAuto, MergeAlgorithm::kBasic, MergeAlgorithm::kTiled,
                                          MergeAlgorithm::kCircularBuffer};

MergeAlgorithm Taken(MergeAlgorithm algorithm) {
  return algorithm == MergeAlgorithm::kAuto ? MergeAlgorithm::kMergePath : algorithm;
}

Bytes Concatenate(const std::vector<Bytes>& parts) {
  Bytes whole;
  for (const Bytes& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

std::string Describe(const MergeProblem& problem) {
  std::string text =
      std::string(KeyTypeName(problem.type)) + (problem.order == Order::kAscending ? " ascending " : " descending ") +
      MergeAlgorithmName(problem.algorithm) + ", values of " + std::to_string(problem.value_bytes) + ", counts";
  for (const Bytes& keys : problem.keys) text += " " + std::to_string(keys.size() / size_t(KeyBytes(problem.type)));
  return text.substr(0, 300);
}

/// Runs the problem with every algorithm and compares the results with the oracle.
void ExpectMerged(MergeProblem problem) {
  const std::vector<int64_t> positions = MergeOrder(problem.type, problem.order, problem.keys);
  const Bytes keys = Gather(Concatenate(problem.keys), KeyBytes(problem.type), positions);
  Bytes values;
  if (problem.value_bytes != 0) values = Gather(Concatenate(problem.values), problem.value_bytes, positions);
  for (MergeAlgorithm algorithm : kAlgorithms) {
    if (!RunsNextCase()) continue;
    problem.algorithm = algorithm;
    SCOPED_TRACE(Describe(problem));
    const MergeAnswer answer = RunMerge(problem);
    EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
    EXPECT_EQ(answer.report.merge_algorithm, Taken(algorithm));
    EXPECT_TRUE(answer.keys == keys) << "keys differ";
    EXPECT_TRUE(answer.values == values) << "values differ";
    if (::testing::Test::HasFailure()) return;
  }
}

void AddValues(MergeProblem& problem, int value_bytes, uint64_t seed) {
  problem.value_bytes = value_bytes;
  for (const Bytes& keys : problem.keys) {
    const auto count = static_cast<int64_t>(keys.size()) / KeyBytes(problem.type);
    problem.values.push_back(MakeBytes(count * value_bytes, ++seed));
  }
}

TEST(Merge, MakesTheTextbooksOutput) {
  CORANK_SKIP_WITHOUT_GPU();
  using Example = published::CoRankExample;
  MergeProblem problem;
  problem.type = KeyType::kInt32;
  problem.keys = {ToBytes(std::vector<int32_t>(std::begin(Example::kA), std::end(Example::kA))),
                  ToBytes(std::vector<int32_t>(std::begin(Example::kB), std::end(Example::kB)))};
  const MergeAnswer answer = RunMerge(problem);
  EXPECT_EQ(FromBytes<int32_t>(answer.keys),
            std::vector<int32_t>(std::begin(Example::kMerged), std::end(Example::kMerged)));
}

TEST(Merge, IsStableForEveryTypeOrderAndNumberOfInputs) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 0;
  for (KeyType type : kAllKeyTypes) {
    for (Order order : kOrders) {
      for (int inputs : {0, 1, 2, 3, 5, 8, 17}) {
        MergeProblem problem;
        problem.type = type;
        problem.order = order;
        problem.shift = inputs % 4;
        Random random(++seed);
        for (int i = 0; i < inputs; ++i) {
          const int64_t count = random.OneIn(4) ? 0 : random.Below(random.OneIn(3) ? 4000 : 300);
          problem.keys.push_back(SortedKeys(type, order, count, static_cast<int>(random.Below(10)), seed * 100 + i));
        }
        // The value is the source index, which shows every exchange of equal keys.
        problem.value_bytes = 4;
        uint32_t number = 0;
        for (const Bytes& keys : problem.keys) {
          std::vector<uint32_t> numbers(keys.size() / size_t(KeyBytes(type)));
          for (uint32_t& value : numbers) value = number++;
          problem.values.push_back(ToBytes(numbers));
        }
        SCOPED_TRACE("seed " + std::to_string(seed));
        ExpectMerged(problem);
        problem.values.clear();
        problem.value_bytes = 0;
        ExpectMerged(problem);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Merge, IsRightAroundTheSizesOfTilesAndSections) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 1000;
  for (KeyType type : {KeyType::kUint8, KeyType::kFloat16, KeyType::kInt32, KeyType::kFloat64}) {
    std::vector<int64_t> totals = {1, 2, cuda::StagedMergeTuning::kTile - 1, cuda::StagedMergeTuning::kTile + 1};
    for (int64_t tile : {cuda::BulkMergeTuning<4>::kTile, cuda::BulkMergeTuning<8>::kTile}) {
      totals.insert(totals.end(), {tile - 1, tile, tile + 1, 2 * tile, 5 * tile - 1});
    }
    for (MergeAlgorithm algorithm : kAlgorithms) {
      const int64_t section = cuda::MergeSectionSize(algorithm, KeyBytes(type));
      totals.insert(totals.end(), {section - 1, section, section + 1, 3 * section + 1});
    }
    std::sort(totals.begin(), totals.end());
    totals.erase(std::unique(totals.begin(), totals.end()), totals.end());
    for (int64_t total : totals) {
      for (int64_t a_count : {int64_t{0}, int64_t{1}, total / 3, total - 1, total}) {
        MergeProblem problem;
        problem.type = type;
        problem.keys = {SortedKeys(type, problem.order, a_count, 0, ++seed),
                        SortedKeys(type, problem.order, total - a_count, 0, ++seed)};
        problem.shift = static_cast<int>(seed % 16);
        ExpectMerged(problem);
        if (HasFailure()) return;
      }
    }
  }
}

/// Two sorted arrays of about `total` random keys, and all keys in order.
template <typename Key>
std::pair<MergeProblem, Bytes> LongProblem(KeyType type, int64_t total, uint64_t seed) {
  std::vector<Key> all = FromBytes<Key>(MakeKeys(type, Distribution::kUniform, total, seed));
  MergeProblem problem;
  problem.type = type;
  const auto middle = all.begin() + total / 3;
  std::sort(all.begin(), middle);
  std::sort(middle, all.end());
  problem.keys = {ToBytes(std::vector<Key>(all.begin(), middle)), ToBytes(std::vector<Key>(middle, all.end()))};
  std::sort(all.begin(), all.end());
  return {problem, ToBytes(all)};
}

TEST(Merge, StreamsManySectionsFromAnyAddress) {
  CORANK_SKIP_WITHOUT_GPU();
  // Several sections, long and short, for each block on an H200, and inputs that start at every offset within a line.
  constexpr int64_t kTiles = 132 * cuda::BulkMergeTuning<4>::kBlocks * 9;
  for (auto& [problem, expected] :
       {LongProblem<uint32_t>(KeyType::kUint32, kTiles * cuda::BulkMergeTuning<4>::kTile + 12345, 7001),
        LongProblem<int64_t>(KeyType::kInt64, kTiles * cuda::BulkMergeTuning<8>::kTile + 12345, 7002)}) {
    for (int shift : {0, 5}) {
      MergeProblem shifted = problem;
      shifted.shift = shift;
      SCOPED_TRACE(Describe(shifted) + ", shift " + std::to_string(shift));
      const MergeAnswer answer = RunMerge(shifted);
      EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
      ASSERT_TRUE(answer.keys == expected);
    }
  }
  uint64_t seed = 7000;
  for (int shift = 0; shift < 33; ++shift) {
    MergeProblem problem;
    problem.type = shift % 2 == 0 ? KeyType::kUint32 : KeyType::kUint64;
    problem.shift = shift;
    problem.keys = {SortedKeys(problem.type, problem.order, 9000 + shift, 0, ++seed),
                    SortedKeys(problem.type, problem.order, 7000 - shift, 0, ++seed)};
    ExpectMerged(problem);
    if (HasFailure()) return;
  }
}

TEST(Merge, TakesInputsOfVeryDifferentLengths) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 8000;
  for (const std::vector<int64_t>& counts :
       std::vector<std::vector<int64_t>>{{0, 1 << 20}, {1 << 20, 0}, {1, 1 << 20}, {1 << 20, 1}, {1, 1 << 20, 0, 7}}) {
    for (KeyType type : {KeyType::kInt32, KeyType::kUint64, KeyType::kFloat32}) {
      MergeProblem problem;
      problem.type = type;
      problem.shift = 1;
      for (int64_t count : counts) problem.keys.push_back(SortedKeys(type, problem.order, count, 0, ++seed));
      ExpectMerged(problem);
      AddValues(problem, 4, seed);
      ExpectMerged(problem);
      if (HasFailure()) return;
    }
  }
}

TEST(Merge, KeepsTheOrderOfInputsThroughLongRunsOfEqualKeys) {
  CORANK_SKIP_WITHOUT_GPU();
  for (int inputs : {2, 3, 8, 33}) {
    for (uint32_t distinct : {1u, 3u}) {
      MergeProblem problem;
      for (int i = 0; i < inputs; ++i) {
        std::vector<uint32_t> keys(static_cast<size_t>(20000 + i));
        for (size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<uint32_t>(j * distinct / keys.size());
        problem.keys.push_back(ToBytes(keys));
      }
      AddValues(problem, 8, 9000);
      ExpectMerged(problem);
      problem.values.clear();
      problem.value_bytes = 0;
      ExpectMerged(problem);
      if (HasFailure()) return;
    }
  }
}

TEST(Merge, KnowsTheGreatestKeyFromTheEndOfAnInput) {
  CORANK_SKIP_WITHOUT_GPU();
  // The greatest code closes ranges of a tile. Here it is a key as well, on every side of a tile's end.
  for (KeyType type : {KeyType::kUint32, KeyType::kUint64}) {
    for (int inputs : {2, 5}) {
      for (int64_t greatest : {1, 40, 20000}) {
        MergeProblem problem;
        problem.type = type;
        for (int i = 0; i < inputs; ++i) {
          Bytes keys = SortedKeys(type, problem.order, 30000 + 100 * i, 0, uint64_t(77 + i));
          std::fill(keys.end() - (i + greatest) * KeyBytes(type), keys.end(), uint8_t{0xFF});
          problem.keys.push_back(keys);
        }
        ExpectMerged(problem);
        AddValues(problem, 4, 78);
        ExpectMerged(problem);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Merge, KeepsTheBitsOfZerosAndNans) {
  CORANK_SKIP_WITHOUT_GPU();
  // A few tiles with zeros of both signs or NaNs among many without: equal keys must not change places.
  Random random(79);
  for (int inputs : {2, 3, 16}) {
    for (bool descending : {false, true}) {
      MergeProblem problem;
      problem.type = KeyType::kFloat32;
      problem.order = descending ? Order::kDescending : Order::kAscending;
      for (int i = 0; i < inputs; ++i) {
        std::vector<uint32_t> keys(static_cast<size_t>(60000 / inputs));
        for (uint32_t& key : keys) {
          key = static_cast<uint32_t>(random.Below(int64_t{1} << 32));
          if (random.OneIn(8)) key = random.OneIn(2) ? 0x80000000u : 0;
          if (random.OneIn(16)) key = 0x7FC00000u | key % 1000;
        }
        const Bytes bytes = ToBytes(keys);
        problem.keys.push_back(Gather(bytes, 4, StableOrder(problem.type, problem.order, bytes)));
      }
      ExpectMerged(problem);
      AddValues(problem, 8, 80);
      ExpectMerged(problem);
      if (HasFailure()) return;
    }
  }
}

TEST(Merge, KeepsOneInputBehindTheOther) {
  CORANK_SKIP_WITHOUT_GPU();
  const int64_t count = 40000;
  std::vector<uint32_t> low(count), high(count);
  for (int64_t i = 0; i < count; ++i) {
    low[size_t(i)] = uint32_t(i);
    high[size_t(i)] = uint32_t(count + i);
  }
  for (bool swapped : {false, true}) {
    MergeProblem problem;
    problem.keys = {ToBytes(swapped ? high : low), ToBytes(swapped ? low : high)};
    AddValues(problem, 8, 5);
    ExpectMerged(problem);
  }
}

TEST(Merge, CarriesValuesOfEveryWidth) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 2000;
  for (int value_bytes : {0, 1, 3, 4, 8, 16, 256}) {
    for (KeyType type : {KeyType::kUint8, KeyType::kInt16, KeyType::kFloat32, KeyType::kUint64}) {
      for (int inputs : {1, 2, 3, 5, 17}) {
        MergeProblem problem;
        problem.type = type;
        for (int i = 0; i < inputs; ++i) {
          problem.keys.push_back(SortedKeys(type, problem.order, i == 1 ? 0 : 700 + 100 * i, 6, ++seed));
        }
        AddValues(problem, value_bytes, seed * 100);
        problem.shift = inputs % 2;
        ExpectMerged(problem);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Merge, TakesManyTilesAndManyInputs) {
  CORANK_SKIP_WITHOUT_GPU();
  MergeProblem large;
  large.type = KeyType::kFloat32;
  for (int64_t count : {400000, 1000, 250000}) {
    large.keys.push_back(SortedKeys(large.type, large.order, count, 9, uint64_t(count)));
  }
  AddValues(large, 4, 3000);
  ExpectMerged(large);

  for (int inputs : {2 * cuda::MergeGroup::kMaxPairs + 1, kMaxMergeInputs - 1, kMaxMergeInputs}) {
    MergeProblem many;
    many.type = KeyType::kInt16;
    for (int i = 0; i < inputs; ++i) {
      many.keys.push_back(SortedKeys(many.type, many.order, i % 3 == 1 ? 0 : i % 50, 6, uint64_t(i)));
    }
    AddValues(many, 6, 4000);
    ExpectMerged(many);
  }
}

TEST(Merge, ReportsTheFirstKeyOutOfOrderOfTheFirstInputThatHasOne) {
  CORANK_SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    MergeProblem problem;
    problem.type = kAllKeyTypes[random.Below(12)];
    problem.order = kOrders[random.Below(2)];
    const int inputs = static_cast<int>(1 + random.Below(seed % 10 == 0 ? 60 : 6));
    const int key_bytes = KeyBytes(problem.type);
    for (int i = 0; i < inputs; ++i) {
      problem.keys.push_back(SortedKeys(problem.type, problem.order, random.Below(30000), 0, seed * 100 + uint64_t(i)));
    }
    // Swaps one or two keys, or randomises a whole input.
    for (int64_t faults = 1 + random.Below(2); faults > 0; --faults) {
      Bytes& keys = problem.keys[size_t(random.Below(inputs))];
      const auto count = static_cast<int64_t>(keys.size()) / key_bytes;
      if (count < 2) continue;
      if (random.OneIn(4)) {
        keys = MakeKeys(problem.type, Distribution::kUniform, count, seed);
      } else {
        const int64_t x = random.Below(count), y = random.Below(count);
        std::swap_ranges(keys.begin() + x * key_bytes, keys.begin() + (x + 1) * key_bytes,
                         keys.begin() + y * key_bytes);
      }
    }
    OperatorReport expected;
    for (int i = 0; i < inputs && expected.fault == OperatorReport::Fault::kNone; ++i) {
      if (const auto index = FirstUnsorted(problem.type, problem.order, problem.keys[size_t(i)])) {
        expected.fault = OperatorReport::Fault::kUnsorted;
        expected.input = i;
        expected.index = *index;
      }
    }
    for (MergeAlgorithm algorithm : kAlgorithms) {
      if (!RunsNextCase()) continue;
      problem.algorithm = algorithm;
      SCOPED_TRACE(Describe(problem) + ", seed " + std::to_string(seed));
      const OperatorReport report = RunMerge(problem).report;
      EXPECT_EQ(report.fault, expected.fault);
      EXPECT_EQ(report.input, expected.input);
      EXPECT_EQ(report.index, expected.index);
    }
  }
}

TEST(Merge, NeedsExactlyTheWorkspaceThatItAsksFor) {
  CORANK_SKIP_WITHOUT_GPU();
  // RunMerge gives every merge exactly the bytes it requests, between guards. This test uses no byte less, and checks
  // that they are hardly more than copies.
  for (int value_bytes : {0, 4, 24}) {
    for (int32_t input_count : {1, 2, 8, cuda::kMaxWays, cuda::kMaxWays + 1}) {
      std::vector<MergeInput> inputs(static_cast<size_t>(input_count));
      for (MergeInput& input : inputs) input.count = 4'000'000 / input_count;
      MergeArgs args;
      args.key_type = KeyType::kUint64;
      args.inputs = inputs.data();
      args.input_count = input_count;
      args.value_bytes = value_bytes;
      const int64_t bytes = cuda::MergeWorkspaceBytes(args);
      const bool by_index = value_bytes == 24 && input_count > 1;
      const int64_t copies = input_count <= cuda::kMaxWays ? 0 : 8 + (value_bytes == 0 ? 0 : 4);
      const int64_t of_input = 8 + value_bytes;
      EXPECT_LE(bytes, args.TotalCount() * (copies + (by_index ? 4 : 0)) + args.TotalCount() * of_input / 100 + 65536)
          << input_count << " inputs, values of " << value_bytes;
      const DeviceBuffer workspace(bytes), report(int64_t{sizeof(OperatorReport)});
      EXPECT_EQ(cuda::Merge(args, workspace.data(), bytes - 1, static_cast<OperatorReport*>(report.data()), nullptr),
                cudaErrorInvalidValue);
    }
  }
}

TEST(Merge, PermutesInputsThatAreNotSortedAndNotChecked) {
  CORANK_SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    MergeProblem problem;
    problem.type = seed % 2 == 0 ? KeyType::kInt64 : KeyType::kFloat16;
    problem.check_sorted = false;
    Random random(seed);
    const int inputs = static_cast<int>(2 + random.Below(seed % 5 == 0 ? 60 : 4));
    for (int i = 0; i < inputs; ++i) {
      problem.keys.push_back(
          MakeKeys(problem.type, Distribution::kUniform, random.Below(40000), seed * 100 + uint64_t(i)));
    }
    problem.value_bytes = 4;
    uint32_t number = 0;
    for (const Bytes& keys : problem.keys) {
      std::vector<uint32_t> numbers(keys.size() / size_t(KeyBytes(problem.type)));
      for (uint32_t& value : numbers) value = number++;
      problem.values.push_back(ToBytes(numbers));
    }
    const Bytes all = Concatenate(problem.keys);
    for (MergeAlgorithm algorithm : kAlgorithms) {
      problem.algorithm = algorithm;
      SCOPED_TRACE(Describe(problem) + ", seed " + std::to_string(seed));
      const MergeAnswer answer = RunMerge(problem);
      EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
      std::vector<uint32_t> order = FromBytes<uint32_t>(answer.values);
      EXPECT_TRUE(answer.keys == Gather(all, KeyBytes(problem.type), std::vector<int64_t>(order.begin(), order.end())))
          << "a key lost its value";
      std::sort(order.begin(), order.end());
      bool is_permutation = order.size() == number;
      for (uint32_t i = 0; is_permutation && i < number; ++i) is_permutation = order[i] == i;
      EXPECT_TRUE(is_permutation);
    }
  }
}

TEST(Merge, PermutesKeysAloneThatAreNotSorted) {
  CORANK_SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    MergeProblem problem;
    problem.type = seed % 2 == 0 ? KeyType::kUint32 : KeyType::kInt64;
    problem.check_sorted = false;
    Random random(seed);
    const int key_bytes = KeyBytes(problem.type);
    for (int i = 0; i < 2; ++i) {
      const int64_t count = 2 + random.Below(200000);
      Bytes keys = seed % 4 < 2 ? MakeKeys(problem.type, Distribution::kUniform, count, seed * 100 + uint64_t(i))
                                : SortedKeys(problem.type, problem.order, count, 0, seed * 100 + uint64_t(i));
      const int64_t x = random.Below(count), y = random.Below(count);
      std::swap_ranges(keys.begin() + x * key_bytes, keys.begin() + (x + 1) * key_bytes, keys.begin() + y * key_bytes);
      problem.keys.push_back(keys);
    }
    const auto sorted = [&](const Bytes& keys) {
      return Gather(keys, key_bytes, StableOrder(problem.type, problem.order, keys));
    };
    SCOPED_TRACE(Describe(problem) + ", seed " + std::to_string(seed));
    EXPECT_TRUE(sorted(RunMerge(problem).keys) == sorted(Concatenate(problem.keys)));
  }
}

}  // namespace
}  // namespace corank::testing
