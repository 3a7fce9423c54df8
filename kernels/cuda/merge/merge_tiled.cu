// The textbook's tiled merge kernel.
//
// Algorithm: a block merges its section tile by tile. It loads the next kTile keys of both inputs to shared memory,
//            coalesced, and merges their first kTile outputs, one piece for each thread. Then it starts again after the
//            consumed keys. On average, half of the loaded keys are loaded again.
// Work: O(n + n / kItems * log(tile)).
// Memory: two reads of the keys, one of the values, one write of both.
// Workspace: 8 bytes for each section (the splits).
// Stability: equal keys of a come first.
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, "Programming Massively Parallel Processors", 4th ed., section 12.5.
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

using Tuning = StagedMergeTuning;

template <typename Value, typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    TiledMergeKernel(const __grid_constant__ MergeGroup group, KeyOrder<Bits, kFloat> order, MergeSplits splits) {
  __shared__ Bits s_a[Tuning::kTile];
  __shared__ Bits s_b[Tuning::kTile];
  __shared__ int s_splits[Tuning::kThreads + 1];
  const MergePair& pair = group.pairs[FindPair(group, blockIdx.x)];
  const auto section = LoadSection<Bits, Value>(group, pair, blockIdx.x, Tuning::kSection, splits);
  const KeyBefore<Bits, kFloat> before{order};
  const int thread = static_cast<int>(threadIdx.x);

  int a_done = 0, b_done = 0;
  while (a_done + b_done < section.count()) {
    const int a_count = min(Tuning::kTile, section.a_count - a_done);
    const int b_count = min(Tuning::kTile, section.b_count - b_done);
    for (int i = thread; i < a_count; i += Tuning::kThreads) s_a[i] = section.a_keys[a_done + i];
    for (int i = thread; i < b_count; i += Tuning::kThreads) s_b[i] = section.b_keys[b_done + i];
    __syncthreads();

    const int outputs = min(Tuning::kTile, a_count + b_count);
    const ThreadPiece piece =
        SplitTile<Tuning::kThreads, Tuning::kItems>(s_a, a_count, s_b, b_count, outputs, before, s_splits);
    SerialMerge(s_a, piece.a_begin, piece.a_end, s_b, piece.b_begin, piece.b_end, piece.steps, before,
                [&](int step, bool from_a, int i) {
                  section.Emit(a_done + b_done + piece.diagonal + step, from_a, i + (from_a ? a_done : b_done),
                               from_a ? s_a[i] : s_b[i]);
                });
    a_done += piece.tile_a_count;
    b_done += outputs - piece.tile_a_count;
    __syncthreads();
  }
}

}  // namespace

cudaError_t TiledMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits, cudaStream_t stream) {
  return WithMergeTypes(kind, [&](auto order, auto value) {
    TiledMergeKernel<decltype(value)>
        <<<static_cast<unsigned>(group.sections), Tuning::kThreads, 0, stream>>>(group, order, splits);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
