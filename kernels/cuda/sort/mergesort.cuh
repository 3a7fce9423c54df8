// Mergesort: a block sort, then merge passes that double the runs until one is left.
//
// Algorithm: see block_sort.cuh and merge_pass.cuh. Codes travel between the passes; the first pass encodes, the last
//            decodes. With `limit`, the last pass makes only the tiles that are wanted. With segments, each merge
//            touches only the one segment across its two runs, so that the work is bounded by the sort of the whole
//            array however many segments there are and however long they are; no host round trip.
// Work: O(n log n). Memory: 1 + log2(n / tile) reads and writes of keys and payload.
// Workspace: one array of keys, one of payload; another of each where the result is shorter than the input or keys
//            are not wanted; 8 bytes a merge tile (24 with segments); with segments, 1 bit a key.
// Stability: stable.
// Source: S. Baxter, moderngpu, 2013.
#ifndef CORANK_KERNELS_CUDA_SORT_MERGESORT_CUH_
#define CORANK_KERNELS_CUDA_SORT_MERGESORT_CUH_

#include <cstdint>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/block_sort.cuh"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/merge_pass.cuh"
#include "kernels/cuda/sort/pass_buffers.h"
#include "kernels/cuda/sort/segments.h"

namespace corank::cuda {

template <bool kPayload, bool kSegmented, typename KeyOrderType>
cudaError_t RunMergesort(const KeyOrderType& order, const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  using Bits = typename KeyOrderTraits<KeyOrderType>::Bits;
  constexpr MergesortForm kForm = kPayload                               ? MergesortForm::kPayload
                                  : KeyOrderTraits<KeyOrderType>::kFloat ? MergesortForm::kFloatKeys
                                                                         : MergesortForm::kKeys;
  constexpr MergesortTuning kTuning = MergesortTuningFor(sizeof(Bits), kForm);
  constexpr int kMergeTile = kTuning.MergeTile();
  static_assert(kTuning.SortTile() % kMergeTile == 0, "a merge tile must not cross a pair of runs");

  const int64_t sort_tiles = CeilDiv(sort.count, kTuning.SortTile());
  const int64_t result_tiles = CeilDiv(sort.result_count, kMergeTile);
  const int64_t merge_tiles = CeilDiv(sort.count, kMergeTile);
  const int last_pass = CeilLog2(sort_tiles);
  const PassBuffers keys(workspace, sort.d_keys_out, sort.OutputsAreWhole(),
                         sort.count * static_cast<int64_t>(sizeof(Bits)), last_pass);
  const PassBuffers payload(workspace, sort.d_payload_out, sort.OutputsAreWhole(), sort.count * sort.payload_bytes,
                            kPayload ? last_pass : 0);
  int64_t* const d_splits = workspace.Carve<int64_t>(last_pass > 0 ? merge_tiles + 1 : 0);
  ActiveRange* const d_active = workspace.Carve<ActiveRange>(kSegmented && last_pass > 0 ? merge_tiles + 1 : 0);
  // One word more than the tiles have: a thread reads the two words that its items may lie in.
  const int64_t head_words = kSegmented ? sort_tiles * kTuning.SortTile() / 32 + 1 : 0;
  uint32_t* const d_heads = workspace.Carve<uint32_t>(head_words);
  if (workspace.IsSizing()) return cudaSuccess;

  if constexpr (kSegmented) {
    CORANK_RETURN_IF_CUDA_ERROR(
        MarkSegmentHeads(sort.d_segment_offsets, sort.segment_count, d_heads, head_words, stream));
  }
  BlockSortPass<KeyOrderType> first{};
  first.order = order;
  first.keys_in = static_cast<const Bits*>(sort.d_keys_in);
  first.keys_out = static_cast<Bits*>(keys.Output(0));
  first.payload_in = sort.d_payload_in;
  first.payload_out = kPayload ? payload.Output(0) : nullptr;
  first.payload_bytes = sort.payload_bytes;
  first.count = sort.count;
  first.result_count = last_pass == 0 ? sort.result_count : sort.count;
  first.segment_heads = d_heads;
  first.last = last_pass == 0;
  BlockSortKernel<KeyOrderType, kForm, kSegmented>
      <<<static_cast<unsigned>(sort_tiles), kTuning.sort_threads, 0, stream>>>(first);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());

  for (int pass_index = 1; pass_index <= last_pass; ++pass_index) {
    const bool last = pass_index == last_pass;
    const int64_t tiles = last ? result_tiles : merge_tiles;
    MergePass<KeyOrderType> pass{};
    pass.order = order;
    pass.keys_in = static_cast<const Bits*>(keys.Output(pass_index - 1));
    pass.keys_out = static_cast<Bits*>(keys.Output(pass_index));
    pass.payload_in = kPayload ? payload.Output(pass_index - 1) : nullptr;
    pass.payload_out = kPayload ? payload.Output(pass_index) : nullptr;
    pass.payload_bytes = sort.payload_bytes;
    pass.count = sort.count;
    pass.result_count = last ? sort.result_count : sort.count;
    pass.width = int64_t{kTuning.SortTile()} << (pass_index - 1);
    pass.splits = d_splits;
    pass.active = d_active;
    pass.segment_offsets = sort.d_segment_offsets;
    pass.segment_count = sort.segment_count;
    pass.last = last;
    PartitionKernel<KeyOrderType, kMergeTile, kSegmented>
        <<<static_cast<unsigned>(CeilDiv(tiles + 1, kPartitionThreads)), kPartitionThreads, 0, stream>>>(pass,
                                                                                                         tiles + 1);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    MergeKernel<KeyOrderType, kPayload, kTuning.items, kTuning.merge_threads, kSegmented>
        <<<static_cast<unsigned>(tiles), kTuning.merge_threads, 0, stream>>>(pass);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  return cudaSuccess;
}

/// Mergesort for one kind of key: explicitly instantiated in the mergesort_u*.cu files, one for each key width.
template <typename KeyOrderType>
cudaError_t MergesortWith(const KeyOrderType& order, const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  const bool payload = sort.payload_bytes != 0;
  if constexpr (!KeyOrderTraits<KeyOrderType>::kFloat) {
    if (sort.d_segment_offsets != nullptr) {
      return payload ? RunMergesort<true, true>(order, sort, workspace, stream)
                     : RunMergesort<false, true>(order, sort, workspace, stream);
    }
  }
  return payload ? RunMergesort<true, false>(order, sort, workspace, stream)
                 : RunMergesort<false, false>(order, sort, workspace, stream);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MERGESORT_CUH_
