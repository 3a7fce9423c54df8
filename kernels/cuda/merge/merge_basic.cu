// The textbook's basic merge kernel.
//
// Algorithm: each thread finds the co-rank of its first output in global memory, and serially merges its piece from
//            there to global memory. It searches in the block's section (found by PartitionMerge) rather than in the
//            whole arrays.
// Work: O(n + n / kItems * log(section)).
// Memory: one uncoalesced read and write of keys and values.
// Workspace: 8 bytes for each section (the splits).
// Stability: equal keys of a come first.
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, "Programming Massively Parallel Processors", 4th ed., section 12.4.
#include "kernels/cuda/merge/merge_device.cuh"
#include "kernels/cuda/merge/merge_tuning.h"

namespace corank::cuda {
namespace {

using Tuning = BasicMergeTuning;

template <typename Value, typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    BasicMergeKernel(const __grid_constant__ MergeGroup group, KeyOrder<Bits, kFloat> order, MergeSplits splits) {
  __shared__ int s_splits[Tuning::kThreads + 1];
  const MergePair& pair = group.pairs[FindPair(group, blockIdx.x)];
  const auto section = LoadSection<Bits, Value>(group, pair, blockIdx.x, Tuning::kTile, splits);
  const Bits* const a = section.a_keys;
  const Bits* const b = section.b_keys;
  const KeyBefore<Bits, kFloat> before{order};
  const ThreadPiece piece = SplitTile<Tuning::kThreads, Tuning::kItems>(a, section.a_count, b, section.b_count,
                                                                        section.count(), before, s_splits);
  SerialMerge(
      a, piece.a_begin, piece.a_end, b, piece.b_begin, piece.b_end, piece.steps, before,
      [&](int step, bool from_a, int i) { section.Emit(piece.diagonal + step, from_a, i, from_a ? a[i] : b[i]); });
}

}  // namespace

cudaError_t BasicMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits, cudaStream_t stream) {
  return WithMergeTypes(kind, [&](auto order, auto value) {
    BasicMergeKernel<decltype(value)>
        <<<static_cast<unsigned>(group.sections), Tuning::kThreads, 0, stream>>>(group, order, splits);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
