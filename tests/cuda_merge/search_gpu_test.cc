// The search kernel on a GPU, compared with plain std:: oracles.
#include <gtest/gtest.h>

#include <string>

#include "kernels/cuda/search/search_tuning.h"
#include "tests/cuda_merge/merge_runner.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using cuda::SearchTuning;

TEST(Search, FindsBothBoundsOfEveryNeedle) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 0;
  for (KeyType type : kAllKeyTypes) {
    for (Order order : {Order::kAscending, Order::kDescending}) {
      for (int64_t count :
           {0, 1, 2, SearchTuning::kPivots - 1, SearchTuning::kPivots, SearchTuning::kPivots + 1, 50000}) {
        for (int64_t needles : {int64_t{0}, int64_t{1}, SearchTuning::kNeedlesPerBlock + 1}) {
          const Distribution distribution = kAllDistributions[++seed % 10];
          SearchProblem problem;
          problem.type = type;
          problem.order = order;
          problem.haystack = SortedKeys(type, order, count, static_cast<int>(seed % 10), seed);
          // Needles of the same distribution: many are in the haystack.
          problem.needles = MakeKeys(type, distribution, needles, seed + 1);
          for (SearchBound bound : {SearchBound::kLower, SearchBound::kUpper}) {
            problem.bound = bound;
            SCOPED_TRACE(std::string(KeyTypeName(type)) + " " + DistributionName(distribution) + ", count " +
                         std::to_string(count) + ", needles " + std::to_string(needles) + ", seed " +
                         std::to_string(seed));
            const SearchAnswer answer = RunSearch(problem);
            EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
            EXPECT_TRUE(answer.positions ==
                        IndexArray(Bounds(type, order, problem.haystack, problem.needles, bound), IndexBytes(count)));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Search, ReportsTheFirstKeyOfTheHaystackOutOfOrder) {
  CORANK_SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    SearchProblem problem;
    problem.haystack = SortedKeys(problem.type, problem.order, 20000, 0, seed);
    auto keys = FromBytes<uint32_t>(problem.haystack);
    std::swap(keys[size_t(random.Below(20000))], keys[size_t(random.Below(20000))]);
    problem.haystack = ToBytes(keys);
    problem.needles = MakeKeys(problem.type, Distribution::kUniform, 100, seed);
    const OperatorReport report = RunSearch(problem).report;
    const auto expected = FirstUnsorted(problem.type, problem.order, problem.haystack);
    EXPECT_EQ(report.fault, expected ? OperatorReport::Fault::kUnsorted : OperatorReport::Fault::kNone) << seed;
    EXPECT_EQ(report.input, 0);
    EXPECT_EQ(report.index, expected.value_or(-1)) << seed;
    problem.check_sorted = false;
    EXPECT_EQ(RunSearch(problem).report.fault, OperatorReport::Fault::kNone) << seed;
  }
}

}  // namespace
}  // namespace corank::testing
