// The textbook's merge kernel with circular buffers.
//
// Algorithm: as the tiled kernel, but keys that a tile does not consume stay in shared memory. The buffers are refilled
//            after them, so that every key is loaded once.
// Work: O(n + n / kItems * log(tile)).
// Memory: one read and one write of keys and values.
// Workspace: 8 bytes for each section (the splits).
// Stability: equal keys of a come first.
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, "Programming Massively Parallel Processors", 4th ed., section 12.6.
#include "kernels/cuda/merge/circular_buffer.h"
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

using Tuning = StagedMergeTuning;

/// Fills the buffer from keys[loaded, count). Returns the number of keys loaded so far.
template <typename Bits>
__device__ __forceinline__ int Fill(CircularBuffer<Bits>& buffer, const Bits* keys, int loaded, int count) {
  const int more = min(buffer.room(), count - loaded);
  for (int i = threadIdx.x; i < more; i += Tuning::kThreads) buffer[buffer.size() + i] = keys[loaded + i];
  buffer.Push(more);
  return loaded + more;
}

template <typename Value, typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    CircularBufferMergeKernel(const __grid_constant__ MergeGroup group, KeyOrder<Bits, kFloat> order,
                              MergeSplits splits) {
  __shared__ Bits s_a[Tuning::kTile];
  __shared__ Bits s_b[Tuning::kTile];
  __shared__ int s_splits[Tuning::kThreads + 1];
  const MergePair& pair = group.pairs[FindPair(group, blockIdx.x)];
  const auto section = LoadSection<Bits, Value>(group, pair, blockIdx.x, Tuning::kSection, splits);
  const KeyBefore<Bits, kFloat> before{order};

  CircularBuffer<Bits> a(s_a, Tuning::kTile), b(s_b, Tuning::kTile);
  int a_loaded = 0, b_loaded = 0, a_done = 0, b_done = 0;
  while (a_done + b_done < section.count()) {
    a_loaded = Fill(a, section.a_keys, a_loaded, section.a_count);
    b_loaded = Fill(b, section.b_keys, b_loaded, section.b_count);
    __syncthreads();

    const int outputs = min(Tuning::kTile, a.size() + b.size());
    const ThreadPiece piece =
        SplitTile<Tuning::kThreads, Tuning::kItems>(a, a.size(), b, b.size(), outputs, before, s_splits);
    SerialMerge(a, piece.a_begin, piece.a_end, b, piece.b_begin, piece.b_end, piece.steps, before,
                [&](int step, bool from_a, int i) {
                  section.Emit(a_done + b_done + piece.diagonal + step, from_a, i + (from_a ? a_done : b_done),
                               from_a ? a[i] : b[i]);
                });
    a.Pop(piece.tile_a_count);
    b.Pop(outputs - piece.tile_a_count);
    a_done += piece.tile_a_count;
    b_done += outputs - piece.tile_a_count;
    __syncthreads();
  }
}

}  // namespace

cudaError_t CircularBufferMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits,
                                cudaStream_t stream) {
  return WithMergeTypes(kind, [&](auto order, auto value) {
    CircularBufferMergeKernel<decltype(value)>
        <<<static_cast<unsigned>(group.sections), Tuning::kThreads, 0, stream>>>(group, order, splits);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
