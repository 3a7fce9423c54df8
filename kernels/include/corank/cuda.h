// The operators on one NVIDIA GPU.
//
//   const int64_t bytes = corank::cuda::SortWorkspaceBytes<float>(keys.size());
//   std::byte* d_workspace = ...;  // cudaMalloc of as many bytes
//   corank::cuda::Sort(d_keys, d_sorted, {d_workspace, bytes}, stream);
//
// Spans refer to memory that the current device can read and write, except where a comment says HOST. All functions are
// stable, change no input, and enqueue their work on `stream`, of the current device: the caller keeps all arrays until
// the work is done. Inputs and outputs must not overlap. No function allocates device memory, and only Sort with a
// letter waits. Any thread may call them. This header needs no nvcc: kernels are compiled in corank::kernels.
//
// Workspace: device memory, 256-byte aligned, with at least the bytes that the function ...WorkspaceBytes returns for
// the same operands and options. Calls on one stream may share it.
//
// Key: an integer of 1 to 8 bytes, float, double, __half or __nv_bfloat16. NaNs equal each other and are greater than
// numbers; both zeros are equal. Value, T: any trivially copyable type of up to 256 bytes, in arrays with the alignment
// of the largest power of two, up to 16, that divides its size. Index: uint32_t if the largest possible index fits into
// it, otherwise uint64_t.
//
// Errors: cudaErrorInvalidValue if the sizes, options or alignments of operands do not fit together, or the workspace
// is too small; otherwise the first error of a launch. Offsets and counts are trusted: counts are not negative, their
// sum is the number of elements of the result, and every interval lies within its arrays.
//
// d_report: null, or device-accessible memory that gets, on the stream, the algorithm in use and the first fault found:
// unsorted inputs of Merge and Search, overlapping destinations of MoveIntervals and ScatterIntervals. Outputs are
// unspecified after a fault. Without a report nothing looks for faults; the outputs of Merge and Search are then in a
// wrong order, but in bounds.
#ifndef CORANK_CUDA_H_
#define CORANK_CUDA_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "corank/operands.h"
#include "corank/span.h"
#include "kernels/cuda/group/group.h"
#include "kernels/cuda/intervals/intervals.h"
#include "kernels/cuda/join/join.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/search/search.h"
#include "kernels/cuda/select/select.h"
#include "kernels/cuda/sets/sets.h"
#include "kernels/cuda/sort/sort.h"

struct __half;
struct __nv_bfloat16;

namespace corank::internal {

template <>
struct KeyTraits<__half> : FixedKeyTraits<KeyType::kFloat16> {};
template <>
struct KeyTraits<__nv_bfloat16> : FixedKeyTraits<KeyType::kBfloat16> {};

}  // namespace corank::internal

namespace corank::cuda {

struct SortOptions : corank::SortOptions {
  /// HOST: empty, or kSortLetterBytes of pinned memory, 8-byte aligned, reserved during the call. With it, AUTO looks
  /// at arrays of kAutoLookCount keys or more, and waits for the device meanwhile: sorted, reversed or few distinct
  /// keys then take a fraction of a sort. Not for a stream that is being captured.
  Span<std::byte> h_letter;
  /// Null, or device-accessible memory that gets, on the stream, the number of results: fewer than outputs have
  /// elements only with segments and a limit.
  int64_t* d_results = nullptr;
};

/// Writes the keys in order to `sorted`, which has SortResults(keys.size(), options) elements. *taken, unless null, is
/// the algorithm in use, known at the return.
template <typename Key>
cudaError_t Sort(corank::internal::NotDeduced<Span<const Key>> keys, Span<Key> sorted, Span<std::byte> workspace,
                 cudaStream_t stream, const SortOptions& options = {}, SortAlgorithm* taken = nullptr);
template <typename Key>
int64_t SortWorkspaceBytes(int64_t count, const SortOptions& options = {});

/// Sorts keys, and moves each value with its key.
template <typename Key, typename Value>
cudaError_t SortWithValues(corank::internal::NotDeduced<Span<const Key>> keys,
                           corank::internal::NotDeduced<Span<const Value>> values, Span<Key> sorted,
                           Span<Value> sorted_values, Span<std::byte> workspace, cudaStream_t stream,
                           const SortOptions& options = {}, SortAlgorithm* taken = nullptr);
template <typename Key, typename Value>
int64_t SortWithValuesWorkspaceBytes(int64_t count, const SortOptions& options = {});

/// Writes the permutation that sorts the keys: keys[indices[0]] comes first. With segments, indices still count from
/// the first key of the array.
template <typename Key, typename Index>
cudaError_t Argsort(Span<Key> keys, Span<Index> indices, Span<std::byte> workspace, cudaStream_t stream,
                    const SortOptions& options = {}, SortAlgorithm* taken = nullptr);
template <typename Key>
int64_t ArgsortWorkspaceBytes(int64_t count, const SortOptions& options = {});

/// Merges up to kMaxMergeInputs sorted arrays. Among equal keys, those of earlier inputs come first. `inputs`: HOST,
/// not used after the return.
template <typename Key>
cudaError_t Merge(corank::internal::NotDeduced<Span<const Span<const Key>>> inputs, Span<Key> merged,
                  Span<std::byte> workspace, cudaStream_t stream, const MergeOptions& options = {},
                  OperatorReport* d_report = nullptr);
template <typename Key>
int64_t MergeWorkspaceBytes(corank::internal::NotDeduced<Span<const Span<const Key>>> inputs,
                            const MergeOptions& options = {});

/// Merges keys, and moves each value with its key.
template <typename Key, typename Value>
cudaError_t MergeWithValues(corank::internal::NotDeduced<Span<const KeysAndValues<Key, Value>>> inputs,
                            Span<Key> merged, Span<Value> merged_values, Span<std::byte> workspace, cudaStream_t stream,
                            const MergeOptions& options = {}, OperatorReport* d_report = nullptr);
template <typename Key, typename Value>
int64_t MergeWithValuesWorkspaceBytes(corank::internal::NotDeduced<Span<const KeysAndValues<Key, Value>>> inputs,
                                      const MergeOptions& options = {});

/// Writes the lower or upper bound of each needle in a sorted haystack. Needles may be in any order.
template <typename Key, typename Index>
cudaError_t Search(Span<Key> haystack, corank::internal::NotDeduced<Span<const std::remove_const_t<Key>>> needles,
                   Span<Index> positions, Span<std::byte> workspace, cudaStream_t stream,
                   const SearchOptions& options = {}, OperatorReport* d_report = nullptr);
template <typename Key>
int64_t SearchWorkspaceBytes(int64_t haystack_count, int64_t needle_count);

/// Finds the groups of equal keys in sorted keys, or, with options.check_sorted false, the runs of equal keys in any.
/// d_report: device-accessible memory that gets, on the stream, the number of groups and the first key out of order;
/// may be null.
template <typename Key, typename Index>
cudaError_t Group(corank::internal::NotDeduced<Span<const Key>> keys, const Groups<Key, Index>& groups,
                  Span<std::byte> workspace, cudaStream_t stream, GroupReport* d_report,
                  const GroupOptions& options = {});
/// Enough for any outputs.
template <typename Key>
int64_t GroupWorkspaceBytes(int64_t count);

/// Also reduces the values of each group. Sums of integers are exact: the report names the first group whose sum 64
/// bits do not hold. Sums of floats have the same bits on every device and on the host
/// (kernels/common/run_reduction.h).
template <typename Key, typename Value, typename Index>
cudaError_t GroupReduce(corank::internal::NotDeduced<Span<const Key>> keys,
                        corank::internal::NotDeduced<Span<const Value>> values, const Groups<Key, Index>& groups,
                        const Reductions<Value>& reductions, Span<std::byte> workspace, cudaStream_t stream,
                        GroupReport* d_report, const GroupOptions& options = {});
/// Enough for any outputs.
template <typename Key, typename Value>
int64_t GroupReduceWorkspaceBytes(int64_t count);

/// Takes the elements that the predicate holds for, in their order. d_report: device-accessible memory that gets, on
/// the stream, their number and the first position that no element has; may be null.
template <typename T, typename Index>
cudaError_t Select(corank::internal::NotDeduced<Span<const T>> elements, const Predicate<T>& predicate,
                   const Selection<T, Index>& selection, Span<std::byte> workspace, cudaStream_t stream,
                   SelectReport* d_report);
/// Enough for any predicate, with a partition.
template <typename T>
int64_t SelectWorkspaceBytes(int64_t count);

/// Combines two sorted arrays as multisets. `result` has room for MostResults(operation, left.size(), right.size())
/// elements, or none if only their number is wanted. d_report: device-accessible memory that gets, on the stream, that
/// number and the first key out of order.
template <typename Key>
cudaError_t CombineSets(SetOperation operation, corank::internal::NotDeduced<Span<const Key>> left,
                        corank::internal::NotDeduced<Span<const Key>> right, Span<Key> result,
                        Span<std::byte> workspace, cudaStream_t stream, SetReport* d_report,
                        Order order = Order::kAscending);
template <typename Key>
int64_t CombineSetsWorkspaceBytes(int64_t left_count, int64_t right_count);

/// Joins two arrays in any order: the rows of the left in their order, each with its partners on the right in their
/// order, then, for kRight and kFull, the rows of the right without a partner. left_rows and right_rows get the row
/// numbers, -1 for a missing partner; both have the same size, which is the room for rows, but for kSemi and kAnti
/// right_rows is empty. Empty left_rows: rows are only counted. right_sorted: the right ascends, which saves its sort.
/// Index: int32_t if both sides have fewer than 2^31 keys, otherwise int64_t. d_report: device-accessible memory that
/// gets, on the stream, the number of rows, also if there is no room for them and the outputs are unspecified, and the
/// first key of the right out of order.
template <typename Key, typename Index>
cudaError_t Join(JoinKind kind, corank::internal::NotDeduced<Span<const Key>> left,
                 corank::internal::NotDeduced<Span<const Key>> right, Span<Index> left_rows,
                 corank::internal::NotDeduced<Span<Index>> right_rows, Span<std::byte> workspace, cudaStream_t stream,
                 JoinReport* d_report, bool right_sorted = false);
/// Enough for any room.
template <typename Key>
int64_t JoinWorkspaceBytes(JoinKind kind, int64_t left_count, int64_t right_count, bool right_sorted = false);

/// Writes values[i] counts[i] times, for every i. `total`: the sum of the counts, which is the size of `expanded`.
template <typename T>
cudaError_t ExpandIntervals(corank::internal::NotDeduced<Span<const T>> values, Span<const int64_t> counts,
                            Span<T> expanded, Span<std::byte> workspace, cudaStream_t stream);
template <typename T>
int64_t ExpandIntervalsWorkspaceBytes(int64_t interval_count, int64_t total);

/// Copies counts[i] elements from source[source_offsets[i]] on to destination[destination_offsets[i]] on, for every i.
/// `total`: the sum of the counts. Other elements of the destination keep their values. The workspace
/// of MoveIntervals is enough for GatherIntervals and ScatterIntervals.
template <typename T>
cudaError_t MoveIntervals(corank::internal::NotDeduced<Span<const T>> source, Span<const int64_t> source_offsets,
                          Span<const int64_t> destination_offsets, Span<const int64_t> counts, int64_t total,
                          Span<T> destination, Span<std::byte> workspace, cudaStream_t stream,
                          OperatorReport* d_report = nullptr);
/// Copies the intervals of the source one behind the other.
template <typename T>
cudaError_t GatherIntervals(corank::internal::NotDeduced<Span<const T>> source, Span<const int64_t> source_offsets,
                            Span<const int64_t> counts, Span<T> gathered, Span<std::byte> workspace,
                            cudaStream_t stream);
/// Cuts the source into consecutive intervals and copies each to its place in the destination.
template <typename T>
cudaError_t ScatterIntervals(corank::internal::NotDeduced<Span<const T>> source,
                             Span<const int64_t> destination_offsets, Span<const int64_t> counts, Span<T> destination,
                             Span<std::byte> workspace, cudaStream_t stream, OperatorReport* d_report = nullptr);
template <typename T>
int64_t MoveIntervalsWorkspaceBytes(int64_t interval_count, int64_t total, int64_t destination_count);

/// Finds the segment of each work item, and its rank in the segment, where segment i has counts[i] items. Index must
/// hold both the number of items and that of segments. corank/cuda/for_each_work_item.cuh calls a function instead.
template <typename Index>
cudaError_t LoadBalance(Span<const int64_t> counts, Span<Index> segments,
                        corank::internal::NotDeduced<Span<Index>> ranks, Span<std::byte> workspace,
                        cudaStream_t stream);
template <typename Index>
int64_t LoadBalanceWorkspaceBytes(int64_t segment_count, int64_t total);

}  // namespace corank::cuda

#include "corank/cuda/typed.h"

#endif  // CORANK_CUDA_H_
