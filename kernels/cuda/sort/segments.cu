// Segment heads as bits.
//
// Algorithm: clear, then one thread a segment sets its bit; empty segments set none, so that however many of them share
//            an offset no word is written more than 32 times.
// Work: O(count / 32 + segments). Memory: one write of the bits, one read of the offsets.
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/segments.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    MarkHeadsKernel(const int64_t* offsets, int64_t segment_count, uint32_t* heads, int64_t bit_words) {
  const int64_t segment = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (segment > segment_count) return;
  const int64_t head = offsets[segment];
  if (head / 32 >= bit_words || (segment < segment_count && offsets[segment + 1] == head)) return;
  atomicOr(&heads[head / 32], 1u << (head % 32));
}

}  // namespace

cudaError_t MarkSegmentHeads(const int64_t* d_offsets, int64_t segment_count, uint32_t* d_heads, int64_t bit_words,
                             cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_heads, 0, static_cast<size_t>(bit_words) * 4, stream));
  const auto blocks = static_cast<unsigned>(CeilDiv(segment_count + 1, kThreads));
  MarkHeadsKernel<<<blocks, kThreads, 0, stream>>>(d_offsets, segment_count, d_heads, bit_words);
  return cudaGetLastError();
}

}  // namespace corank::cuda
