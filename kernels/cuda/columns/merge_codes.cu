// Merges the codes of rows that come in sorted runs, and checks that the runs are sorted.
//
// Algorithm: codes of sorted rows are sorted, so Merge merges the runs of codes with the row numbers. A check compares
//            neighbours in each run: by their codes and, if these are equal and the key continues, by the rows
//            themselves. Of many runs (ColumnTuning::kMostMergedRuns), only the check runs, and a sort follows.
// Work: that of Merge for n 8-byte keys; one comparison for each row.
// Memory: that of MakeCodes and of Merge with row numbers as values; one read of the codes, and two reads of each row
//         whose code is that of its predecessor.
// Workspace: a code and a row number for each row, and that of Merge.
// Stability: Merge is stable, and row numbers rise from run to run.
#include <algorithm>
#include <vector>

#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/merge_codes.h"
#include "kernels/cuda/common/iota.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/merge/merge.h"

namespace corank::cuda {
namespace {

using Tuning = ColumnTuning;

/// Runs to check in one launch; a kernel argument.
struct RunGroup {
  static constexpr int kMaxRuns = 32;

  int64_t offsets[kMaxRuns + 1];
  int32_t first;  // the number of the first run
};

/// One row of blocks for each run.
__global__ void __launch_bounds__(Tuning::kThreads)
    CheckRunsKernel(const __grid_constant__ RowOrder order, const __grid_constant__ RunGroup group,
                    const uint64_t* d_codes, CodeState* d_state) {
  const int64_t begin = group.offsets[blockIdx.y], end = group.offsets[blockIdx.y + 1];
  const bool has_codes = d_codes != nullptr;
  const int64_t equal_bytes = has_codes ? d_state->code.next_byte() : 0;
  const bool codes_decide = has_codes && equal_bytes >= order.stream_bytes();
  const int64_t stride = int64_t{gridDim.x} * Tuning::kThreads;
  for (int64_t row = begin + 1 + int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; row < end; row += stride) {
    const uint64_t previous = has_codes ? d_codes[row - 1] : 0, code = has_codes ? d_codes[row] : 0;
    bool falls = previous > code;
    if (previous == code && !codes_decide) falls = order.Compare(row - 1, row, equal_bytes) > 0;
    if (falls) atomicMax(&d_state->unsorted, PackFault(group.first + static_cast<int32_t>(blockIdx.y), row - begin));
  }
}

}  // namespace

cudaError_t CheckRuns(const RowOrder& order, const ColumnSortArgs& args, CodeState* d_state, const uint64_t* d_codes,
                      cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(&d_state->unsorted, 0, sizeof(FaultCell), stream));
  for (int32_t first = 0; first < args.run_count; first += RunGroup::kMaxRuns) {
    const int32_t runs = std::min(args.run_count - first, RunGroup::kMaxRuns);
    RunGroup group{};
    group.first = first;
    std::copy_n(args.run_offsets + first, runs + 1, group.offsets);
    int64_t longest = 0;
    for (int32_t i = 0; i < runs; ++i) longest = std::max(longest, group.offsets[i + 1] - group.offsets[i]);
    if (longest < 2) continue;
    const int64_t blocks = std::min(CeilDiv(longest, Tuning::kThreads), CeilDiv(kLoopingBlocks, runs));
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(runs));
    CheckRunsKernel<<<grid, Tuning::kThreads, 0, stream>>>(order, group, d_codes, d_state);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  return cudaSuccess;
}

cudaError_t ReportRuns(SortAlgorithm algorithm, int64_t results, const CodeState* d_state, OperatorReport* d_report,
                       cudaStream_t stream) {
  OperatorReport report;
  report.results = results;
  report.sort_algorithm = algorithm;
  return WriteReport(report, &d_state->unsorted, d_report, stream);
}

cudaError_t MergeCodes(RowOrder& order, const ColumnSortArgs& args, CodeState* d_state, uint64_t* d_sorted_codes,
                       void* d_rows, int index_bytes, Workspace& workspace, cudaStream_t stream) {
  auto* const d_codes = workspace.Carve<uint64_t>(args.count);
  auto* const d_numbers = static_cast<char*>(workspace.CarveBytes(args.count * index_bytes));
  std::vector<MergeInput> runs(static_cast<size_t>(args.run_count));
  for (int32_t run = 0; run < args.run_count; ++run) {
    const int64_t first = args.run_offsets[run];
    runs[static_cast<size_t>(run)] = {d_codes + first, d_numbers + first * index_bytes,
                                      args.run_offsets[run + 1] - first};
  }
  MergeArgs merge;
  merge.key_type = KeyType::kUint64;
  merge.inputs = runs.data();
  merge.input_count = args.run_count;
  merge.keys_out = d_sorted_codes;
  merge.values_out = d_rows;
  merge.value_bytes = index_bytes;
  merge.check_sorted = false;  // codes may leave the order of rows open
  const int64_t merge_bytes = MergeWorkspaceBytes(merge);
  void* const d_merge_workspace = workspace.CarveBytes(merge_bytes);
  if (workspace.IsSizing()) return cudaSuccess;

  CORANK_RETURN_IF_CUDA_ERROR(MakeCodes(order, args.count, d_state, d_codes, stream));
  CORANK_RETURN_IF_CUDA_ERROR(Iota(d_numbers, index_bytes, 0, args.count, stream));
  CORANK_RETURN_IF_CUDA_ERROR(CheckRuns(order, args, d_state, d_codes, stream));
  return Merge(merge, d_merge_workspace, merge_bytes, nullptr, stream);
}

}  // namespace corank::cuda
