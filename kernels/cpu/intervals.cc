#include "kernels/cpu/intervals.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/cpu/item_sort.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

constexpr int64_t kScanGrain = int64_t{1} << 14;
constexpr int64_t kOutputGrain = int64_t{1} << 13;
constexpr int64_t kPrefetchDistance = 16;  // intervals

// offsets[i] = counts[0] + ... + counts[i - 1], for i in [0, count].
void ScanCounts(const int64_t* counts, int64_t count, int64_t* offsets, Parallel& parallel) {
  const int64_t pieces = PieceCount(count, kScanGrain, parallel.threads());
  std::vector<int64_t> sums(static_cast<size_t>(pieces) + 1, 0);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    sums[static_cast<size_t>(piece) + 1] = std::accumulate(counts + PieceBegin(count, piece, pieces),
                                                           counts + PieceBegin(count, piece + 1, pieces), int64_t{0});
  });
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  parallel.ForPieces(pieces, [&](int64_t piece) {
    std::exclusive_scan(counts + PieceBegin(count, piece, pieces), counts + PieceBegin(count, piece + 1, pieces),
                        offsets + PieceBegin(count, piece, pieces), sums[static_cast<size_t>(piece)]);
  });
  offsets[count] = sums.back();
}

// Calls fn(interval, begin, end) for parts of intervals that cover the outputs [0, total) exactly once, in parallel.
// Outputs [begin, end) belong to `interval`; begin < end.
template <typename Fn>
void ForIntervalParts(const int64_t* offsets, int64_t intervals, int64_t total, Parallel& parallel, const Fn& fn) {
  const int64_t steps = intervals + total;
  const int64_t pieces = PieceCount(steps, kOutputGrain, parallel.threads());
  parallel.ForPieces(pieces, [&](int64_t piece) {
    const int64_t first_step = PieceBegin(steps, piece, pieces);
    const int64_t last_step = PieceBegin(steps, piece + 1, pieces);
    // Finds the last interval that begins at or before the first step; i + offsets[i] increases with i.
    int64_t interval = 0;
    for (int64_t above = intervals; above - interval > 1;) {
      const int64_t middle = interval + (above - interval) / 2;
      (middle + offsets[middle] <= first_step ? interval : above) = middle;
    }
    int64_t output = first_step - interval;
    for (; interval < intervals && interval + output < last_step; ++interval) {
      const int64_t end = std::min(offsets[interval + 1], last_step - interval);
      if (output < end) fn(interval, output, end);
      output = std::max(output, end);
    }
  });
}

int64_t OffsetsBytes(int64_t intervals) {
  Workspace measure(nullptr);
  measure.Take<int64_t>(intervals + 1);
  return measure.used_bytes();
}

struct MoveScratch {
  int64_t* offsets;
  Item128* by_destination = nullptr;  // destination offset above interval index, for non-empty intervals
  Item128* temp = nullptr;
};

bool ChecksOverlap(const MoveArgs& args) { return args.check_overlap && args.destination_offsets != nullptr; }

MoveScratch TakeScratch(const MoveArgs& args, int threads, Workspace& workspace) {
  MoveScratch scratch;
  scratch.offsets = workspace.Take<int64_t>(args.interval_count + 1);
  if (!ChecksOverlap(args)) return scratch;
  scratch.by_destination = workspace.Take<Item128>(args.interval_count);
  if (NeedsTemp(args.interval_count, SortAlgorithm::kRadix, threads)) {
    scratch.temp = workspace.Take<Item128>(args.interval_count);
  }
  return scratch;
}

void CheckOverlap(const MoveArgs& args, const MoveScratch& scratch, Parallel& parallel, OperatorReport* report) {
  int64_t count = 0;
  for (int64_t i = 0; i < args.interval_count; ++i) {
    if (args.counts[i] == 0) continue;
    Item128& item = scratch.by_destination[count++];
    item.hi = static_cast<uint64_t>(args.destination_offsets[i]);
    item.lo = static_cast<uint64_t>(i);
  }
  const Item128* items = scratch.by_destination;
  const auto out_of_order = [&](int64_t i) { return ItemLess()(items[i], items[i - 1]); };
  if (FirstOutOfOrder(count, parallel, out_of_order) < count) {
    items = SortItems(scratch.by_destination, scratch.temp, count, SortAlgorithm::kRadix, parallel);
  }
  const int64_t overlap = FirstOutOfOrder(count, parallel, [&](int64_t i) {
    const Item128& previous = items[i - 1];
    return previous.hi + static_cast<uint64_t>(args.counts[previous.lo]) > items[i].hi;
  });
  if (overlap == count) return;
  report->fault = OperatorReport::Fault::kOverlapping;
  report->index = static_cast<int64_t>(items[overlap].lo);
  report->other = static_cast<int64_t>(items[overlap - 1].lo);
}

}  // namespace

int64_t ExpandWorkspaceBytes(const ExpandArgs& args) { return OffsetsBytes(args.interval_count); }

int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args) { return OffsetsBytes(args.object_count); }

int64_t MoveWorkspaceBytes(const MoveArgs& args, int threads) {
  Workspace measure(nullptr);
  TakeScratch(args, threads, measure);
  return measure.used_bytes();
}

void Expand(const ExpandArgs& args, void* workspace, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  int64_t* offsets = Workspace(workspace).Take<int64_t>(args.interval_count + 1);
  ScanCounts(args.counts, args.interval_count, offsets, parallel);
  WithRecordCopier(args.element_bytes, [&](auto copy) {
    ForIntervalParts(offsets, args.interval_count, args.total, parallel,
                     [&](int64_t interval, int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) copy(args.out, i, args.values, interval);
                     });
  });
}

void Move(const MoveArgs& args, void* workspace_bytes, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  Workspace workspace(workspace_bytes);
  const MoveScratch scratch = TakeScratch(args, parallel.threads(), workspace);
  if (ChecksOverlap(args)) CheckOverlap(args, scratch, parallel, report);
  if (report->fault != OperatorReport::Fault::kNone || args.destination == nullptr) return;
  const int64_t* offsets = scratch.offsets;
  ScanCounts(args.counts, args.interval_count, scratch.offsets, parallel);
  const int64_t* from = args.source_offsets != nullptr ? args.source_offsets : offsets;
  const int64_t* to = args.destination_offsets != nullptr ? args.destination_offsets : offsets;
  ForIntervalParts(
      offsets, args.interval_count, args.total, parallel, [&](int64_t interval, int64_t begin, int64_t end) {
        // Short intervals are bound by memory latency, not by copying. Prefetch the places of a later interval.
        const int64_t later = std::min(interval + kPrefetchDistance, args.interval_count - 1);
        __builtin_prefetch(static_cast<char*>(args.destination) + to[later] * args.element_bytes, 1);
        __builtin_prefetch(static_cast<const char*>(args.source) + from[later] * args.element_bytes);
        const int64_t skipped = begin - offsets[interval];
        std::memcpy(static_cast<char*>(args.destination) + (to[interval] + skipped) * args.element_bytes,
                    static_cast<const char*>(args.source) + (from[interval] + skipped) * args.element_bytes,
                    static_cast<size_t>((end - begin) * args.element_bytes));
      });
}

void LoadBalance(const LoadBalanceArgs& args, void* workspace, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  int64_t* offsets = Workspace(workspace).Take<int64_t>(args.object_count + 1);
  ScanCounts(args.counts, args.object_count, offsets, parallel);
  WithIndexType(args.IndexWidth(), [&](auto zero) {
    using Index = decltype(zero);
    Index* objects = static_cast<Index*>(args.objects_out);
    Index* ranks = static_cast<Index*>(args.ranks_out);
    ForIntervalParts(offsets, args.object_count, args.total, parallel, [&](int64_t object, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        objects[i] = static_cast<Index>(object);
        ranks[i] = static_cast<Index>(i - offsets[object]);
      }
    });
  });
}

}  // namespace corank::cpu
