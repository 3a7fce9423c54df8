// Gathers strings of variable length by row number.
//
// Algorithm: the offsets of the output are prefix sums of the strings' lengths in their new order. A block then takes
//            4096 bytes of the output, whatever the number of strings in them. One binary search finds the strings that
//            touch these bytes; each thread searches among them for the string of its first byte and copies 16 bytes
//            from there on. Many blocks thus share a long string, and one block copies many short ones.
// Work: O(bytes + n).
// Memory: one random read of the offsets for the lengths and one for the copy; one random read and one write of the
//         bytes.
// Workspace: that of CUB's scan; the offsets once more if only the device knows the number of strings.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>

#include "kernels/common/merge_path.h"
#include "kernels/common/row_order.h"
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/strings.h"
#include "kernels/cuda/common/launch.h"

namespace corank::cuda {
namespace {

using Tuning = ColumnTuning;
static_assert(Tuning::kStringBytes == 16, "a thread holds its bytes in two words");

template <typename Index>
struct LengthOfRow {
  const int64_t* offsets;
  const Index* rows;
  const int64_t* known_count;  // null: every row counts
  __host__ __device__ int64_t operator()(int64_t i) const {
    if (known_count != nullptr && i >= *known_count) return 0;
    const auto row = static_cast<int64_t>(rows[i]);
    return offsets[row + 1] - offsets[row];
  }
};

template <typename Index>
__global__ void __launch_bounds__(Tuning::kThreads)
    CopyStringsKernel(const uint8_t* data, const int64_t* offsets, const Index* rows, const int64_t* offsets_out,
                      int64_t count, uint8_t* data_out) {
  const auto before = [](int64_t x, int64_t y) { return x < y; };
  __shared__ int64_t tile_rows[2];  // the first string that touches the tile, and the one after the last
  const int64_t total = offsets_out[count];
  for (int64_t tile = int64_t{blockIdx.x} * Tuning::kStringTile; tile < total;
       tile += int64_t{gridDim.x} * Tuning::kStringTile) {
    const int64_t tile_end = min(tile + Tuning::kStringTile, total);
    __syncthreads();
    if (threadIdx.x == 0) tile_rows[0] = UpperBound(offsets_out, count + 1, tile, before) - 1;
    if (threadIdx.x == 32) tile_rows[1] = LowerBound(offsets_out, count + 1, tile_end, before);
    __syncthreads();
    const int64_t begin = tile + int64_t{threadIdx.x} * Tuning::kStringBytes;
    const int64_t end = min(begin + Tuning::kStringBytes, tile_end);
    if (begin >= end) continue;
    const int64_t first = tile_rows[0];
    int64_t string = first + UpperBound(offsets_out + first, tile_rows[1] - first, begin, before) - 1;
    uint64_t low = 0, high = 0;  // the bytes of the thread
    for (int64_t at = begin; at < end; ++string) {
      const int64_t string_begin = offsets_out[string], string_end = min(offsets_out[string + 1], end);
      const uint8_t* from = data + offsets[static_cast<int64_t>(rows[string])] - string_begin;
      while (at < string_end) {
        const uint64_t bytes = LoadBytes(from + at, string_end - at);
        const int place = static_cast<int>(at - begin);
        if (place < 8) {
          low |= bytes << (8 * place);
          if (place > 0) high |= bytes >> (64 - 8 * place);
        } else {
          high |= bytes << (8 * place - 64);
        }
        at = min(at + 8, string_end);
      }
    }
    if (end - begin == Tuning::kStringBytes && reinterpret_cast<uintptr_t>(data_out) % 16 == 0) {
      *reinterpret_cast<ulonglong2*>(data_out + begin) = {low, high};
    } else {
      for (int64_t at = begin; at < end; ++at) {
        const int place = static_cast<int>(at - begin);
        data_out[at] = static_cast<uint8_t>((place < 8 ? low : high) >> (8 * (place % 8)));
      }
    }
  }
}

__global__ void __launch_bounds__(Tuning::kThreads)
    CopyOffsetsKernel(const int64_t* from, const int64_t* count, int64_t* to) {
  const int64_t offset = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x;
  if (offset <= *count) to[offset] = from[offset];
}

template <typename Index>
cudaError_t Gather(const KeyColumn& column, const Index* d_rows, int64_t count, const int64_t* d_count,
                   Workspace& workspace, cudaStream_t stream) {
  // Where only the device knows the number of strings, the output may have no room for `count`.
  auto* const d_scratch = workspace.Carve<int64_t>(d_count != nullptr ? count + 1 : 0);
  int64_t* const d_offsets = d_count != nullptr ? d_scratch : column.offsets_out;
  const auto lengths = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                       LengthOfRow<Index>{column.offsets, d_rows, d_count});
  size_t temporary_bytes = 0;
  CORANK_RETURN_IF_CUDA_ERROR(
      cub::DeviceScan::InclusiveSum(nullptr, temporary_bytes, lengths, d_offsets, count, stream));
  void* const d_temporary = workspace.CarveBytes(static_cast<int64_t>(temporary_bytes));
  if (workspace.IsSizing()) return cudaSuccess;

  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_offsets, 0, sizeof(int64_t), stream));
  if (count == 0) return cudaSuccess;
  CORANK_RETURN_IF_CUDA_ERROR(
      cub::DeviceScan::InclusiveSum(d_temporary, temporary_bytes, lengths, d_offsets + 1, count, stream));
  if (d_count != nullptr) {
    const auto blocks = static_cast<unsigned>(CeilDiv(count + 1, int64_t{Tuning::kThreads}));
    CopyOffsetsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(d_offsets, d_count, column.offsets_out);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  if (column.data_bytes == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(min(CeilDiv(column.data_bytes, Tuning::kStringTile), int64_t{1} << 20));
  CopyStringsKernel<<<blocks, Tuning::kThreads, 0, stream>>>(static_cast<const uint8_t*>(column.data), column.offsets,
                                                             d_rows, d_offsets, count,
                                                             static_cast<uint8_t*>(column.data_out));
  return cudaGetLastError();
}

}  // namespace

cudaError_t GatherStrings(const KeyColumn& column, const void* d_rows, int index_bytes, int64_t count,
                          const int64_t* d_count, Workspace& workspace, cudaStream_t stream) {
  return index_bytes == 4 ? Gather(column, static_cast<const uint32_t*>(d_rows), count, d_count, workspace, stream)
                          : Gather(column, static_cast<const uint64_t*>(d_rows), count, d_count, workspace, stream);
}

}  // namespace corank::cuda
