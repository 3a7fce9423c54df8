// The overlap check of a Move's destinations, by bits and by a sort, on a GPU, compared with a sort on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/overlap_bits.h"
#include "kernels/cuda/intervals/overlap_check.h"
#include "tests/cuda_intervals/placement.h"
#include "tests/cuda_intervals/run_on_device.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

using Tuning = cuda::OverlapTuning;
constexpr int64_t kWord = 64;
constexpr int64_t kWindow = Tuning::kWindow * kWord;  // elements

struct Destinations {
  Counts counts, offsets;
  int64_t elements = 0;
};

Destinations Scatter(Counts counts, uint64_t seed) {
  Random random(seed);
  Destinations made;
  made.counts = std::move(counts);
  made.elements =
      Place(made.counts, Shuffled(made.counts.size(), random), random.Below(kWord), 3, random, made.offsets);
  return made;
}

OperatorReport Check(const Destinations& destinations, int64_t elements) {
  const DeviceBuffer d_counts(ToBytes(destinations.counts)), d_offsets(ToBytes(destinations.offsets));
  MoveArgs args;
  args.destination_offsets = static_cast<const int64_t*>(d_offsets.data());
  args.counts = static_cast<const int64_t*>(d_counts.data());
  args.interval_count = static_cast<int64_t>(destinations.counts.size());
  args.total = std::accumulate(destinations.counts.begin(), destinations.counts.end(), int64_t{0});
  args.destination_count = elements;
  const int64_t bytes = cuda::OverlapCheckWorkspaceBytes(args);
  return RunOnDevice(bytes, [&](void* d_workspace, OperatorReport* d_report, cudaStream_t stream) {
    return cuda::CheckOverlap(args, d_workspace, bytes, d_report, stream);
  });
}

bool TakesBits(const Destinations& destinations, int64_t elements) {
  MoveArgs args;
  args.interval_count = static_cast<int64_t>(destinations.counts.size());
  args.destination_count = elements;
  return cuda::TakesOverlapBits(args);
}

void ExpectFirstOverlap(const Destinations& destinations, int64_t elements) {
  if (!RunsNextCase()) return;
  const auto expected = FirstOverlap(destinations.offsets, destinations.counts);
  const OperatorReport report = Check(destinations, elements);
  EXPECT_EQ(report.fault, expected ? OperatorReport::Fault::kOverlapping : OperatorReport::Fault::kNone);
  EXPECT_EQ(report.other, expected ? expected->first : -1);
  EXPECT_EQ(report.index, expected ? expected->second : -1);
}

/// Checks by bits and, with a destination so large that its elements are far apart, by a sort.
void ExpectFirstOverlap(const Destinations& destinations) {
  ASSERT_TRUE(TakesBits(destinations, destinations.elements));
  ExpectFirstOverlap(destinations, destinations.elements);
  const int64_t far = (static_cast<int64_t>(destinations.counts.size()) + 1) * Tuning::kMostElements;
  ASSERT_FALSE(TakesBits(destinations, far));
  ExpectFirstOverlap(destinations, far);
}

/// Lengths around those at which threads, warps or the list take an interval's words, and around whole words.
Counts ManyLengths(size_t count, uint64_t seed) {
  Random random(seed);
  constexpr int64_t kOwn = Tuning::kOwnWords * kWord;
  Counts counts(count);
  for (int64_t& length : counts) length = random.OneIn(3) ? 0 : random.Below(20);
  for (const int64_t about : {kWord, 2 * kWord, kOwn, kOwn + kWord, kOwn + 2 * kWord, 40 * kWord, kWindow,
                              kWindow + kWord, kWindow + 2 * kWord, 2 * kWindow + kWord, 3 * kWindow}) {
    for (int64_t length = about - 2; length <= about + 2; ++length) {
      counts[static_cast<size_t>(random.Below(int64_t(count)))] = length;
    }
  }
  return counts;
}

/// Counts of all shapes, for many numbers of intervals.
std::vector<Counts> ManyCounts() {
  constexpr int64_t kTile = int64_t{Tuning::kThreads} * Tuning::kItems, kLeast = Tuning::kLeastIntervals;
  std::vector<Counts> all;
  for (const int64_t count : {kLeast, kLeast + 1, 17 * kTile - 1, 17 * kTile + 1, (Tuning::kBlocks + 3) * kTile + 5}) {
    all.emplace_back(static_cast<size_t>(count), 1);
    all.push_back(ManyLengths(static_cast<size_t>(count), static_cast<uint64_t>(count)));
  }
  all.emplace_back(static_cast<size_t>(kLeast), 0);
  all.emplace_back(static_cast<size_t>(kLeast), 2 * kWord + 1);
  Counts giant(static_cast<size_t>(kLeast), 0);
  giant[kLeast / 2] = (Tuning::kMostElements - 8) * kLeast;  // leaves some elements for gaps
  giant[kLeast - 1] = 1;
  all.push_back(std::move(giant));
  return all;
}

TEST(Overlap, IsNoneWhereIntervalsTouch) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 0;
  for (const Counts& counts : ManyCounts()) {
    const Destinations destinations = Scatter(counts, ++seed);
    SCOPED_TRACE(std::to_string(counts.size()) + " intervals, " + std::to_string(destinations.elements) + " elements");
    ExpectFirstOverlap(destinations);
    if (HasFailure()) return;
  }
}

TEST(Overlap, OfOneElementIsFound) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 100;
  for (const Counts& counts : ManyCounts()) {
    for (const bool is_before : {false, true}) {
      Destinations destinations = Scatter(counts, ++seed);
      // Start at an interval at which another one ends, but one element earlier.
      std::vector<size_t> order = InOrder(counts.size());
      order.erase(std::remove_if(order.begin(), order.end(), [&](size_t i) { return counts[i] == 0; }), order.end());
      std::sort(order.begin(), order.end(),
                [&](size_t a, size_t b) { return destinations.offsets[a] < destinations.offsets[b]; });
      std::vector<size_t> second;
      for (size_t i = 1; i < order.size(); ++i) {
        const size_t before = order[i - 1], at = order[i];
        if (destinations.offsets[before] + counts[before] == destinations.offsets[at]) second.push_back(at);
      }
      if (second.empty()) continue;
      --destinations.offsets[is_before ? second.front() : second[second.size() / 2]];
      SCOPED_TRACE(std::to_string(counts.size()) + " intervals, " + std::to_string(destinations.elements) +
                   " elements, seed " + std::to_string(seed));
      ASSERT_TRUE(FirstOverlap(destinations.offsets, counts).has_value());
      ExpectFirstOverlap(destinations);
      if (HasFailure()) return;
    }
  }
}

TEST(Overlap, NamesTheFirstPairOfMany) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 200;
  for (const Counts& counts : ManyCounts()) {
    for (const int64_t moved : {int64_t{1}, int64_t{2}, int64_t{50}, static_cast<int64_t>(counts.size())}) {
      Destinations destinations = Scatter(counts, ++seed);
      Random random(seed);
      for (int64_t k = 0; k < moved; ++k) {
        const auto i = static_cast<size_t>(random.Below(int64_t(counts.size())));
        const auto other = static_cast<size_t>(random.Below(int64_t(counts.size())));
        // Move it to any place, or to the start of another interval.
        const int64_t to = random.OneIn(2) ? random.Below(destinations.elements) : destinations.offsets[other];
        destinations.offsets[i] = std::min(to, destinations.elements - counts[i]);
      }
      SCOPED_TRACE(std::to_string(counts.size()) + " intervals, " + std::to_string(destinations.elements) +
                   " elements, seed " + std::to_string(seed));
      ExpectFirstOverlap(destinations);
      if (HasFailure()) return;
    }
  }
}

TEST(Overlap, OfAllWithAllNamesTheFirstTwo) {
  CORANK_SKIP_WITHOUT_GPU();
  for (const int64_t length : {int64_t{1}, kWord, 3 * kWord + 1, kWindow + 3 * kWord}) {
    Destinations destinations;
    destinations.counts.assign(static_cast<size_t>(Tuning::kLeastIntervals), length);
    destinations.counts[0] = destinations.counts[2] = 0;
    destinations.offsets.assign(destinations.counts.size(), 7);
    destinations.elements = 7 + length;
    SCOPED_TRACE(length);
    ExpectFirstOverlap(destinations);
  }
}

TEST(Overlap, TakesBitsForManyIntervalsThatAreNotFarApart) {
  constexpr int64_t kLeast = Tuning::kLeastIntervals, kMost = Tuning::kMostElements;
  Destinations destinations;
  destinations.counts.resize(static_cast<size_t>(kLeast));
  EXPECT_TRUE(TakesBits(destinations, 1));
  EXPECT_TRUE(TakesBits(destinations, kLeast * kMost));
  EXPECT_FALSE(TakesBits(destinations, (kLeast + 1) * kMost));
  destinations.counts.pop_back();
  EXPECT_FALSE(TakesBits(destinations, 1));
}

}  // namespace
}  // namespace corank::testing
