// Gathers rows by index.
//
// Algorithm: a block takes 256 rows. Its threads walk the block's units (the largest power of two, up to 16 bytes, that
//            divides a row), so that a warp writes adjacent units and reads each row in one piece.
// Work: O(count * row_bytes).
// Memory: one read of the indices, one random read of the rows, one write of the output.
// Workspace: none.
#include "kernels/common/types.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = 256;

template <typename Unit, typename Index>
__global__ void __launch_bounds__(kThreads) GatherKernel(const Unit* rows, int units_per_row, const Index* indices,
                                                         Unit* out, int64_t count, const int64_t* known_count) {
  if (known_count != nullptr) count = *known_count;
  const int64_t first_row = int64_t{blockIdx.x} * kRowsPerBlock;
  if (first_row >= count) return;
  const int row_count = static_cast<int>(min(int64_t{kRowsPerBlock}, count - first_row));
  const int unit_count = row_count * units_per_row;
  for (int unit = threadIdx.x; unit < unit_count; unit += kThreads) {
    const int row = unit / units_per_row;
    const int64_t source = static_cast<int64_t>(indices[first_row + row]);
    out[first_row * units_per_row + unit] = rows[source * units_per_row + (unit - row * units_per_row)];
  }
}

template <typename Unit>
cudaError_t Gather(const void* d_rows, int row_bytes, const void* d_indices, int index_bytes, void* d_out,
                   int64_t count, cudaStream_t stream, const int64_t* d_count) {
  const auto blocks = static_cast<unsigned>(CeilDiv(count, kRowsPerBlock));
  const int units_per_row = row_bytes / static_cast<int>(sizeof(Unit));
  const auto* rows = static_cast<const Unit*>(d_rows);
  auto* out = static_cast<Unit*>(d_out);
  if (index_bytes == 4) {
    GatherKernel<<<blocks, kThreads, 0, stream>>>(rows, units_per_row, static_cast<const uint32_t*>(d_indices), out,
                                                  count, d_count);
  } else {
    GatherKernel<<<blocks, kThreads, 0, stream>>>(rows, units_per_row, static_cast<const uint64_t*>(d_indices), out,
                                                  count, d_count);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t GatherRows(const void* d_rows, int row_bytes, const void* d_indices, int index_bytes, void* d_out,
                       int64_t count, cudaStream_t stream, const int64_t* d_count) {
  if (count == 0) return cudaSuccess;
  if (row_bytes % 16 == 0)
    return Gather<uint4>(d_rows, row_bytes, d_indices, index_bytes, d_out, count, stream, d_count);
  if (row_bytes % 8 == 0)
    return Gather<uint64_t>(d_rows, row_bytes, d_indices, index_bytes, d_out, count, stream, d_count);
  if (row_bytes % 4 == 0)
    return Gather<uint32_t>(d_rows, row_bytes, d_indices, index_bytes, d_out, count, stream, d_count);
  if (row_bytes % 2 == 0)
    return Gather<uint16_t>(d_rows, row_bytes, d_indices, index_bytes, d_out, count, stream, d_count);
  return Gather<uint8_t>(d_rows, row_bytes, d_indices, index_bytes, d_out, count, stream, d_count);
}

}  // namespace corank::cuda
