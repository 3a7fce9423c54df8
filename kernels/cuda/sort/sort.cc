#include "kernels/cuda/sort/sort.h"

#include <algorithm>

#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/first_keys.h"
#include "kernels/cuda/sort/middle_keys.h"
#include "kernels/cuda/sort/segment_first.h"
#include "kernels/cuda/sort/segment_limit.h"
#include "kernels/cuda/sort/sort_plan.h"
#include "kernels/cuda/sort/structure.h"
#include "kernels/cuda/sort/structure_rules.h"
#include "kernels/cuda/sort/structured_output.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {
namespace {

static_assert(sizeof(StatisticsLetter) <= kSortLetterBytes);

bool HasPayload(const SortArgs& args) { return args.value_bytes > 0 || args.indices_out != nullptr; }

/// The sort that remains after each key has been replaced by its position among the distinct keys: that of the payload.
SortArgs PayloadByRank(const SortArgs& args, const uint8_t* d_ranks) {
  SortArgs by_rank = args;
  by_rank.key_type = KeyType::kUint8;
  by_rank.order = Order::kAscending;
  by_rank.algorithm = SortAlgorithm::kRadix;
  by_rank.keys_in = d_ranks;
  by_rank.keys_out = nullptr;
  return by_rank;
}

SortArgs ByMergesort(SortArgs args) {
  args.algorithm = SortAlgorithm::kMergesort;
  return args;
}

/// The arrays of a sort that looks at the data. One of several uses takes the memory after d_scratch.
struct Arrays {
  StatisticsScratch* d_scratch = nullptr;
  StructureArrays found;
  Workspace left;
  Workspace left_by_rank;  // after found.d_ranks
  FirstKeys first;
};

cudaError_t CarveArrays(const SortArgs& args, bool looks, const Workspace& whole, Arrays* arrays, int64_t* bytes) {
  Workspace workspace = whole.With(SpareMemories(args.spare));
  arrays->d_scratch = workspace.Carve<StatisticsScratch>(looks ? 1 : 0);
  arrays->left = arrays->left_by_rank = workspace;
  const auto add = [bytes](const Workspace& before, auto run) {
    Workspace sizing = Workspace::SizingAfter(before);
    const cudaError_t error = run(sizing);
    *bytes = std::max(*bytes, sizing.bytes());
    return error;
  };
  *bytes = 0;
  if (args.LimitsSegments()) {
    if (looks) {
      CORANK_RETURN_IF_CUDA_ERROR(add(arrays->left, [&](Workspace& sizing) {
        return WriteFirstOfSegments(args, nullptr, nullptr, sizing, nullptr, nullptr);
      }));
    }
    return add(arrays->left, [&](Workspace& sizing) { return SortLimitedSegments(args, nullptr, sizing, nullptr); });
  }
  CORANK_RETURN_IF_CUDA_ERROR(
      add(arrays->left, [&](Workspace& sizing) { return RunSort(args, kAllBitsLive, sizing, nullptr); }));
  if (!looks) return cudaSuccess;

  CORANK_RETURN_IF_CUDA_ERROR(
      add(arrays->left, [&](Workspace& sizing) { return WriteMerged(args, Structure(), sizing, nullptr); }));
  if (MergesRandomKeys(args)) {
    CORANK_RETURN_IF_CUDA_ERROR(add(
        arrays->left, [&](Workspace& sizing) { return RunSort(ByMergesort(args), kAllBitsLive, sizing, nullptr); }));
  }
  // Ranks would take more room than keys of 2 bytes.
  if (KeyBytes(args.key_type) >= 4 && HasPayload(args)) {
    arrays->found.d_ranks = arrays->left_by_rank.Carve<uint8_t>(args.count);
    CORANK_RETURN_IF_CUDA_ERROR(add(arrays->left_by_rank, [&](Workspace& sizing) {
      return RunSort(PayloadByRank(args, nullptr), kAllBitsLive, sizing, nullptr);
    }));
  }
  return CarveFirstKeys(args, workspace, &arrays->first, bytes);
}

bool Looks(const SortArgs& args, int64_t look_count) {
  return LooksAtData(args, look_count) || SelectsInSegments(args, look_count);
}

cudaError_t SortFirstOfSegments(const SortArgs& args, Workspace workspace, cudaStream_t stream,
                                StatisticsLetter* h_letter, int64_t* d_results) {
  if (h_letter != nullptr) {
    Workspace left = workspace;
    bool found = false;
    CORANK_RETURN_IF_CUDA_ERROR(WriteFirstOfSegments(args, d_results, h_letter, left, stream, &found));
    if (found) return cudaSuccess;
  }
  return SortLimitedSegments(args, d_results, workspace, stream);
}

/// Whether the device counts digits while the host waits for the sample of the keys.
bool CountsDigitsEarly(const SortArgs& args) {
  return TakenAlgorithm(args) == SortAlgorithm::kRadix && args.count <= kAutoEarlyHistogramCount &&
         !MergesRandomKeys(args);
}

/// A sort that leaves results out: that of the middle keys or, if these cannot be selected, one whose outputs begin
/// with the results before the offset.
struct CutSort {
  MiddleKeys middle;
  SortArgs whole;
  void* d_workspace = nullptr;  // of `whole`
  int64_t workspace_bytes = 0;
  int64_t bytes = 0;  // of all
};

bool CutsResults(const SortArgs& args) { return args.offset > 0 && args.ResultCount() > 0; }

cudaError_t CarveCutSort(const SortArgs& args, int64_t look_count, Workspace workspace, CutSort* cut) {
  if (LooksAtData(args, look_count)) {
    const Workspace with_spare = workspace.With(SpareMemories(args.spare));
    CORANK_RETURN_IF_CUDA_ERROR(CarveMiddleKeys(args, with_spare, &cut->middle, &cut->bytes));
  }
  SortArgs& whole = cut->whole = args.FromTheFirst();
  const int64_t rows = whole.ResultCount();
  if (args.keys_out != nullptr) whole.keys_out = workspace.CarveBytes(rows * KeyBytes(args.key_type));
  const bool moves_values = args.value_bytes == 4 || args.value_bytes == 8;
  if (moves_values) {
    whole.values_out = workspace.CarveBytes(rows * args.value_bytes);
  } else if (args.value_bytes > 0 || args.indices_out != nullptr) {
    whole.value_bytes = 0;
    whole.values_in = nullptr;
    whole.values_out = nullptr;
    whole.indices_out = workspace.CarveBytes(rows * IndexBytes(args.count - 1));
  }
  cut->workspace_bytes = SortWorkspaceBytes(whole, look_count);
  cut->d_workspace = workspace.CarveBytes(cut->workspace_bytes);
  cut->bytes = std::max(cut->bytes, workspace.bytes());
  return cudaSuccess;
}

/// Copies the results of `args` out of the longer results of `whole`.
cudaError_t CutResults(const SortArgs& args, const SortArgs& whole, cudaStream_t stream) {
  const int64_t results = args.ResultCount();
  const int index_bytes = IndexBytes(args.count - 1);
  const auto copy = [&](void* d_out, const void* d_whole, int64_t bytes) {
    if (d_out == nullptr) return cudaSuccess;
    return cudaMemcpyAsync(d_out, static_cast<const char*>(d_whole) + args.offset * bytes,
                           static_cast<size_t>(results * bytes), cudaMemcpyDeviceToDevice, stream);
  };
  CORANK_RETURN_IF_CUDA_ERROR(copy(args.keys_out, whole.keys_out, KeyBytes(args.key_type)));
  CORANK_RETURN_IF_CUDA_ERROR(copy(args.indices_out, whole.indices_out, index_bytes));
  if (whole.value_bytes > 0) return copy(args.values_out, whole.values_out, args.value_bytes);
  if (args.value_bytes == 0) return cudaSuccess;
  const char* const d_indices = static_cast<const char*>(whole.indices_out) + args.offset * index_bytes;
  return GatherRows(args.values_in, args.value_bytes, d_indices, index_bytes, args.values_out, results, stream);
}

cudaError_t RunCutSort(const SortArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* h_report,
                       cudaStream_t stream, void* h_letter, int64_t look_count) {
  CutSort cut;
  CORANK_RETURN_IF_CUDA_ERROR(CarveCutSort(args, look_count, Workspace(d_workspace), &cut));
  if (workspace_bytes < cut.bytes) return cudaErrorInvalidValue;
  if (h_letter != nullptr && cut.middle.plan.capacity > 0) {
    SortAlgorithm taken;
    CORANK_RETURN_IF_CUDA_ERROR(
        WriteMiddleKeys(args, cut.middle, static_cast<StatisticsLetter*>(h_letter), stream, &taken));
    if (taken != SortAlgorithm::kAuto) {
      h_report->sort_algorithm = taken;
      return cudaSuccess;
    }
  }
  CORANK_RETURN_IF_CUDA_ERROR(
      Sort(cut.whole, cut.d_workspace, cut.workspace_bytes, h_report, stream, h_letter, look_count));
  return CutResults(args, cut.whole, stream);
}

}  // namespace

int64_t SortWorkspaceBytes(const SortArgs& asked, int64_t look_count) {
  const SortArgs args = asked.WithoutLoneSegment();
  if (CutsResults(args)) {
    CutSort cut;
    // Sort will meet and return an error of the device.
    static_cast<void>(CarveCutSort(args, look_count, Workspace(), &cut));
    return cut.bytes;
  }
  Arrays arrays;
  int64_t bytes = 0;
  // Sort will meet and return an error of the device.
  static_cast<void>(CarveArrays(args, Looks(args, look_count), Workspace(), &arrays, &bytes));
  return bytes;
}

cudaError_t Sort(const SortArgs& asked, void* d_workspace, int64_t workspace_bytes, OperatorReport* h_report,
                 cudaStream_t stream, void* h_letter, int64_t look_count, int64_t* d_results) {
  const SortArgs args = asked.WithoutLoneSegment();
  const bool is_empty = args.ResultCount() == 0 && args.algorithm == SortAlgorithm::kAuto;
  h_report->sort_algorithm = is_empty ? SortAlgorithm::kCopy : TakenAlgorithm(args);
  h_report->results = args.LimitsSegments() ? -1 : args.ResultCount();
  if (CutsResults(args)) {
    CORANK_RETURN_IF_CUDA_ERROR(RunCutSort(args, d_workspace, workspace_bytes, h_report, stream, h_letter, look_count));
    h_report->results = args.ResultCount();
    if (d_results == nullptr) return cudaSuccess;
    return WriteNumber(nullptr, args.ResultCount(), d_results, stream);
  }
  Arrays arrays;
  int64_t bytes = 0;
  const bool looks = Looks(args, look_count);
  CORANK_RETURN_IF_CUDA_ERROR(CarveArrays(args, looks, Workspace(d_workspace), &arrays, &bytes));
  if (workspace_bytes < bytes) return cudaErrorInvalidValue;
  auto* const letter = static_cast<StatisticsLetter*>(h_letter);
  if (args.LimitsSegments()) {
    return SortFirstOfSegments(args, arrays.left, stream, looks ? letter : nullptr, d_results);
  }
  if (d_results != nullptr) CORANK_RETURN_IF_CUDA_ERROR(WriteNumber(nullptr, args.ResultCount(), d_results, stream));
  Structure structure;
  RadixPart part = RadixPart::kAll;
  if (letter != nullptr && looks) {
    if (arrays.first.plan.capacity > 0) {
      SortAlgorithm taken;
      CORANK_RETURN_IF_CUDA_ERROR(WriteFirstKeys(args, arrays.first, letter, stream, &taken));
      if (taken != SortAlgorithm::kAuto) {
        h_report->sort_algorithm = taken;
        return cudaSuccess;
      }
    }
    const auto count_digits = [&] {
      if (!CountsDigitsEarly(args)) return cudaSuccess;
      Workspace left = arrays.left;
      return RunSort(args, kAllBitsLive, left, stream, RadixPart::kHistogram);
    };
    CORANK_RETURN_IF_CUDA_ERROR(
        FindStructure(args, arrays.d_scratch, arrays.found, letter, stream, count_digits, &structure));
    if (structure.is_sampled_only && CountsDigitsEarly(args)) part = RadixPart::kPasses;
  }
  switch (structure.kind) {
    case StructureKind::kSorted:
      h_report->sort_algorithm = SortAlgorithm::kCopy;
      return WriteSorted(args, stream);
    case StructureKind::kReversed:
      h_report->sort_algorithm = SortAlgorithm::kReverse;
      return WriteReversed(args, stream);
    case StructureKind::kFewDistinct:
      h_report->sort_algorithm = SortAlgorithm::kCount;
      CORANK_RETURN_IF_CUDA_ERROR(WriteCounted(args, arrays.d_scratch, stream));
      if (!HasPayload(args)) return cudaSuccess;
      return RunSort(PayloadByRank(args, arrays.found.d_ranks), kAllBitsLive, arrays.left_by_rank, stream);
    case StructureKind::kFewRuns:
      h_report->sort_algorithm = SortAlgorithm::kMergeRuns;
      return WriteMerged(args, structure, arrays.left, stream);
    default:
      if (structure.is_random && MergesRandomKeys(args)) {
        h_report->sort_algorithm = SortAlgorithm::kMergesort;
        return RunSort(ByMergesort(args), kAllBitsLive, arrays.left, stream);
      }
      return RunSort(args, structure.live_bits, arrays.left, stream, part);
  }
}

}  // namespace corank::cuda
