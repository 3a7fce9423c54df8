// The interface between the merge kernels: a group of pairs of sorted arrays that one launch merges.
#ifndef CORANK_KERNELS_CUDA_MERGE_MERGE_GROUP_H_
#define CORANK_KERNELS_CUDA_MERGE_MERGE_GROUP_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"

namespace corank::cuda {

/// Two sorted arrays and the place of their merge.
struct MergePair {
  const void* a_keys;
  const void* b_keys;
  const void* a_values;  // null: the value of element i is the number a_first + i
  const void* b_values;
  int64_t a_count;
  int64_t b_count;
  int64_t a_first;
  int64_t b_first;
  void* keys_out;
  void* values_out;
  int64_t first_section;  // the number of the pair's first section within the group
  int32_t a_input;        // the numbers of the inputs in reports; -1: not an input
  int32_t b_input;

  CORANK_HOST_DEVICE int64_t count() const { return a_count + b_count; }
};

/// A kernel argument: no table in device memory, nothing to upload.
struct MergeGroup {
  static constexpr int kMaxPairs = 32;
  MergePair pairs[kMaxPairs];
  int32_t size = 0;
  int64_t sections = 0;  // of all pairs
};
static_assert(sizeof(MergeGroup) <= 4096, "a kernel argument");

/// The starts of a group's sections, and whether its pairs can be merged.
struct MergeSplits {
  int64_t* d_splits;  // for each section of the group: the co-rank in a of its first output
  int32_t* d_broken;  // for each pair: not 0 if the splits do not ascend, so that an input is unsorted
  int32_t* d_any_broken;
};

/// The order of a merge, and the width of its values.
struct MergeKind {
  KeyType key_type;
  Order order;
  int value_bytes;  // 0, 4 or 8

  /// Whether AUTO streams two inputs (BulkMerge). With shorter keys, instructions are the bottleneck.
  constexpr bool IsBulk() const { return value_bytes == 0 && KeyBytes(key_type) >= 4; }
};

/// Enqueues the search of all splits of a group. splits.d_broken must be 0.
cudaError_t PartitionMerge(const MergeGroup& group, const MergeKind& kind, int64_t section_size,
                           const MergeSplits& splits, cudaStream_t stream);

/// Enqueue the merge of a group whose partition used MergeSectionSize of the same algorithm. d_unsorted: null, or the
/// cell for the first key that is out of order in pairs with input numbers; complete unless a pair is broken.
cudaError_t PathMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits,
                      unsigned long long* d_unsorted, cudaStream_t stream);
cudaError_t BasicMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits, cudaStream_t stream);
cudaError_t TiledMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits, cudaStream_t stream);
cudaError_t CircularBufferMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits,
                                cudaStream_t stream);

/// The device memory of BulkMerge. Zero before.
struct BulkMergeState {
  int32_t suspect;        // not 0 afterwards if an input is unsorted: then the output means nothing
  uint32_t next_section;  // the next section for a block to take
};

/// Enqueues the merge of one pair with kind.IsBulk(). Needs no partition.
cudaError_t BulkMerge(const MergePair& pair, const MergeKind& kind, BulkMergeState* d_state, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_GROUP_H_
