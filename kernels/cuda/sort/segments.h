// Segment heads as bits, for the block sort.
#ifndef CORANK_KERNELS_CUDA_SORT_SEGMENTS_H_
#define CORANK_KERNELS_CUDA_SORT_SEGMENTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// Sets bit offsets[s] for every segment s that is not empty, and bit offsets[segment_count], where the bit exists;
/// clears all others of the bit_words words. Bit b is bit b % 32 of word b / 32. Enqueues a fill and one launch.
cudaError_t MarkSegmentHeads(const int64_t* d_offsets, int64_t segment_count, uint32_t* d_heads, int64_t bit_words,
                             cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SEGMENTS_H_
