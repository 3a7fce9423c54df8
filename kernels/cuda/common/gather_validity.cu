// Gathers bits by row number.
//
// Algorithm: a warp takes 32 rows. Each thread reads the bit of its row, and a ballot puts the bits side by side. Four
//            threads write the four bytes of the word, so that the output needs no alignment.
// Work: O(n).
// Memory: one read of the row numbers, one random read of the bits, one write of the output.
// Workspace: none.
#include "kernels/cuda/common/gather_validity.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/common/warp.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;

template <typename Index>
__global__ void __launch_bounds__(kThreads)
    GatherValidityKernel(const uint8_t* validity, const Index* rows, uint8_t* out, int64_t count,
                         const int64_t* known_count) {
  if (known_count != nullptr) count = *known_count;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  // All lanes of a warp take part in each ballot, so the warp's first row decides whether it goes on.
  for (int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x - lane; first < count; first += stride) {
    bool is_valid = false;
    if (first + lane < count) {
      const Index row = rows[first + lane];
      is_valid = (validity[row / 8] >> (row % 8) & 1) != 0;
    }
    const unsigned word = __ballot_sync(kAllLanes, is_valid);
    if (lane < 4 && first + 8 * lane < count) out[first / 8 + lane] = static_cast<uint8_t>(word >> (8 * lane));
  }
}

template <typename Index>
cudaError_t Gather(const uint8_t* d_validity, const Index* d_rows, uint8_t* d_out, int64_t count, cudaStream_t stream,
                   const int64_t* d_count) {
  const unsigned blocks = LoopingGrid(count, kThreads);
  GatherValidityKernel<<<blocks, kThreads, 0, stream>>>(d_validity, d_rows, d_out, count, d_count);
  return cudaGetLastError();
}

}  // namespace

cudaError_t GatherValidity(const uint8_t* d_validity, const void* d_rows, int index_bytes, uint8_t* d_out,
                           int64_t count, cudaStream_t stream, const int64_t* d_count) {
  if (count == 0) return cudaSuccess;
  return index_bytes == 4 ? Gather(d_validity, static_cast<const uint32_t*>(d_rows), d_out, count, stream, d_count)
                          : Gather(d_validity, static_cast<const uint64_t*>(d_rows), d_out, count, stream, d_count);
}

}  // namespace corank::cuda
