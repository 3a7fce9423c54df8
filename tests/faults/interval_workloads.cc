#include <numeric>

#include "kernels/cuda/intervals/interval_tuning.h"
#include "tests/faults/engine_workloads.h"
#include "tests/faults/workload_request.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

std::vector<int64_t> Counts() {
  Random random(1);
  std::vector<int64_t> counts(3000);
  for (int64_t& count : counts) count = random.OneIn(3) ? 0 : random.Below(40);
  return counts;
}

WorkloadRun Expand() {
  const std::vector<int64_t> counts = Counts();
  const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * 3, 1);
  return Whole([counts, values](Request& request) -> absl::Status {
    ExpandArgs args;
    args.element_bytes = 3;
    args.interval_count = static_cast<int64_t>(counts.size());
    args.total = Sum(counts);
    CORANK_ASSIGN_OR_RETURN(args.values, request.Input(values));
    CORANK_ASSIGN_OR_RETURN(args.counts, request.Numbers(counts));
    CORANK_ASSIGN_OR_RETURN(args.out, request.Output(args.total * args.element_bytes));
    return request.Run(&EngineStream::Expand, args);
  });
}

WorkloadRun LoadBalance() {
  const std::vector<int64_t> counts = Counts();
  return Whole([counts](Request& request) -> absl::Status {
    LoadBalanceArgs args;
    args.object_count = static_cast<int64_t>(counts.size());
    args.total = Sum(counts);
    CORANK_ASSIGN_OR_RETURN(args.counts, request.Numbers(counts));
    CORANK_ASSIGN_OR_RETURN(args.objects_out, request.Output(args.total * args.IndexWidth()));
    CORANK_ASSIGN_OR_RETURN(args.ranks_out, request.Output(args.total * args.IndexWidth()));
    return request.Run(&EngineStream::LoadBalance, args);
  });
}

// From or to all places in reverse, so that none is dense.
WorkloadRun Move(int64_t interval_count, int64_t interval_length, bool scatters) {
  const std::vector<int64_t> counts(static_cast<size_t>(interval_count), interval_length);
  std::vector<int64_t> offsets(counts.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = static_cast<int64_t>(offsets.size() - 1 - i) * interval_length;
  }
  const int64_t total = interval_count * interval_length;
  const Bytes source = MakeBytes(total * 4, 1);
  return Whole([=](Request& request) -> absl::Status {
    MoveArgs args;
    args.interval_count = interval_count;
    args.total = args.destination_count = total;
    CORANK_ASSIGN_OR_RETURN(args.source, request.Input(source));
    CORANK_ASSIGN_OR_RETURN(args.counts, request.Numbers(counts));
    CORANK_ASSIGN_OR_RETURN((scatters ? args.destination_offsets : args.source_offsets), request.Numbers(offsets));
    CORANK_ASSIGN_OR_RETURN(args.destination, request.Output(total * 4));
    CORANK_RETURN_IF_ERROR(request.stream().Zero(args.destination, total * 4));
    return request.Run(&EngineStream::Move, args);
  });
}

// Intervals of one element each: elements of as many words as bins allow, and as few intervals as bins need.
WorkloadRun MoveThroughBins() {
  using Tuning = cuda::BinTuning;
  constexpr int64_t kWords = Tuning::kLongMean - 1;
  constexpr int64_t kCount = (Tuning::kLeastWords + kWords - 1) / kWords;
  constexpr int64_t kBytes = kCount * kWords * int64_t{sizeof(uint32_t)};
  constexpr int64_t kShown = 1 << 16;
  const Bytes ones = AsBytes(std::vector<int64_t>(1 << 15, 1));
  return Whole([=](Request& request) -> absl::Status {
    MoveArgs args;
    args.element_bytes = kWords * sizeof(uint32_t);
    args.interval_count = args.total = args.destination_count = kCount;
    args.check_overlap = false;
    CORANK_ASSIGN_OR_RETURN(args.source, request.Counted(sizeof(uint32_t), kCount * kWords));
    CORANK_ASSIGN_OR_RETURN(const void* const d_counts, request.Repeated(ones, kCount * int64_t{sizeof(int64_t)}));
    CORANK_ASSIGN_OR_RETURN(const void* const d_offsets, request.Counted(sizeof(int64_t), kCount));
    args.counts = static_cast<const int64_t*>(d_counts);
    args.source_offsets = args.destination_offsets = static_cast<const int64_t*>(d_offsets);
    CORANK_ASSIGN_OR_RETURN(args.destination, request.stream().AllocateDevice(kBytes));
    CORANK_RETURN_IF_ERROR(request.stream().Zero(args.destination, kBytes));
    CORANK_RETURN_IF_ERROR(request.Show(static_cast<char*>(args.destination) + kBytes - kShown, kShown));
    return request.Run(&EngineStream::Move, args);
  });
}

// Operators without work only write their report.
WorkloadRun Nothing() {
  return Whole([](Request& request) -> absl::Status {
    MergeArgs merge;
    ExpandArgs expand;
    MoveArgs move;
    LoadBalanceArgs load_balance;
    CORANK_RETURN_IF_ERROR(request.Run(&EngineStream::Merge, merge));
    CORANK_RETURN_IF_ERROR(request.Run(&EngineStream::Expand, expand));
    CORANK_RETURN_IF_ERROR(request.Run(&EngineStream::Move, move));
    return request.Run(&EngineStream::LoadBalance, load_balance);
  });
}

}  // namespace

std::vector<Workload> IntervalWorkloads() {
  // As few intervals as the overlap check by bits takes, with more units than a block of Move keeps, and such that the
  // list of long intervals has room for one.
  constexpr int64_t kShort = cuda::OverlapTuning::kLeastIntervals;
  constexpr int64_t kLength = 8;
  static_assert(kShort * kLength > cuda::MoveTuning::kOwnUnits);
  static_assert(kShort * kLength >= int64_t{cuda::OverlapTuning::kWindow} * 64);
  static_assert(kLength * int64_t{sizeof(uint32_t)} < cuda::MoveTuning::kShortBytes);
  constexpr int64_t kLong = 50'000;
  static_assert(kLong * int64_t{sizeof(uint32_t)} >= cuda::MoveTuning::kLongBytes);
  return {
      {"expand", Expand(), {"WalkSumsKernel<", "ExpandRecordsOp<"}},
      {"load balance", LoadBalance(), {"WalkSumsKernel<", "LoadBalanceOp<"}},
      {"move of short intervals",
       Move(kShort, kLength, /*scatters=*/true),
       {"VisitKernel<false>", "SetListKernel(", "::CountKernel(", "VisitKernel<true>", "NameKernel(",
        "MoveWordsOp<unsigned int>, false>", "MoveWordsOp<unsigned int>, true>"}},
      {"move of long intervals",
       Move(5, kLong, /*scatters=*/true),
       {"StartsKernel(", "NeighboursKernel<", "OverlapReportKernel<", "MoveBlocksOp<true>, false>",
        "MoveBlocksOp<true>, true>"}},
      {"gather of intervals", Move(5, kLong, /*scatters=*/false), {"WriteReportKernel<", "MoveBlocksOp<true>, true>"}},
      {"move through bins",
       MoveThroughBins(),
       {"SurveyKernel(", "ToBinsKernel<", "FromBinsKernel(", "MoveWordsOp<unsigned int>, true>"}},
      {"nothing to do", Nothing(), {"WriteReportKernel<"}},
  };
}

}  // namespace corank::testing
