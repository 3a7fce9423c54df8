// The small sort's plans and samples, without a GPU.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/sort/small_runs.h"
#include "kernels/cuda/sort/small_sort_tuning.h"

namespace corank::cuda {
namespace {

constexpr SmallForm kForms[] = {SmallForm::kRank32, SmallForm::kRank64, SmallForm::kRankIndex32,
                                SmallForm::kRankIndex64};

/// Counts at which plans may change, and their neighbours.
std::vector<int64_t> CountsAroundPlans(SmallForm form) {
  std::vector<int64_t> counts = {1, 2, 3};
  for (int64_t count = 256; count <= SmallSortLimit(form); count += 128) {
    counts.insert(counts.end(), {count - 1, count, count + 1});
  }
  while (counts.back() > SmallSortLimit(form)) counts.pop_back();
  return counts;
}

TEST(SmallPlan, FitsItsKernels) {
  constexpr int kGpus[] = {99 * 1024, 227 * 1024};  // shared memory of a block on sm_86 and others, and on sm_90
  for (const SmallForm form : kForms) {
    const int element_bytes = form == SmallForm::kRank32 ? 4 : form == SmallForm::kRankIndex64 ? 12 : 8;
    for (const int shared_bytes : kGpus) {
      const bool has_clusters = shared_bytes > kGpus[0];
      for (const int64_t count : CountsAroundPlans(form)) {
        const SmallPlan plan = SmallPlanFor(count, form, has_clusters, shared_bytes);
        const int64_t runs = (count + plan.run - 1) / plan.run;
        SCOPED_TRACE(count);
        ASSERT_EQ(plan.run & (plan.run - 1), 0);
        switch (plan.shape) {
          case SmallShape::kOneBlock:
            ASSERT_EQ(runs, 1);
            ASSERT_LE(plan.run, 1024 * plan.items);
            break;
          case SmallShape::kOneCluster:
            ASSERT_TRUE(has_clusters);
            ASSERT_GE(runs, 2);
            ASSERT_LE(count, SmallClusterCount(plan.items));
            ASSERT_TRUE(plan.items == kSmallClusterItems[0] ||
                        (plan.items == kSmallClusterItems[1] && count > SmallClusterCount(kSmallClusterItems[0])));
            ASSERT_EQ(plan.run, kSmallClusterThreads * plan.items);
            break;
          case SmallShape::kTwoLaunches: {
            const int64_t threads = kSmallSlack * plan.run / plan.items;  // of the second launch
            ASSERT_GE(runs, 2);
            ASSERT_LE(threads, 1024);
            ASSERT_LE(runs, threads) << "a thread cuts a run";
            ASSERT_LE(runs, kSmallMostRuns);
            ASSERT_LE(kSmallSlack * plan.run * element_bytes, shared_bytes - 5 * 1024) << "beside the static part";
            ASSERT_LE(runs * kSmallSamples, 1 << 16);
            ASSERT_TRUE(plan.items == 4 || plan.items == 8);
          }
        }
      }
    }
  }
}

TEST(SmallRuns, TakesOneSampleOfEachWindow) {
  for (const int tile : {256, 512, 1024, 4096}) {
    SmallRuns<uint32_t> runs{};
    runs.tile = tile;
    runs.run_count = 300;
    runs.count = 299 * tile + 5;
    int64_t offsets = 0;
    for (int run = 0; run < runs.run_count; ++run) {
      for (int sample = 0; sample < kSmallSamples; ++sample) {
        ASSERT_EQ(runs.SamplePosition(run, sample) / runs.Window(), sample);
      }
      offsets += runs.SampleOffset(run);
    }
    EXPECT_EQ(runs.RunLength(298), tile);
    EXPECT_EQ(runs.RunLength(299), 5);
    // Similar runs are sampled all over their windows.
    const double mean = static_cast<double>(offsets) / runs.run_count / runs.Window();
    EXPECT_GT(mean, 0.3);
    EXPECT_LT(mean, 0.6);
  }
}

}  // namespace
}  // namespace corank::cuda
