// Merges of float keys on the GPU. Two inputs merge as integers, except in tiles with numbers of both signs or NaNs.
// The tests therefore put ends of negative numbers, zeros of both signs, positive numbers and NaNs everywhere in a
// tile.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cuda/merge/merge_tuning.h"
#include "tests/cuda_merge/merge_runner.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

enum class Kind { kNegative, kZero, kPositive, kNan };

/// Signs of zeros and NaNs of an input.
enum class Signs { kMinus, kPlus, kBoth };

template <typename Bits>
struct Format {
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  static constexpr Bits kInfinity = sizeof(Bits) == 4 ? Bits{0x7F800000u} : static_cast<Bits>(0x7FF0000000000000u);
};

/// A key of a kind. `few`: one of a few values.
template <typename Bits>
Bits MakeKey(Kind kind, Signs signs, bool few, Random& random) {
  using F = Format<Bits>;
  const bool minus = signs == Signs::kMinus || (signs == Signs::kBoth && random.OneIn(2));
  const Bits sign = minus ? F::kSign : Bits{0};
  const auto any = static_cast<Bits>(random.Below(few ? 7 : int64_t{1} << 30));
  switch (kind) {
    case Kind::kZero:
      return sign;
    case Kind::kNan:
      return random.OneIn(5) ? static_cast<Bits>(sign | ~F::kSign)
                             : static_cast<Bits>(sign | (F::kInfinity + 1 + any % 1000));
    case Kind::kNegative:
      return F::kSign | (few && any == 0 ? F::kInfinity : Bits{1} + any);
    default:
      return few && any == 0 ? F::kInfinity : Bits{1} + any;
  }
}

int64_t RandomCount(int64_t tile, Random& random) {
  switch (random.Below(6)) {
    case 0:
      return 0;
    case 1:
      return 1 + random.Below(3);
    case 2:
      return random.Below(40);
    case 3:
      return random.Below(2 * tile);
    default:
      return tile * random.Below(4) + random.Below(80) - std::min(tile, int64_t{40});
  }
}

template <typename Bits>
MergeProblem RandomProblem(KeyType type, int64_t tile, uint64_t seed) {
  Random random(seed);
  MergeProblem problem;
  problem.type = type;
  problem.order = random.OneIn(2) ? Order::kAscending : Order::kDescending;
  problem.shift = static_cast<int>(random.Below(9));
  const bool few = random.OneIn(2);
  for (int input = 0; input < 2; ++input) {
    const auto signs = static_cast<Signs>(random.Below(3));
    std::vector<Bits> keys;
    for (Kind kind : {Kind::kNegative, Kind::kZero, Kind::kPositive, Kind::kNan}) {
      if (random.OneIn(3)) continue;
      for (int64_t i = std::max(int64_t{0}, RandomCount(tile, random)); i > 0; --i) {
        keys.push_back(MakeKey<Bits>(kind, signs, few, random));
      }
    }
    const Bytes bytes = ToBytes(keys);
    problem.keys.push_back(Gather(bytes, sizeof(Bits), StableOrder(type, problem.order, bytes)));
  }
  if (random.OneIn(3)) {
    problem.value_bytes = 4;
    for (const Bytes& keys : problem.keys) {
      problem.values.push_back(MakeBytes(static_cast<int64_t>(keys.size() / sizeof(Bits)) * 4, seed));
    }
  }
  return problem;
}

/// Replaces some key by another one; the input may stay sorted or not.
template <typename Bits>
void Damage(MergeProblem& problem, uint64_t seed) {
  Random random(seed);
  Bytes& bytes = problem.keys[static_cast<size_t>(random.Below(2))];
  std::vector<Bits> keys = FromBytes<Bits>(bytes);
  if (keys.empty()) return;
  const auto kind = static_cast<Kind>(random.Below(4));
  keys[static_cast<size_t>(random.Below(static_cast<int64_t>(keys.size())))] =
      MakeKey<Bits>(kind, Signs::kBoth, random.OneIn(2), random);
  bytes = ToBytes(keys);
}

std::string Describe(const MergeProblem& problem, uint64_t seed) {
  return std::string(KeyTypeName(problem.type)) + (problem.order == Order::kAscending ? " ascending" : " descending") +
         ", values of " + std::to_string(problem.value_bytes) + ", seed " + std::to_string(seed);
}

Bytes Concatenate(const std::vector<Bytes>& parts) {
  Bytes whole;
  for (const Bytes& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

void ExpectMerged(const MergeProblem& problem) {
  const std::vector<int64_t> positions = MergeOrder(problem.type, problem.order, problem.keys);
  const MergeAnswer answer = RunMerge(problem);
  EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
  EXPECT_TRUE(answer.keys == Gather(Concatenate(problem.keys), KeyBytes(problem.type), positions)) << "keys differ";
  if (problem.value_bytes != 0) {
    EXPECT_TRUE(answer.values == Gather(Concatenate(problem.values), problem.value_bytes, positions))
        << "values differ";
  }
}

template <typename Bits>
void ExpectStable(KeyType type, int64_t tile) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    if (!RunsNextCase()) continue;
    const MergeProblem problem = RandomProblem<Bits>(type, tile, seed);
    SCOPED_TRACE(Describe(problem, seed));
    ExpectMerged(problem);
    if (::testing::Test::HasFailure()) return;
  }
}

template <typename Bits>
void ExpectReported(KeyType type, int64_t tile) {
  for (uint64_t seed = 1001; seed <= 1300; ++seed) {
    if (!RunsNextCase()) continue;
    MergeProblem problem = RandomProblem<Bits>(type, tile, seed);
    Damage<Bits>(problem, seed);
    SCOPED_TRACE(Describe(problem, seed));
    OperatorReport expected;
    for (int i = 0; i < 2 && expected.fault == OperatorReport::Fault::kNone; ++i) {
      if (const auto index = FirstUnsorted(type, problem.order, problem.keys[static_cast<size_t>(i)])) {
        expected.fault = OperatorReport::Fault::kUnsorted;
        expected.input = i;
        expected.index = *index;
      }
    }
    const OperatorReport report = RunMerge(problem).report;
    EXPECT_EQ(report.fault, expected.fault);
    EXPECT_EQ(report.input, expected.input);
    EXPECT_EQ(report.index, expected.index);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(MergeFloats, AreStableWhereSignsChangeAndNansBegin) {
  CORANK_SKIP_WITHOUT_GPU();
  ExpectStable<uint32_t>(KeyType::kFloat32, cuda::BulkMergeTuning<4>::kTile);
  ExpectStable<uint64_t>(KeyType::kFloat64, cuda::BulkMergeTuning<8>::kTile);
}

TEST(MergeFloats, ReportTheFirstKeyOutOfOrderAmongSignsAndNans) {
  CORANK_SKIP_WITHOUT_GPU();
  ExpectReported<uint32_t>(KeyType::kFloat32, cuda::BulkMergeTuning<4>::kTile);
  ExpectReported<uint64_t>(KeyType::kFloat64, cuda::BulkMergeTuning<8>::kTile);
}

/// Merges of more than two inputs compare ranks; zeros and NaNs get their bits afterwards. Cases: many of them, few,
/// nothing else, and none in one input.
TEST(MergeFloats, OfManyInputsKeepTheirBits) {
  CORANK_SKIP_WITHOUT_GPU();
  for (KeyType type : {KeyType::kFloat16, KeyType::kBfloat16, KeyType::kFloat32, KeyType::kFloat64}) {
    for (Order order : {Order::kAscending, Order::kDescending}) {
      for (int inputs : {3, 4, 31, 32, 45}) {
        for (int value_bytes : {0, 4, 8}) {
          if (!RunsNextCase()) continue;
          const uint64_t seed = 100 * static_cast<uint64_t>(inputs) + static_cast<uint64_t>(value_bytes);
          Random random(seed);
          MergeProblem problem;
          problem.type = type;
          problem.order = order;
          problem.value_bytes = value_bytes;
          const int64_t of_specials = random.OneIn(3) ? 1 : 3;
          for (int i = 0; i < inputs; ++i) {
            const int64_t count = random.OneIn(5) ? random.Below(3) : random.Below(9000);
            const auto distribution = random.OneIn(of_specials) ? Distribution::kSpecialFloats : Distribution::kUniform;
            const Bytes keys = MakeKeys(type, distribution, count, seed + static_cast<uint64_t>(i));
            problem.keys.push_back(Gather(keys, KeyBytes(type), StableOrder(type, order, keys)));
            problem.values.push_back(MakeBytes(count * value_bytes, seed + static_cast<uint64_t>(i)));
          }
          SCOPED_TRACE(Describe(problem, seed));
          ExpectMerged(problem);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(MergeFloats, OfNothingButZerosOrNans) {
  CORANK_SKIP_WITHOUT_GPU();
  using F = Format<uint32_t>;
  for (Order order : {Order::kAscending, Order::kDescending}) {
    for (uint32_t one : {uint32_t{0}, F::kInfinity + 1}) {
      MergeProblem problem;
      problem.type = KeyType::kFloat32;
      problem.order = order;
      for (int i = 0; i < 5; ++i) {
        std::vector<uint32_t> keys(static_cast<size_t>(2000 * i));
        for (size_t k = 0; k < keys.size(); ++k) keys[k] = one | (k % 3 == 0 ? F::kSign : 0);
        problem.keys.push_back(ToBytes(keys));
      }
      SCOPED_TRACE(Describe(problem, one));
      ExpectMerged(problem);
    }
  }
}

/// Descending numbers of one sign. In each of some tiles, one at a time, a NaN of sign 1 comes first: by its bits it
/// seems to come after the numbers.
template <typename Bits>
void ExpectNanReported(KeyType type, int64_t tile) {
  using F = Format<Bits>;
  for (Bits sign : {Bits{0}, F::kSign}) {
    for (int64_t index = tile; index <= 4 * tile; index += tile) {
      MergeProblem problem;
      problem.type = type;
      problem.order = Order::kDescending;
      std::vector<Bits> keys(static_cast<size_t>(5 * tile));
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = sign | static_cast<Bits>(sign == 0 ? keys.size() - i : i + 1);
      keys[static_cast<size_t>(index)] = F::kSign | (F::kInfinity + 1);
      problem.keys = {ToBytes(keys), Bytes()};
      for (int value_bytes : {0, 4}) {
        if (!RunsNextCase()) continue;
        problem.value_bytes = value_bytes;
        problem.values = {MakeBytes(5 * tile * value_bytes, 1), Bytes()};
        SCOPED_TRACE(Describe(problem, 0) + ", index " + std::to_string(index));
        const OperatorReport report = RunMerge(problem).report;
        EXPECT_EQ(report.fault, OperatorReport::Fault::kUnsorted);
        EXPECT_EQ(report.input, 0);
        EXPECT_EQ(report.index, index);
      }
    }
  }
}

TEST(MergeFloats, ReportANanAtTheBeginningOfATile) {
  CORANK_SKIP_WITHOUT_GPU();
  for (int64_t tile : {cuda::BulkMergeTuning<4>::kTile, cuda::PathMergeTuning<4>::kTile}) {
    ExpectNanReported<uint32_t>(KeyType::kFloat32, tile);
  }
  for (int64_t tile : {cuda::BulkMergeTuning<8>::kTile, cuda::PathMergeTuning<8>::kTile}) {
    ExpectNanReported<uint64_t>(KeyType::kFloat64, tile);
  }
}

}  // namespace
}  // namespace corank::testing
