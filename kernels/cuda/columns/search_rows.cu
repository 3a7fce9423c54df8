// Search of many rows in a sorted table.
//
// Algorithm: a block keeps the first 8 bytes of the streams (row_order.h) of evenly spaced rows in shared memory. Each
//            thread finds the gap that these leave open for its needle, and finishes the binary search by comparing
//            whole rows. A check compares each row with the one in front of it.
// Work: O(needles * log(haystack)) comparisons of rows, and one for each row of the haystack.
// Memory: scattered reads of the rows that are compared; one coalesced write of the positions. The check reads the
//         haystack once.
// Workspace: one FaultCell.
// Source: as search.cu.
#include "kernels/common/merge_path.h"
#include "kernels/common/row_order.h"
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/search_rows.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/search/search_tuning.h"

namespace corank::cuda {
namespace {

using Tuning = SearchTuning;

__global__ void __launch_bounds__(ColumnTuning::kThreads)
    CheckRowsKernel(const __grid_constant__ RowOrder order, int64_t count, FaultCell* d_cell) {
  const int64_t stride = int64_t{gridDim.x} * ColumnTuning::kThreads;
  for (int64_t row = 1 + int64_t{blockIdx.x} * ColumnTuning::kThreads + threadIdx.x; row < count; row += stride) {
    if (order.Compare(row - 1, row, 0) > 0) atomicMax(d_cell, PackFault(0, row));
  }
}

/// `most`: the greatest result of a comparison with a row that the search passes over.
template <typename Position>
__global__ void __launch_bounds__(Tuning::kThreads)
    SearchRowsKernel(const __grid_constant__ RowOrder haystack, int64_t count, const __grid_constant__ RowOrder needles,
                     int64_t needle_count, int most, Position* positions) {
  __shared__ uint64_t s_words[Tuning::kPivots];
  const int pivots = static_cast<int>(min(count, int64_t{Tuning::kPivots}));
  for (int i = threadIdx.x; i < pivots; i += Tuning::kThreads) {
    s_words[i] = haystack.Word(PivotIndex(i, pivots, count), 0);
  }
  __syncthreads();

  const auto before = [](uint64_t a, uint64_t b) { return a < b; };
  const int64_t first = blockIdx.x * Tuning::kNeedlesPerBlock;
  const int64_t last = min(first + Tuning::kNeedlesPerBlock, needle_count);
  for (int64_t i = first + threadIdx.x; i < last; i += Tuning::kThreads) {
    // Rows with a smaller word come before the needle, and rows with a greater one after it.
    const uint64_t word = needles.Word(i, 0);
    const int smaller = LowerBound(s_words, pivots, word, before);
    const int not_greater = UpperBound(s_words, pivots, word, before);
    int64_t low = smaller == 0 ? 0 : PivotIndex(smaller - 1, pivots, count) + 1;
    int64_t high = not_greater == pivots ? count : PivotIndex(not_greater, pivots, count);
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (haystack.Compare(middle, needles, i, 0) <= most) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    positions[i] = static_cast<Position>(low);
  }
}

template <typename Position>
cudaError_t Launch(const ColumnSearchArgs& args, const RowOrder& haystack, cudaStream_t stream) {
  const RowOrder needles(args.needles, args.column_count, args.haystack);
  const auto blocks = static_cast<unsigned>(CeilDiv(args.needle_count, Tuning::kNeedlesPerBlock));
  SearchRowsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(haystack, args.haystack_count, needles, args.needle_count,
                                                            args.bound == SearchBound::kLower ? -1 : 0,
                                                            static_cast<Position*>(args.positions_out));
  return cudaGetLastError();
}

}  // namespace

int64_t ColumnSearchWorkspaceBytes(const ColumnSearchArgs& args) {
  Workspace workspace;
  if (args.check_sorted) workspace.Carve<FaultCell>(1);
  return workspace.bytes();
}

cudaError_t SearchColumns(const ColumnSearchArgs& args, void* d_workspace, int64_t workspace_bytes,
                          OperatorReport* d_report, cudaStream_t stream) {
  if (args.haystack_count < 0 || args.needle_count < 0 || args.column_count < 1 || args.column_count > kMaxKeyColumns ||
      workspace_bytes < ColumnSearchWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  const RowOrder haystack(args.haystack, args.column_count, args.needles);
  FaultCell* d_unsorted = nullptr;
  if (args.check_sorted) {
    Workspace workspace(d_workspace);
    d_unsorted = workspace.Carve<FaultCell>(1);
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_unsorted, 0, sizeof(FaultCell), stream));
    if (args.haystack_count > 1) {
      const unsigned blocks = LoopingGrid(args.haystack_count, ColumnTuning::kThreads);
      CheckRowsKernel<<<blocks, ColumnTuning::kThreads, 0, stream>>>(haystack, args.haystack_count, d_unsorted);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
  }
  if (args.needle_count > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(IndexBytes(args.haystack_count) == 4 ? Launch<uint32_t>(args, haystack, stream)
                                                                     : Launch<uint64_t>(args, haystack, stream));
  }
  return WriteReport(OperatorReport(), d_unsorted, d_report, stream);
}

}  // namespace corank::cuda
