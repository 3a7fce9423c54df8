// What the merge kernels share: a group of pairs of sorted arrays that one launch merges.
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
  int64_t first_section;  // the number of its first section within the group
  int32_t a_input;        // the numbers of the inputs, for reports of unsorted inputs; -1: not an input
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

/// Where the sections of a group start, and whether its pairs can be merged.
struct MergeSplits {
  int64_t* d_splits;  // per section of the group: the co-rank in a of the section's first output
  int32_t* d_broken;  // per pair: not 0 when the splits do not ascend, which shows that an input is not sorted
  int32_t* d_any_broken;
};

/// How a merge orders and what it carries.
struct MergeKind {
  KeyType key_type;
  Order order;
  int value_bytes;  // 0, 4 or 8

  /// Whether AUTO streams two inputs (BulkMerge): keys are not so short that the instructions bind.
  constexpr bool IsBulk() const { return value_bytes == 0 && KeyBytes(key_type) >= 4; }
};

/// Enqueues the search of all splits of a group. splits.d_broken is 0 before.
cudaError_t PartitionMerge(const MergeGroup& group, const MergeKind& kind, int64_t section_size,
                           const MergeSplits& splits, cudaStream_t stream);

/// Enqueue the merge of a group that was partitioned with MergeSectionSize of their algorithm. d_unsorted: null, or the
/// cell for the first key out of order in pairs with input numbers; complete unless a pair is broken.
cudaError_t PathMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits,
                      unsigned long long* d_unsorted, cudaStream_t stream);
cudaError_t BasicMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits, cudaStream_t stream);
cudaError_t TiledMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits, cudaStream_t stream);
cudaError_t CircularBufferMerge(const MergeGroup& group, const MergeKind& kind, const MergeSplits& splits,
                                cudaStream_t stream);

/// What BulkMerge needs in device memory; of zero bytes before.
struct BulkMergeState {
  int32_t suspect;        // not 0 afterwards where an input is not sorted: then the output means nothing
  uint32_t next_section;  // that no block has taken
};

/// Enqueues the merge of one pair of kind.IsBulk(); no partition goes before.
cudaError_t BulkMerge(const MergePair& pair, const MergeKind& kind, BulkMergeState* d_state, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_MERGE_GROUP_H_
