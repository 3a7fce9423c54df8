// Search of many rows in a sorted table.
//
// Algorithm: a row's word is the first 8 bytes of its stream (row_order.h). The words of a small haystack are written
//            down first. A block keeps the words of evenly spaced rows in shared memory. Each thread finds the gap that
//            these leave open for its needle, and finishes the binary search: by words if they are written down, and by
//            whole rows where these are equal or missing. A check compares each row with the one in front of it.
// Work: O(needles * log(haystack)) comparisons, and one for each row of the haystack.
// Memory: scattered reads of words and of the rows that are compared; one coalesced write of the positions. The check
//         and the words read the haystack once each.
// Workspace: one FaultCell; 8 bytes for each row whose word is written down.
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

bool WritesWords(const ColumnSearchArgs& args) {
  return args.haystack_count > Tuning::kPivots && args.haystack_count <= ColumnTuning::kMostWords &&
         args.haystack_count <= ColumnTuning::kWordsForNeedle * args.needle_count;
}

__global__ void __launch_bounds__(ColumnTuning::kThreads)
    CheckRowsKernel(const __grid_constant__ RowOrder order, int64_t count, FaultCell* d_cell) {
  const int64_t stride = int64_t{gridDim.x} * ColumnTuning::kThreads;
  for (int64_t row = 1 + int64_t{blockIdx.x} * ColumnTuning::kThreads + threadIdx.x; row < count; row += stride) {
    if (order.Compare(row - 1, row, 0) > 0) atomicMax(d_cell, PackFault(0, row));
  }
}

__global__ void __launch_bounds__(ColumnTuning::kThreads)
    WordsKernel(const __grid_constant__ RowOrder order, int64_t count, uint64_t* words) {
  const int64_t stride = int64_t{gridDim.x} * ColumnTuning::kThreads;
  for (int64_t row = int64_t{blockIdx.x} * ColumnTuning::kThreads + threadIdx.x; row < count; row += stride) {
    words[row] = order.Word(row, 0);
  }
}

/// `words`: of the haystack, or null. `most`: the greatest result of a comparison with a row that the search passes
/// over.
template <typename Position>
__global__ void __launch_bounds__(Tuning::kThreads)
    SearchRowsKernel(const __grid_constant__ RowOrder haystack, int64_t count, const uint64_t* words,
                     const __grid_constant__ RowOrder needles, int64_t needle_count, int most, Position* positions) {
  __shared__ uint64_t s_words[Tuning::kPivots];
  const int64_t word_bytes = words != nullptr ? static_cast<int64_t>(sizeof(uint64_t)) : 0;
  const bool words_decide = haystack.stream_bytes() <= word_bytes;
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
    int not_greater = smaller;
    if (smaller < pivots && s_words[smaller] == word) {
      not_greater += UpperBound(s_words + smaller, pivots - smaller, word, before);
    }
    int64_t low = smaller == 0 ? 0 : PivotIndex(smaller - 1, pivots, count) + 1;
    int64_t high = not_greater == pivots ? count : PivotIndex(not_greater, pivots, count);
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      int order = 0;
      if (words != nullptr) order = (words[middle] > word) - (words[middle] < word);
      if (order == 0 && !words_decide) order = haystack.Compare(middle, needles, i, word_bytes);
      if (order <= most) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    positions[i] = static_cast<Position>(low);
  }
}

template <typename Position>
cudaError_t Launch(const ColumnSearchArgs& args, const RowOrder& haystack, const uint64_t* d_words,
                   const RowOrder& needles, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.needle_count, Tuning::kNeedlesPerBlock));
  SearchRowsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(
      haystack, args.haystack_count, d_words, needles, args.needle_count, args.bound == SearchBound::kLower ? -1 : 0,
      static_cast<Position*>(args.positions_out));
  return cudaGetLastError();
}

}  // namespace

int64_t ColumnSearchWorkspaceBytes(const ColumnSearchArgs& args) {
  Workspace workspace;
  if (args.check_sorted) workspace.Carve<FaultCell>(1);
  if (WritesWords(args)) workspace.Carve<uint64_t>(args.haystack_count);
  return workspace.bytes();
}

cudaError_t SearchColumns(const ColumnSearchArgs& args, void* d_workspace, int64_t workspace_bytes,
                          OperatorReport* d_report, cudaStream_t stream) {
  if (args.haystack_count < 0 || args.needle_count < 0 || args.column_count < 1 || args.column_count > kMaxKeyColumns ||
      workspace_bytes < ColumnSearchWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  const RowOrder haystack(args.haystack, args.column_count, args.needles);
  Workspace workspace(d_workspace);
  FaultCell* d_unsorted = nullptr;
  if (args.check_sorted) {
    d_unsorted = workspace.Carve<FaultCell>(1);
    CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_unsorted, 0, sizeof(FaultCell), stream));
    if (args.haystack_count > 1) {
      const unsigned blocks = LoopingGrid(args.haystack_count, ColumnTuning::kThreads);
      CheckRowsKernel<<<blocks, ColumnTuning::kThreads, 0, stream>>>(haystack, args.haystack_count, d_unsorted);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
  }
  const RowOrder needles(args.needles, args.column_count, args.haystack);
  uint64_t* d_words = nullptr;
  if (WritesWords(args)) {
    d_words = workspace.Carve<uint64_t>(args.haystack_count);
    const unsigned blocks = LoopingGrid(args.haystack_count, ColumnTuning::kThreads);
    WordsKernel<<<blocks, ColumnTuning::kThreads, 0, stream>>>(haystack, args.haystack_count, d_words);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  if (args.needle_count > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(IndexBytes(args.haystack_count) == 4
                                    ? Launch<uint32_t>(args, haystack, d_words, needles, stream)
                                    : Launch<uint64_t>(args, haystack, d_words, needles, stream));
  }
  return WriteReport(OperatorReport(), d_unsorted, d_report, stream);
}

}  // namespace corank::cuda
