// Move of many short intervals, which goes through bins, on a GPU, compared with a loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/intervals.h"
#include "tests/cuda_intervals/placement.h"
#include "tests/cuda_intervals/run_on_device.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using Tuning = cuda::BinTuning;

struct Intervals {
  Counts counts, sources, destinations;
  int64_t source_elements = 0, destination_elements = 0;
};

/// Scattered intervals that do not overlap.
Intervals Scatter(Counts counts, uint64_t seed, int64_t gaps, int64_t first = 0) {
  Random random(seed);
  Intervals intervals;
  intervals.source_elements = Place(counts, Shuffled(counts.size(), random), 0, 0, random, intervals.sources);
  intervals.destination_elements =
      Place(counts, Shuffled(counts.size(), random), first, gaps, random, intervals.destinations);
  intervals.counts = std::move(counts);
  return intervals;
}

/// Counts from `next` until their sum is at least `total`.
Counts Until(int64_t total, const std::function<int64_t()>& next) {
  Counts counts;
  for (int64_t sum = 0; sum < total; sum += counts.back()) counts.push_back(next());
  return counts;
}

struct Arrays {
  DeviceBuffer source, destination, sources, destinations, counts;
  MoveArgs args;

  Arrays(const Intervals& intervals, int element_bytes, const Bytes& from, const Bytes& to, bool check)
      : source(from, cuda::UnitBytes(element_bytes)),
        destination(to, cuda::UnitBytes(element_bytes)),
        sources(ToBytes(intervals.sources)),
        destinations(ToBytes(intervals.destinations)),
        counts(ToBytes(intervals.counts)) {
    args.source = source.data();
    args.destination = destination.data();
    args.element_bytes = element_bytes;
    args.source_offsets = static_cast<const int64_t*>(sources.data());
    args.destination_offsets = static_cast<const int64_t*>(destinations.data());
    args.counts = static_cast<const int64_t*>(counts.data());
    args.interval_count = static_cast<int64_t>(intervals.counts.size());
    args.total = std::accumulate(intervals.counts.begin(), intervals.counts.end(), int64_t{0});
    args.check_overlap = check;
    args.destination_count = static_cast<int64_t>(to.size()) / element_bytes;
  }

  OperatorReport Run() const {
    const int64_t bytes = cuda::MoveWorkspaceBytes(args);
    return RunOnDevice(bytes, [&](void* d_workspace, OperatorReport* d_report, cudaStream_t stream) {
      return cuda::Move(args, d_workspace, bytes, d_report, stream);
    });
  }
};

/// `by_bins`: whether the host carves bins, which need 8 bytes of workspace for each word.
void ExpectMoved(const Intervals& intervals, int element_bytes, bool by_bins = true) {
  const Bytes from = MakeBytes(intervals.source_elements * element_bytes, 21);
  const Bytes to = MakeBytes(intervals.destination_elements * element_bytes, 22);
  const Arrays arrays(intervals, element_bytes, from, to, false);
  EXPECT_EQ(cuda::MoveWorkspaceBytes(arrays.args) > 2 * arrays.args.total * element_bytes, by_bins);
  EXPECT_EQ(arrays.Run().fault, OperatorReport::Fault::kNone);
  EXPECT_TRUE(arrays.destination.Download() ==
              Move(from, to, element_bytes, intervals.sources, intervals.destinations, intervals.counts))
      << "elements of " << element_bytes << ", " << intervals.counts.size() << " intervals, total "
      << arrays.args.total;
}

TEST(MoveThroughBins, PermutesWordsFromTheLeastNumberThatPaysOn) {
  CORANK_SKIP_WITHOUT_GPU();
  for (int64_t words : {Tuning::kLeastWords - 1, Tuning::kLeastWords}) {
    ExpectMoved(Scatter(Counts(static_cast<size_t>(words), 1), 1, 0), 4, words >= Tuning::kLeastWords);
  }
}

TEST(MoveThroughBins, LeavesGapsAlone) {
  CORANK_SKIP_WITHOUT_GPU();
  Random random(2);
  for (int64_t most : {1, 6, 14}) {
    const Counts counts = Until(Tuning::kLeastWords, [&] { return random.Below(most + 1); });
    ExpectMoved(Scatter(counts, 3, 2), 4);
  }
}

TEST(MoveThroughBins, MovesElementsOfSeveralWords) {
  CORANK_SKIP_WITHOUT_GPU();
  Random random(4);
  for (int element_bytes : {8, 12, 24}) {
    const Counts counts = Until(Tuning::kLeastWords * 4 / element_bytes + 1,
                                [&] { return 1 + random.Below(element_bytes == 24 ? 1 : 2); });
    ExpectMoved(Scatter(counts, 5, 6), element_bytes);
  }
}

TEST(MoveThroughBins, MovesLongIntervalsBesideShortOnes) {
  CORANK_SKIP_WITHOUT_GPU();
  Random random(6);
  Counts counts = Until(Tuning::kLeastWords,
                        [&] { return random.OneIn(20) ? Tuning::kMostWords - 1 + random.Below(4) : random.Below(5); });
  counts[counts.size() / 3] = 200000;
  counts[counts.size() / 2] = 3000;
  ExpectMoved(Scatter(counts, 7, 3), 4);
}

TEST(MoveThroughBins, MovesATileOfMoreWordsThanABlockHasRoomFor) {
  CORANK_SKIP_WITHOUT_GPU();
  // Intervals of one word, then intervals six times as long as the mean that determines tiles.
  Counts counts(static_cast<size_t>(Tuning::kLeastWords / 2), 1);
  counts.resize(counts.size() + static_cast<size_t>(Tuning::kLeastWords / 2 / 20 + 1), 20);
  ExpectMoved(Scatter(counts, 8, 0), 4);
}

TEST(MoveThroughBins, MovesWhatAFullBinDoesNotTake) {
  CORANK_SKIP_WITHOUT_GPU();
  // Half of the intervals go to a quarter of the destination.
  Random random(9);
  Intervals intervals = Scatter(Counts(static_cast<size_t>(Tuning::kLeastWords), 1), 10, 0);
  const int64_t dense = Tuning::kLeastWords / 2;
  Counts far(static_cast<size_t>(3 * dense));
  std::iota(far.begin(), far.end(), dense);
  for (size_t i = far.size(); i > far.size() - static_cast<size_t>(dense); --i) {
    std::swap(far[i - 1], far[size_t(random.Below(int64_t(i)))]);
  }
  for (int64_t& destination : intervals.destinations) {
    if (destination < dense) continue;
    destination = far.back();
    far.pop_back();
  }
  intervals.destination_elements = 4 * dense;
  ExpectMoved(intervals, 4);
}

TEST(MoveThroughBins, MovesWhatTheSurveyDidNotSee) {
  CORANK_SKIP_WITHOUT_GPU();
  // All intervals are in the middle, except one at each end.
  const int64_t first = Tuning::kLeastWords / 2;
  Random random(11);
  Counts counts = Until(Tuning::kLeastWords, [&] { return 1 + random.Below(3); });
  Intervals intervals = Scatter(counts, 12, 0, first);
  intervals.destinations[77] = 0;
  intervals.destinations[78] = intervals.destination_elements + first;
  intervals.destination_elements += first + 3;
  ExpectMoved(intervals, 4);
}

TEST(MoveThroughBins, MovesIntervalsWhoseDestinationsAreInOrder) {
  CORANK_SKIP_WITHOUT_GPU();
  Random random(13);
  Intervals intervals;
  intervals.counts = Until(Tuning::kLeastWords, [&] { return random.Below(5); });
  const size_t count = intervals.counts.size();
  intervals.source_elements = Place(intervals.counts, Shuffled(count, random), 0, 0, random, intervals.sources);
  intervals.destination_elements = Place(intervals.counts, InOrder(count), 0, 4, random, intervals.destinations);
  ExpectMoved(intervals, 4);
}

TEST(MoveThroughBins, MovesFewAmongManyEmptyIntervals) {
  CORANK_SKIP_WITHOUT_GPU();
  Counts counts(static_cast<size_t>(Tuning::kLeastWords), 0);
  for (int64_t length : {4, 16}) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<int64_t>(i) % length == 1 ? length : 0;
    ExpectMoved(Scatter(counts, 14, 0), 4);
  }
}

TEST(MoveThroughBins, ReportsOverlapAndKeepsToTheIntervals) {
  CORANK_SKIP_WITHOUT_GPU();
  Random random(15);
  Intervals intervals = Scatter(Until(Tuning::kLeastWords, [&] { return 1 + random.Below(3); }), 16, 3);
  // A quarter of the intervals go to the places of others.
  const size_t count = intervals.counts.size();
  for (size_t i = 0; i < count; i += 4) {
    const auto other = static_cast<size_t>(random.Below(int64_t(count)));
    intervals.destinations[i] =
        std::min(intervals.destinations[other], intervals.destination_elements - intervals.counts[i]);
  }
  const Bytes from(static_cast<size_t>(intervals.source_elements * 4), 0xAA);
  const Bytes to(static_cast<size_t>(intervals.destination_elements * 4), 0x55);
  const Arrays arrays(intervals, 4, from, to, true);
  const OperatorReport report = arrays.Run();
  const auto expected = FirstOverlap(intervals.destinations, intervals.counts);
  ASSERT_TRUE(expected);
  EXPECT_EQ(report.fault, OperatorReport::Fault::kOverlapping);
  EXPECT_EQ(report.other, expected->first);
  EXPECT_EQ(report.index, expected->second);
  // Overlapping intervals write equal data here.
  EXPECT_TRUE(arrays.destination.Download() ==
              Move(from, to, 4, intervals.sources, intervals.destinations, intervals.counts));
}

}  // namespace
}  // namespace corank::testing
