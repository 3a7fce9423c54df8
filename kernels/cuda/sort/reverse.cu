// Reverses rows, and fills sequences of indices.
//
// Algorithm: a thread moves eight units (the largest power of two, up to 16 bytes, that divides a row), with all loads
//            before the first store. Adjacent threads take adjacent units.
// Memory: one read, one write.
// Workspace: none.
#include "kernels/common/types.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/reverse.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 8;
constexpr int kTile = kThreads * kItems;

template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    ReverseKernel(const Unit* rows, int units_per_row, int64_t count, Unit* out, int64_t units) {
  const int64_t first = int64_t{blockIdx.x} * kTile + threadIdx.x;
  Unit loaded[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int64_t unit = first + i * kThreads;
    const int64_t row = units_per_row == 1 ? unit : unit / units_per_row;
    if (unit < units) loaded[i] = rows[(count - 1 - row) * units_per_row + (unit - row * units_per_row)];
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int64_t unit = first + i * kThreads;
    if (unit < units) out[unit] = loaded[i];
  }
}

template <typename Unit>
cudaError_t Reverse(const void* d_rows, int row_bytes, int64_t count, void* d_out, int64_t result_count,
                    cudaStream_t stream) {
  const int units_per_row = row_bytes / static_cast<int>(sizeof(Unit));
  const int64_t units = result_count * units_per_row;
  ReverseKernel<<<static_cast<unsigned>(CeilDiv(units, kTile)), kThreads, 0, stream>>>(
      static_cast<const Unit*>(d_rows), units_per_row, count, static_cast<Unit*>(d_out), units);
  return cudaGetLastError();
}

template <typename Index>
__global__ void __launch_bounds__(kThreads) SequenceKernel(Index* indices, int64_t first, int64_t step, int64_t count) {
  const int64_t start = int64_t{blockIdx.x} * kTile + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int64_t at = start + i * kThreads;
    if (at < count) indices[at] = static_cast<Index>(first + at * step);
  }
}

}  // namespace

cudaError_t ReverseRows(const void* d_rows, int row_bytes, int64_t count, void* d_out, int64_t result_count,
                        cudaStream_t stream) {
  if (row_bytes % 16 == 0) return Reverse<uint4>(d_rows, row_bytes, count, d_out, result_count, stream);
  if (row_bytes % 8 == 0) return Reverse<uint64_t>(d_rows, row_bytes, count, d_out, result_count, stream);
  if (row_bytes % 4 == 0) return Reverse<uint32_t>(d_rows, row_bytes, count, d_out, result_count, stream);
  if (row_bytes % 2 == 0) return Reverse<uint16_t>(d_rows, row_bytes, count, d_out, result_count, stream);
  return Reverse<uint8_t>(d_rows, row_bytes, count, d_out, result_count, stream);
}

cudaError_t FillSequence(void* d_indices, int index_bytes, int64_t first, int64_t step, int64_t count,
                         cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(count, kTile));
  if (index_bytes == 4) {
    SequenceKernel<<<blocks, kThreads, 0, stream>>>(static_cast<uint32_t*>(d_indices), first, step, count);
  } else {
    SequenceKernel<<<blocks, kThreads, 0, stream>>>(static_cast<uint64_t*>(d_indices), first, step, count);
  }
  return cudaGetLastError();
}

}  // namespace corank::cuda
