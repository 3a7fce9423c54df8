// Copies the rows of a tile from anywhere to one place.
#ifndef CORANK_KERNELS_CUDA_COMMON_COPY_ROWS_CUH_
#define CORANK_KERNELS_CUDA_COMMON_COPY_ROWS_CUH_

#include <cstdint>

namespace corank::cuda {

template <int kThreads, typename Unit, typename SourceOf>
__device__ __forceinline__ void CopyUnits(int row_bytes, void* out, int64_t first, int count,
                                          const SourceOf& source_of) {
  const int units = row_bytes / static_cast<int>(sizeof(Unit));
  Unit* const to = static_cast<Unit*>(out) + first * units;
  if (units == 1) {
    // Several loads before their stores, which the compiler could not put behind each other.
    constexpr int kBatch = sizeof(Unit) > 4 ? 1 : 4;
    for (int first_of_batch = threadIdx.x; first_of_batch < count; first_of_batch += kThreads * kBatch) {
      Unit batch[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const int i = first_of_batch + j * kThreads;
        if (i < count) batch[j] = *reinterpret_cast<const Unit*>(source_of(i));
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const int i = first_of_batch + j * kThreads;
        if (i < count) to[i] = batch[j];
      }
    }
    return;
  }
  for (int i = threadIdx.x; i < count * units; i += kThreads) {
    const int row = i / units;
    to[i] = reinterpret_cast<const Unit*>(source_of(row))[i - row * units];
  }
}

/// out[first + i] = *source_of(i) for i in [0, count), rows of row_bytes bytes with the alignment of the largest power
/// of two that divides them, at most 16. The whole block calls it.
template <int kThreads, typename SourceOf>
__device__ __forceinline__ void CopyRows(int row_bytes, void* out, int64_t first, int count,
                                         const SourceOf& source_of) {
  if (row_bytes % 16 == 0) return CopyUnits<kThreads, uint4>(row_bytes, out, first, count, source_of);
  if (row_bytes % 8 == 0) return CopyUnits<kThreads, uint64_t>(row_bytes, out, first, count, source_of);
  if (row_bytes % 4 == 0) return CopyUnits<kThreads, uint32_t>(row_bytes, out, first, count, source_of);
  if (row_bytes % 2 == 0) return CopyUnits<kThreads, uint16_t>(row_bytes, out, first, count, source_of);
  CopyUnits<kThreads, uint8_t>(row_bytes, out, first, count, source_of);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_COPY_ROWS_CUH_
