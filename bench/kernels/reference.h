// The references: CUB and Thrust of the CUDA Toolkit, on the caller's stream.
//
// Counts are below 2^31 and go to CUB as int, its fastest offset type. As in CUB itself, a function with a null
// workspace only writes the bytes it needs to *workspace_bytes.
#ifndef CORANK_BENCH_KERNELS_REFERENCE_H_
#define CORANK_BENCH_KERNELS_REFERENCE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/group.h"
#include "kernels/common/sets.h"

namespace corank::bench {

/// All arrays hold `count` elements; inputs stay unchanged.
template <typename Key, typename Value = uint32_t>
struct SortReference {
  const Key* keys_in = nullptr;
  Key* keys_out = nullptr;
  const Value* values_in = nullptr;
  Value* values_out = nullptr;
  int64_t count = 0;
};

/// cub::DeviceRadixSort::SortKeys and cub::DeviceMergeSort::SortKeysCopy. Key: int32_t (radix only), uint32_t,
/// uint64_t.
template <typename Key>
cudaError_t CubRadixSortKeys(const SortReference<Key>& args, void* d_workspace, size_t* workspace_bytes,
                             cudaStream_t stream);
template <typename Key>
cudaError_t CubMergeSortKeys(const SortReference<Key>& args, void* d_workspace, size_t* workspace_bytes,
                             cudaStream_t stream);

/// cub::DeviceRadixSort::SortPairs and cub::DeviceMergeSort::SortPairsCopy. Key: uint32_t, uint64_t, and with values of
/// uint64_t: uint64_t.
template <typename Key, typename Value>
cudaError_t CubRadixSortPairs(const SortReference<Key, Value>& args, void* d_workspace, size_t* workspace_bytes,
                              cudaStream_t stream);
template <typename Key, typename Value>
cudaError_t CubMergeSortPairs(const SortReference<Key, Value>& args, void* d_workspace, size_t* workspace_bytes,
                              cudaStream_t stream);

/// Sorted keys and, unless `values` is null, a value for each.
template <typename Key>
struct MergeRange {
  const Key* keys = nullptr;
  const uint32_t* values = nullptr;
  int64_t count = 0;
};

/// cub::DeviceMerge::MergeKeys or, with values in both ranges, MergePairs. Key: uint32_t, uint64_t.
template <typename Key>
cudaError_t CubMerge(const MergeRange<Key>& a, const MergeRange<Key>& b, Key* d_keys_out, uint32_t* d_values_out,
                     void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// cub::DeviceSegmentedSort::StableSortKeys.
cudaError_t CubSegmentedSort(const uint32_t* d_in, uint32_t* d_out, int64_t count, const int64_t* d_offsets,
                             int64_t segments, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// cub::DeviceSegmentedSort::StableSortPairs.
cudaError_t CubSegmentedSortPairs(const SortReference<uint32_t>& args, const int64_t* d_offsets, int64_t segments,
                                  void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// cub::DeviceCopy::Batched: counts[i] elements from source + source_offsets[i] to destination +
/// destination_offsets[i].
cudaError_t CubBatchedCopy(const uint32_t* d_source, uint32_t* d_destination, const int64_t* d_source_offsets,
                           const int64_t* d_destination_offsets, const int64_t* d_counts, int64_t intervals,
                           void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// cub::DeviceRunLengthEncode::Encode and, of sums, cub::DeviceReduce::ReduceByKey. Outputs have room for `count`
/// elements.
cudaError_t CubRunLengthEncode(const uint32_t* d_keys, int64_t count, uint32_t* d_distinct, int64_t* d_counts,
                               int64_t* d_runs, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);
cudaError_t CubReduceByKey(const uint32_t* d_keys, const uint64_t* d_values, int64_t count, uint32_t* d_distinct,
                           uint64_t* d_sums, int64_t* d_runs, void* d_workspace, size_t* workspace_bytes,
                           cudaStream_t stream);

/// thrust::set_union and its siblings. `d_out` has room for the keys of both sides. Waits for the result; *count
/// receives its length.
cudaError_t ThrustSets(SetOperation operation, const uint32_t* d_left, int64_t left_count, const uint32_t* d_right,
                       int64_t right_count, uint32_t* d_out, int64_t* count, void* d_workspace, size_t workspace_bytes,
                       cudaStream_t stream);

/// A sort of the right side with its row numbers, thrust::lower_bound and upper_bound of the left, a scan of the
/// partners, and a scatter with a scan of maxima for the rows. Row numbers in the order of corank's join. Waits for the
/// number of rows, which *rows receives; cudaErrorInvalidValue if the outputs have no room for them.
cudaError_t ThrustInnerJoin(const int32_t* d_left, int64_t left_count, const int32_t* d_right, int64_t right_count,
                            uint32_t* d_left_out, uint32_t* d_right_out, int64_t room, int64_t* rows, void* d_workspace,
                            size_t workspace_bytes, cudaStream_t stream);

/// Selects the elements whose flag is not 0, or, without flags, those below the threshold. `out` has room for `count`
/// elements.
struct SelectReference {
  const uint32_t* elements = nullptr;
  const uint8_t* flags = nullptr;
  uint32_t threshold = 0;
  int64_t count = 0;
  uint32_t* out = nullptr;
  int64_t* count_out = nullptr;
};

/// cub::DeviceSelect::Flagged and If.
cudaError_t CubSelect(const SelectReference& args, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// cub::DevicePartition::Flagged and If, which write the other elements from the end backwards.
cudaError_t CubPartition(const SelectReference& args, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// A scan of the heads of groups, or thrust::sequence. The ranks of sorted keys; not kMax, not kAverage.
cudaError_t ThrustRanks(RankMethod method, const uint32_t* d_keys, int64_t count, uint32_t* d_ranks, void* d_workspace,
                        size_t workspace_bytes, cudaStream_t stream);

/// The same by a scan for each segment of `segment` keys. Only kDense.
cudaError_t ThrustSegmentRanks(const uint32_t* d_keys, int64_t count, uint32_t segment, uint32_t* d_ranks,
                               void* d_workspace, size_t workspace_bytes, cudaStream_t stream);

/// Inserts elements at ascending positions: thrust::merge_by_key merges the positions with the indices of all elements.
cudaError_t ThrustInsert(const uint32_t* d_elements, int64_t count, const uint32_t* d_positions,
                         const uint32_t* d_inserted, int64_t inserted, uint32_t* d_out, void* d_workspace,
                         size_t workspace_bytes, cudaStream_t stream);

/// Fills the flags, clears those at the positions, and selects by them. `d_flags`: args.count bytes of workspace, which
/// args.flags points to.
cudaError_t CubRemove(const SelectReference& args, const int64_t* d_positions, int64_t removed, uint8_t* d_flags,
                      void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// cub::DeviceScan::ExclusiveSum.
cudaError_t CubExclusiveSum(const int64_t* d_in, int64_t* d_out, int64_t count, void* d_workspace,
                            size_t* workspace_bytes, cudaStream_t stream);

/// thrust::upper_bound of the positions 0 to total - 1 in `d_offsets`: one more than the object of each work item.
cudaError_t ThrustUpperBound(const int64_t* d_offsets, int64_t objects, int64_t total, uint32_t* d_out,
                             cudaStream_t stream);

/// The `limit` least keys in order. `d_unordered`: workspace for as many.
template <typename Key>
struct TopKReference {
  const Key* keys_in = nullptr;
  int64_t count = 0;
  int64_t limit = 0;
  Key* d_unordered = nullptr;
  Key* keys_out = nullptr;
};

/// cub::DeviceTopK, then cub::DeviceRadixSort of its results. Key: uint32_t, float. cudaErrorNotSupported where the
/// build has found no CCCL 3.5 (scripts/cuda.sh).
template <typename Key>
cudaError_t CubTopK(const TopKReference<Key>& args, void* d_workspace, size_t* workspace_bytes, cudaStream_t stream);

/// thrust::lower_bound of needles in any order.
cudaError_t ThrustLowerBound(const uint64_t* d_haystack, int64_t haystack_count, const uint64_t* d_needles,
                             int64_t needle_count, uint32_t* d_out, cudaStream_t stream);

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_REFERENCE_H_
