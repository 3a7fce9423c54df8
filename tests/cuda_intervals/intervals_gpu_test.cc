// Expand, Move and LoadBalance on a GPU, compared with plain std:: oracles.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/common/look_back_tuning.h"
#include "kernels/cuda/intervals/interval_tuning.h"
#include "kernels/cuda/intervals/intervals.h"
#include "tests/cuda_intervals/placement.h"
#include "tests/cuda_intervals/run_on_device.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/published_examples.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

constexpr int kElementBytes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 256};

int64_t Total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

template <typename T, size_t n>
std::vector<T> VectorOf(const T (&array)[n]) {
  return std::vector<T>(array, array + n);
}

/// The weakest allowed alignment: one element after a boundary.
int64_t Shift(int element_bytes) { return cuda::UnitBytes(element_bytes); }

/// The shifts are in bytes after a 256-byte boundary.
Bytes RunExpand(const Bytes& values, int element_bytes, const Counts& counts, int64_t out_shift, int64_t values_shift,
                int64_t counts_shift = 0) {
  const DeviceBuffer d_values(values, values_shift), d_counts(ToBytes(counts), counts_shift);
  const DeviceBuffer out(Total(counts) * element_bytes, out_shift);
  ExpandArgs args;
  args.values = d_values.data();
  args.element_bytes = element_bytes;
  args.counts = static_cast<const int64_t*>(d_counts.data());
  args.interval_count = static_cast<int64_t>(counts.size());
  args.out = out.data();
  args.total = Total(counts);
  const int64_t bytes = cuda::ExpandWorkspaceBytes(args);
  const OperatorReport report =
      RunOnDevice(bytes, [&](void* d_workspace, OperatorReport* d_report, cudaStream_t stream) {
        return cuda::Expand(args, d_workspace, bytes, d_report, stream);
      });
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  return out.Download();
}

Bytes RunExpand(const Bytes& values, int element_bytes, const Counts& counts) {
  return RunExpand(values, element_bytes, counts, Shift(element_bytes), Shift(element_bytes));
}

struct MoveProblem {
  Bytes source, destination;
  int element_bytes = 4;
  std::optional<Counts> source_offsets, destination_offsets;  // none: dense
  Counts counts;
  bool check_overlap = true;
};

struct MoveAnswer {
  OperatorReport report;
  Bytes destination;
};

MoveAnswer RunMove(const MoveProblem& problem) {
  const int64_t shift = Shift(problem.element_bytes);
  const DeviceBuffer source(problem.source, shift), destination(problem.destination, shift);
  const DeviceBuffer d_counts(ToBytes(problem.counts));
  const DeviceBuffer from(ToBytes(problem.source_offsets.value_or(Counts())));
  const DeviceBuffer to(ToBytes(problem.destination_offsets.value_or(Counts())));
  MoveArgs args;
  args.source = source.data();
  args.destination = destination.data();
  args.element_bytes = problem.element_bytes;
  if (problem.source_offsets) args.source_offsets = static_cast<const int64_t*>(from.data());
  if (problem.destination_offsets) args.destination_offsets = static_cast<const int64_t*>(to.data());
  args.counts = static_cast<const int64_t*>(d_counts.data());
  args.interval_count = static_cast<int64_t>(problem.counts.size());
  args.total = Total(problem.counts);
  args.check_overlap = problem.check_overlap;
  args.destination_count = static_cast<int64_t>(problem.destination.size()) / problem.element_bytes;
  const int64_t bytes = cuda::MoveWorkspaceBytes(args);
  MoveAnswer answer;
  answer.report = RunOnDevice(bytes, [&](void* d_workspace, OperatorReport* d_report, cudaStream_t stream) {
    return cuda::Move(args, d_workspace, bytes, d_report, stream);
  });
  EXPECT_TRUE(source.Download() == problem.source) << "the source was changed";
  answer.destination = destination.Download();
  return answer;
}

void ExpectMoved(const MoveProblem& problem) {
  if (!RunsNextCase()) return;
  const MoveAnswer answer = RunMove(problem);
  EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
  const Counts dense = PrefixSums(problem.counts);
  EXPECT_TRUE(answer.destination == Move(problem.source, problem.destination, problem.element_bytes,
                                         problem.source_offsets.value_or(dense),
                                         problem.destination_offsets.value_or(dense), problem.counts))
      << "elements of " << problem.element_bytes;
}

/// The division of elements of 4 bytes in Expand.
using Short = cuda::ExpandTuning<cuda::ShortItems(4), 4>;
using Long = cuda::ExpandTuning<2, 4>;

/// Counts of many shapes: mean lengths from 0 to 5000, mostly empty, one giant, and sizes around tiles and windows.
std::vector<Counts> ManyCounts() {
  std::vector<Counts> all = {{}, {0}, {1}, Counts(5000, 0), Counts(5000, 1)};
  Random random(7);
  for (int64_t mean : {1, 10, 100, 5000}) {
    Counts counts(static_cast<size_t>(std::max<int64_t>(12, 30000 / mean)));
    for (int64_t& count : counts) count = random.Below(2 * mean + 1);
    all.push_back(counts);
  }
  Counts sparse(20000, 0);
  for (int i = 0; i < 40; ++i) sparse[size_t(random.Below(20000))] = random.Below(300);
  all.push_back(sparse);
  sparse[9000] = 100000;
  all.push_back(sparse);
  // Full tiles and groups, of intervals...
  for (int64_t tile : {Short::kGroup, Long::kGroup, cuda::MoveTuning::kTile}) {
    for (int64_t intervals = tile - 1; intervals <= tile + 1; ++intervals) {
      all.push_back(Counts(static_cast<size_t>(intervals), 1));
      all.push_back(Counts(static_cast<size_t>(intervals), 0));
      all.back().back() = 3;
    }
  }
  // ...counts that just fit in a byte, and one of a group that does not...
  for (int64_t group : {int64_t{Short::kGroup}, int64_t{Long::kGroup}}) {
    for (int64_t most : {255, 256, 511, 512}) {
      Counts counts(static_cast<size_t>(5 * group), group == Short::kGroup ? 2 : 100);
      for (int64_t at : {group - 1, 2 * group + 1, 4 * group}) counts[static_cast<size_t>(at)] = most;
      all.push_back(counts);
    }
  }
  // ...full windows and tasks, and the most units that a block processes alone...
  for (int64_t limit : {cuda::IntervalTuning::kWindow, cuda::WalkTuning::kWindow, Long::kTask - Long::kGroup,
                        Short::kTask, cuda::MoveTuning::kOwnUnits}) {
    for (int64_t units = limit - 1; units <= limit + 1; ++units) {
      all.push_back({units});
      all.push_back({0, 0, units - 40, 0, 40});
      all.push_back({units - 3, 0, 0, 3});
    }
  }
  // ...and several tiles for the second launch, with others in between.
  Counts giants(12 * cuda::MoveTuning::kTile, 1);
  for (size_t i : {size_t{5}, giants.size() / 2, giants.size() - 1}) giants[i] = 70000 + static_cast<int64_t>(i);
  all.push_back(giants);
  return all;
}

/// Offsets of disjoint intervals in shuffled order with gaps. Returns the number of elements needed.
int64_t ScatteredOffsets(const Counts& counts, uint64_t seed, Counts& offsets) {
  Random random(seed);
  return Place(counts, Shuffled(counts.size(), random), 3, 4, random, offsets);
}

TEST(Expand, MakesThePublishedExample) {
  CORANK_SKIP_WITHOUT_GPU();
  using Example = published::IntervalExpandExample;
  EXPECT_EQ(FromBytes<int32_t>(RunExpand(ToBytes(VectorOf(Example::kValues)), 4, VectorOf(Example::kCounts))),
            VectorOf(Example::kExpanded));
}

TEST(Expand, RepeatsElementsOfEveryWidth) {
  CORANK_SKIP_WITHOUT_GPU();
  for (const Counts& counts : ManyCounts()) {
    for (int element_bytes : kElementBytes) {
      const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * element_bytes, 11);
      EXPECT_TRUE(RunExpand(values, element_bytes, counts) == Gather(values, element_bytes, LoadBalance(counts).first))
          << "elements of " << element_bytes << ", " << counts.size() << " intervals, total " << Total(counts);
      if (HasFailure()) return;
    }
  }
}

TEST(Expand, ReadsValuesAndCountsByVectorsWhereTheyAreAligned) {
  CORANK_SKIP_WITHOUT_GPU();
  for (int element_bytes : {1, 2, 4, 8, 16}) {
    for (int64_t mean : {2, 40}) {
      Counts counts(3000);
      Random random(mean);
      for (int64_t& count : counts) count = random.Below(2 * mean + 1);
      const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * element_bytes, 16);
      const Bytes expected = Gather(values, element_bytes, LoadBalance(counts).first);
      for (int64_t values_shift : {int64_t{0}, int64_t{element_bytes}}) {
        for (int64_t counts_shift : {0, 8}) {
          EXPECT_TRUE(RunExpand(values, element_bytes, counts, 0, values_shift, counts_shift) == expected)
              << "elements of " << element_bytes << ", mean " << mean << ", values " << values_shift << " and counts "
              << counts_shift << " bytes behind a boundary";
        }
      }
    }
  }
}

TEST(Expand, WritesPartsOfVectorsAtEveryPlaceInALine) {
  CORANK_SKIP_WITHOUT_GPU();
  for (int element_bytes : {1, 2, 4, 8, 16, 12}) {
    for (int64_t shift = 0; shift < 128; shift += Shift(element_bytes)) {
      for (const Counts& counts : {Counts{1}, Counts{3, 0, 2}, Counts{20, 1, 40}, Counts{cuda::WalkTuning::kWindow}}) {
        const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * element_bytes, 15);
        EXPECT_TRUE(RunExpand(values, element_bytes, counts, shift, shift) ==
                    Gather(values, element_bytes, LoadBalance(counts).first))
            << "elements of " << element_bytes << ", " << shift << " bytes behind a line, total " << Total(counts);
      }
    }
  }
}

TEST(Arguments, UnitsWithoutIntervalsAndAWorkspaceThatIsTooSmallAreErrors) {
  CORANK_SKIP_WITHOUT_GPU();
  ExpandArgs expand;
  expand.total = 1;
  EXPECT_EQ(cuda::ExpandWorkspaceBytes(expand), 0);
  EXPECT_EQ(cuda::Expand(expand, nullptr, 0, nullptr, nullptr), cudaErrorInvalidValue);
  MoveArgs move;
  move.total = 1;
  EXPECT_EQ(cuda::MoveWorkspaceBytes(move), 0);
  EXPECT_EQ(cuda::Move(move, nullptr, 0, nullptr, nullptr), cudaErrorInvalidValue);
  LoadBalanceArgs balance;
  balance.total = 1;
  EXPECT_EQ(cuda::LoadBalanceWorkspaceBytes(balance), 0);
  EXPECT_EQ(cuda::LoadBalance(balance, nullptr, 0, nullptr, nullptr), cudaErrorInvalidValue);
  expand.interval_count = move.interval_count = balance.object_count = 1;
  EXPECT_EQ(cuda::Expand(expand, nullptr, cuda::ExpandWorkspaceBytes(expand) - 1, nullptr, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cuda::Move(move, nullptr, cuda::MoveWorkspaceBytes(move) - 1, nullptr, nullptr), cudaErrorInvalidValue);
  // The overlap check needs the size of the destination.
  const int64_t any = 0;
  move.destination_offsets = &any;
  EXPECT_EQ(cuda::Move(move, nullptr, cuda::MoveWorkspaceBytes(move), nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cuda::LoadBalance(balance, nullptr, cuda::LoadBalanceWorkspaceBytes(balance) - 1, nullptr, nullptr),
            cudaErrorInvalidValue);
  expand.total = move.total = balance.total = 0;
  expand.interval_count = move.interval_count = balance.object_count = 0;
  EXPECT_EQ(cuda::Expand(expand, nullptr, 0, nullptr, nullptr), cudaSuccess);
  EXPECT_EQ(cuda::Move(move, nullptr, 0, nullptr, nullptr), cudaSuccess);
  EXPECT_EQ(cuda::LoadBalance(balance, nullptr, 0, nullptr, nullptr), cudaSuccess);
}

TEST(Move, MakesThePublishedExample) {
  CORANK_SKIP_WITHOUT_GPU();
  using Example = published::IntervalMoveExample;
  std::vector<int32_t> source(100);
  std::iota(source.begin(), source.end(), 0);
  MoveProblem problem;
  problem.source = ToBytes(source);
  problem.destination = Bytes(400, 0xEE);
  problem.source_offsets = VectorOf(Example::kSourceOffsets);
  problem.destination_offsets = VectorOf(Example::kDestinationOffsets);
  problem.counts = VectorOf(Example::kCounts);
  const MoveAnswer answer = RunMove(problem);
  EXPECT_EQ(answer.report.fault, OperatorReport::Fault::kNone);
  EXPECT_EQ(FromBytes<int32_t>(answer.destination), VectorOf(Example::kMoved));
}

TEST(Move, MovesGathersAndScattersElementsOfEveryWidth) {
  CORANK_SKIP_WITHOUT_GPU();
  uint64_t seed = 100;
  for (const Counts& counts : ManyCounts()) {
    for (int element_bytes : kElementBytes) {
      Counts source_offsets, destination_offsets;
      const int64_t source_count = ScatteredOffsets(counts, ++seed, source_offsets);
      const int64_t destination_count = ScatteredOffsets(counts, ++seed, destination_offsets);
      MoveProblem problem;
      problem.element_bytes = element_bytes;
      problem.counts = counts;
      problem.source = MakeBytes(source_count * element_bytes, ++seed);
      problem.destination = MakeBytes(destination_count * element_bytes, ++seed);
      SCOPED_TRACE(std::to_string(counts.size()) + " intervals, total " + std::to_string(Total(counts)));
      problem.source_offsets = source_offsets;
      problem.destination_offsets = destination_offsets;
      ExpectMoved(problem);
      problem.destination_offsets.reset();
      ExpectMoved(problem);
      problem.source_offsets.reset();
      problem.destination_offsets = destination_offsets;
      ExpectMoved(problem);
      if (HasFailure()) return;
    }
  }
}

TEST(Move, ReportsTheFirstOverlapInDestinationOrder) {
  CORANK_SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    MoveProblem problem;
    const auto intervals = static_cast<size_t>(1 + random.Below(seed % 5 == 0 ? 9000 : 40));
    problem.counts.resize(intervals);
    for (int64_t& count : problem.counts) count = random.OneIn(3) ? 0 : random.Below(20);
    Counts offsets;
    const int64_t elements = ScatteredOffsets(problem.counts, seed, offsets);
    for (int64_t faults = random.Below(3); faults > 0; --faults) {
      const auto i = static_cast<size_t>(random.Below(int64_t(intervals)));
      offsets[i] = random.Below(elements - problem.counts[i] + 1);
    }
    problem.destination_offsets = offsets;
    problem.source = MakeBytes(Total(problem.counts) * 4, seed);
    problem.destination = MakeBytes(elements * 4, seed);
    const auto expected = FirstOverlap(offsets, problem.counts);
    const OperatorReport report = RunMove(problem).report;
    EXPECT_EQ(report.fault, expected ? OperatorReport::Fault::kOverlapping : OperatorReport::Fault::kNone)
        << "seed " << seed;
    EXPECT_EQ(report.other, expected ? expected->first : -1) << "seed " << seed;
    EXPECT_EQ(report.index, expected ? expected->second : -1) << "seed " << seed;
    problem.check_overlap = false;
    EXPECT_EQ(RunMove(problem).report.fault, OperatorReport::Fault::kNone) << "seed " << seed;
  }
}

/// Enough intervals that every warp that sums counts has several groups, and that there are more blocks than one
/// look-back reads together.
constexpr int64_t ManyIntervals(int group) {
  constexpr int64_t kShares = cuda::WalkTuning::kSumBlocks * (cuda::WalkTuning::kThreads / 32);
  static_assert(cuda::WalkTuning::kSumBlocks / 2 > 32 * cuda::kTilesOfLookBack, "with 2 groups a share too");
  return (kShares + 5) * group + 1;
}

TEST(Expand, AddsUpManyCountsMostOfWhichAreZero) {
  CORANK_SKIP_WITHOUT_GPU();
  Counts counts(static_cast<size_t>(ManyIntervals(Short::kGroup)), 0);
  Random random(8);
  for (int i = 0; i < 100000; ++i) counts[size_t(random.Below(int64_t(counts.size())))] = random.Below(4);
  const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * 4, 12);
  EXPECT_TRUE(RunExpand(values, 4, counts) == Gather(values, 4, LoadBalance(counts).first));
}

TEST(Expand, AddsUpManyCountsOfLongIntervals) {
  CORANK_SKIP_WITHOUT_GPU();
  Counts counts(static_cast<size_t>(ManyIntervals(Long::kGroup)));
  Random random(9);
  for (int64_t& count : counts) count = random.Below(2 * cuda::WalkTuning::kShortMean + 4);
  ASSERT_GE(Total(counts), cuda::WalkTuning::kShortMean * static_cast<int64_t>(counts.size()));
  const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()), 12);
  EXPECT_TRUE(RunExpand(values, 1, counts) == Gather(values, 1, LoadBalance(counts).first));
}

/// A warp sums in 32 bits if that suffices.
TEST(Expand, TakesCountsAroundThoseWhoseSumsNeedMoreThan32Bits) {
  CORANK_SKIP_WITHOUT_GPU();
  // A lane holds the first two counts.
  constexpr int64_t kMost = cuda::WalkTuning::kMostNarrow, kPlaced = cuda::WalkTuning::kMostPlaced;
  for (int64_t count : {kPlaced - 7, kPlaced - 6, kMost - 7, kMost - 6}) {
    const Counts counts = {7, count, 0, 5};
    const Bytes values = {'a', 'b', 'c', 'd'};
    Bytes expected(7, 'a');
    expected.insert(expected.end(), static_cast<size_t>(count), 'b');
    expected.insert(expected.end(), 5, 'd');
    EXPECT_TRUE(RunExpand(values, 1, counts) == expected) << count;
  }
}

TEST(Move, MovesBytesFromAnyPhaseToAnyOther) {
  CORANK_SKIP_WITHOUT_GPU();
  // Every pair of phases modulo 16, with lengths around those at which whole blocks begin. Long means use blocks.
  MoveProblem problem;
  problem.element_bytes = 1;
  problem.source_offsets.emplace();
  problem.destination_offsets.emplace();
  int64_t end = 0;
  for (int64_t from = 0; from < 16; ++from) {
    for (int64_t to = 0; to < 16; ++to) {
      for (int64_t length : {0, 1, 7, 15, 16, 17, 31, 33, 300, 1200}) {
        end = (end + 31) / 16 * 16;
        problem.source_offsets->push_back(end + from);
        problem.destination_offsets->push_back(end + to);
        problem.counts.push_back(length);
        end += 16 + length;
      }
    }
  }
  problem.source = MakeBytes(end + 16, 13);
  problem.destination = MakeBytes(end + 16, 14);
  ASSERT_GE(Total(problem.counts), static_cast<int64_t>(problem.counts.size()) * cuda::MoveTuning::kShortBytes);
  ExpectMoved(problem);
  for (int64_t& count : problem.counts) count = std::min<int64_t>(count, 33);  // and short ones take words
  ExpectMoved(problem);
}

/// The shifts are in bytes after a 256-byte boundary.
void ExpectBalanced(const Counts& counts, int64_t objects_shift, int64_t ranks_shift) {
  if (!RunsNextCase()) return;
  const DeviceBuffer d_counts(ToBytes(counts), 8);
  LoadBalanceArgs args;
  args.counts = static_cast<const int64_t*>(d_counts.data());
  args.object_count = static_cast<int64_t>(counts.size());
  args.total = Total(counts);
  const int width = args.IndexWidth();
  const DeviceBuffer objects(args.total * width, objects_shift), ranks(args.total * width, ranks_shift);
  args.objects_out = objects.data();
  args.ranks_out = ranks.data();
  const int64_t bytes = cuda::LoadBalanceWorkspaceBytes(args);
  const OperatorReport report =
      RunOnDevice(bytes, [&](void* d_workspace, OperatorReport* d_report, cudaStream_t stream) {
        return cuda::LoadBalance(args, d_workspace, bytes, d_report, stream);
      });
  EXPECT_EQ(report.fault, OperatorReport::Fault::kNone);
  const auto expected = LoadBalance(counts);
  EXPECT_TRUE(objects.Download() == IndexArray(expected.first, width)) << counts.size() << " objects";
  EXPECT_TRUE(ranks.Download() == IndexArray(expected.second, width)) << counts.size() << " objects";
}

TEST(LoadBalance, WritesPartsOfVectorsAtEveryPlaceInALine) {
  CORANK_SKIP_WITHOUT_GPU();
  for (int64_t shift = 0; shift < 128; shift += 4) {
    for (int64_t ranks_shift : {int64_t{0}, int64_t{4}, shift}) {
      ExpectBalanced({1}, shift, ranks_shift);
      ExpectBalanced({20, 0, 1, 40}, shift, ranks_shift);
      ExpectBalanced({cuda::WalkTuning::kWindow}, shift, ranks_shift);
    }
  }
}

TEST(LoadBalance, MakesThePublishedExampleAndEveryShapeOfCounts) {
  CORANK_SKIP_WITHOUT_GPU();
  std::vector<Counts> all = ManyCounts();
  all.push_back(VectorOf(published::LoadBalanceExample::kCounts));
  all.push_back(VectorOf(published::FortyObjectsExample::kCounts));
  for (const Counts& counts : all) ExpectBalanced(counts, 0, 0);
  EXPECT_EQ(LoadBalance(all[all.size() - 2]).first, VectorOf(published::LoadBalanceExample::kObjects));
}

}  // namespace
}  // namespace corank::testing
