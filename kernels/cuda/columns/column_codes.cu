// Codes of rows: 64 bits that decide as many comparisons as 64 bits can (kernels/common/row_code.h).
//
// Algorithm: a sample shows whether anything can be left out. If so, a survey of all rows finds the least value of each
//            integer column, the number of bytes that all streams begin with, and the bits after them in which some row
//            differs from row 0. Then the codes are made. Threads stop reading a row as soon as the rest cannot matter.
// Work: O(n) words of the streams.
// Memory: one read of the integer columns for their bases, one of the common bytes and a few bytes after them, one of
//         the bytes that the codes consist of; one write of the codes.
// Workspace: CodeState.
#include <cstddef>

#include "kernels/cuda/columns/column_codes.h"
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"

namespace corank::cuda {
namespace {

using Tuning = ColumnTuning;

/// Calls fn(row) for this thread's rows until it returns false.
template <typename Fn>
__device__ __forceinline__ void ForEachRow(int64_t count, Fn fn) {
  const int64_t stride = int64_t{gridDim.x} * Tuning::kThreads;
  for (int64_t row = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; row < count && fn(row); row += stride) {
  }
}

/// Whether all of the first 64 bits of the streams are known to differ, so that nothing can be left out.
__device__ __forceinline__ bool NothingIsCommon(const CodeState& state) {
  return state.survey.common_bytes == 0 && state.survey.differing[0] == ~uint64_t{0};
}

/// One block. Looks at a sample of rows, which may suffice to show that nothing is worth leaving out: all of the first
/// 64 bits differ, and not only because small numbers have both signs.
__global__ void __launch_bounds__(Tuning::kSampleRows)
    SampleKernel(const __grid_constant__ RowOrder order, int64_t count, CodeState* d_state) {
  __shared__ unsigned long long differing, least, greatest;
  if (threadIdx.x == 0) {
    differing = greatest = 0;
    least = ~0ULL;
  }
  __syncthreads();
  const unsigned long long word = order.Word(threadIdx.x * CeilDiv(count, Tuning::kSampleRows) % count, 0);
  atomicOr(&differing, word ^ order.Word(0, 0));
  atomicMin(&least, word);
  atomicMax(&greatest, word);
  __syncthreads();
  if (differing != ~0ULL || (greatest - least) >> 60 == 0) return;
  if (threadIdx.x < RowOrder::kMaxColumns) d_state->bases[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    d_state->survey.common_bytes = 0;
    d_state->survey.differing[0] = ~uint64_t{0};
  }
}

/// One row of blocks for each column.
__global__ void __launch_bounds__(Tuning::kThreads)
    BasesKernel(const __grid_constant__ RowOrder order, int64_t count, CodeState* d_state) {
  const int column = static_cast<int>(blockIdx.y);
  if (!order.HasBase(column) || NothingIsCommon(*d_state)) return;
  unsigned long long least = ~0ULL;
  ForEachRow(count, [&](int64_t row) {
    least = min(least, static_cast<unsigned long long>(order.Rank(column, row)));
    return true;
  });
  for (int lane = 16; lane > 0; lane /= 2) least = min(least, __shfl_xor_sync(0xFFFFFFFF, least, lane));
  if (threadIdx.x % 32 == 0) atomicMin(&d_state->bases[column], least);
}

__global__ void __launch_bounds__(Tuning::kThreads)
    CommonBytesKernel(const __grid_constant__ RowOrder order, int64_t count, CodeState* d_state) {
  uint32_t common = static_cast<uint32_t>(min(RowSurvey::kMaxCommonBytes, order.stream_bytes()));
  ForEachRow(count, [&](int64_t row) {
    common = min(common, *static_cast<volatile uint32_t*>(&d_state->survey.common_bytes));
    for (uint32_t first = 0; first < common; first += 8) {
      const uint64_t difference = order.Word(row, first) ^ order.Word(0, first);
      if (difference != 0) common = min(common, first + __clzll(static_cast<long long>(difference)) / 8);
    }
    return common > 0;
  });
  common = __reduce_min_sync(0xFFFFFFFF, common);
  if (threadIdx.x % 32 == 0) atomicMin(&d_state->survey.common_bytes, common);
}

__global__ void __launch_bounds__(Tuning::kThreads)
    DifferingBitsKernel(const __grid_constant__ RowOrder order, int64_t count, CodeState* d_state) {
  const int64_t first = d_state->survey.common_bytes;
  const int64_t words = min(int64_t{RowSurvey::kWords}, CeilDiv(order.stream_bytes() - first, 8));
  // The block decides together, because other blocks are still changing the state.
  if (__syncthreads_or(NothingIsCommon(*d_state))) return;
  __shared__ uint64_t start[RowSurvey::kWords];
  if (threadIdx.x < words) start[threadIdx.x] = order.Word(0, first + 8 * threadIdx.x);
  __syncthreads();
  uint64_t differing[RowSurvey::kWords] = {};
  ForEachRow(count, [&](int64_t row) {
    int bits = 0;
#pragma unroll
    for (int i = 0; i < RowSurvey::kWords; ++i) {
      if (i < words && bits < 64) differing[i] |= order.Word(row, first + 8 * i) ^ start[i];
      bits += __popcll(differing[i]);
    }
    return true;
  });
#pragma unroll
  for (int i = 0; i < RowSurvey::kWords; ++i) {
    const uint64_t all = uint64_t{__reduce_or_sync(0xFFFFFFFF, static_cast<uint32_t>(differing[i] >> 32))} << 32 |
                         __reduce_or_sync(0xFFFFFFFF, static_cast<uint32_t>(differing[i]));
    auto* to = reinterpret_cast<unsigned long long*>(&d_state->survey.differing[i]);
    if (threadIdx.x % 32 == 0 && all != 0) atomicOr(to, static_cast<unsigned long long>(all));
  }
}

/// One thread. `all`: the code is the first 64 bits.
__global__ void ChooseCodeKernel(int64_t stream_bytes, bool all, CodeState* d_state) {
  RowSurvey survey;
  if (all) {  // without a survey
    survey.differing[0] = ~uint64_t{0};
  } else {
    survey = d_state->survey;
  }
  d_state->code = RowCode(survey, stream_bytes);
}

__global__ void __launch_bounds__(Tuning::kThreads)
    CodesKernel(const __grid_constant__ RowOrder order, int64_t count, const CodeState* d_state, uint64_t* d_codes) {
  __shared__ RowCode code;
  if (threadIdx.x == 0) code = d_state->code;
  __syncthreads();
  ForEachRow(count, [&](int64_t row) {
    d_codes[row] = code.Make(order, row);
    return true;
  });
}

__global__ void __launch_bounds__(Tuning::kThreads)
    CodeHalvesKernel(const __grid_constant__ RowOrder order, int64_t count, uint32_t* d_low, uint32_t* d_high) {
  ForEachRow(count, [&](int64_t row) {
    const uint64_t word = order.Word(row, 0);
    d_high[row] = static_cast<uint32_t>(word >> 32);
    if (d_low != nullptr) d_low[row] = static_cast<uint32_t>(word);
    return true;
  });
}

/// Enqueues the survey and gives `order` its bases.
cudaError_t SurveyRows(RowOrder& order, int64_t count, CodeState* d_state, cudaStream_t stream) {
  // Least values and lengths (and their padding) start at the greatest number, differing bits at zero.
  static_assert(offsetof(CodeState, survey) == sizeof(CodeState::bases) && offsetof(RowSurvey, common_bytes) == 0);
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(d_state, 0xFF, sizeof(CodeState::bases) + offsetof(RowSurvey, differing), stream));
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_state->survey.differing, 0, sizeof(RowSurvey::differing), stream));
  SampleKernel<<<1, Tuning::kSampleRows, 0, stream>>>(order, count, d_state);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  const unsigned blocks = LoopingGrid(count, Tuning::kThreads);
  bool has_bases = false;
  for (int i = 0; i < order.column_count(); ++i) has_bases |= order.HasBase(i);
  if (has_bases) {
    const dim3 grid(blocks, static_cast<unsigned>(order.column_count()));
    BasesKernel<<<grid, Tuning::kThreads, 0, stream>>>(order, count, d_state);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    order.set_bases(reinterpret_cast<const uint64_t*>(d_state->bases));
  }
  CommonBytesKernel<<<blocks, Tuning::kThreads, 0, stream>>>(order, count, d_state);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  DifferingBitsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(order, count, d_state);
  return cudaGetLastError();
}

}  // namespace

cudaError_t MakeCodes(RowOrder& order, int64_t count, CodeState* d_state, uint64_t* d_codes, cudaStream_t stream) {
  const bool fits = order.stream_bytes() <= 8;
  if (!fits) CORANK_RETURN_IF_CUDA_ERROR(SurveyRows(order, count, d_state, stream));
  ChooseCodeKernel<<<1, 1, 0, stream>>>(order.stream_bytes(), fits, d_state);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  CodesKernel<<<LoopingGrid(count, Tuning::kThreads), Tuning::kThreads, 0, stream>>>(order, count, d_state, d_codes);
  return cudaGetLastError();
}

cudaError_t MakeCodeHalves(const RowOrder& order, int64_t count, uint32_t* d_low, uint32_t* d_high,
                           cudaStream_t stream) {
  CodeHalvesKernel<<<LoopingGrid(count, Tuning::kThreads), Tuning::kThreads, 0, stream>>>(order, count, d_low, d_high);
  return cudaGetLastError();
}

}  // namespace corank::cuda
