// The operators on the cores of the host.
//
//   std::vector<float> keys = ..., sorted(keys.size());
//   if (corank::cpu::Sort<float>(keys, sorted) != std::errc()) ...
//
// All functions are stable, change no input, and return when the outputs are written. Inputs and outputs must not
// overlap. They may be called from any thread, and work at the same time. Each allocates its own workspace, and uses
// `threads` threads, the calling one included; 0 means all cores that this process may use.
//
// Key: an integer of 1 to 8 bytes, float or double. NaNs equal each other and are greater than numbers; both zeros are
// equal. Value, T: any trivially copyable type of up to 256 bytes, in arrays with the alignment of the largest power of
// two, up to 16, that divides its size. Index: uint32_t if the largest possible index fits into it, otherwise uint64_t.
//
// Errors: std::errc::invalid_argument if the sizes, options or alignments of operands do not fit together;
// std::errc::not_enough_memory. Offsets and counts are trusted: counts are not negative, their sum is the number of
// elements of the result, and every interval lies within its arrays.
//
// *report, unless null, gets the algorithm in use, and the first fault found: unsorted inputs of Merge and Search,
// overlapping destinations of MoveIntervals and ScatterIntervals. Outputs are unspecified after a fault. Without a
// report nothing looks for faults; the outputs of Merge and Search are then in a wrong order, but in bounds.
#ifndef CORANK_CPU_H_
#define CORANK_CPU_H_

#include <cstdint>
#include <system_error>

#include "corank/operands.h"
#include "corank/span.h"
#include "kernels/cpu/run.h"

namespace corank::cpu {

namespace internal {

template <typename Args>
std::errc RunChecked(bool fits, const Args& args, int threads, OperatorReport* report) {
  if (!fits || threads < 0) return std::errc::invalid_argument;
  OperatorReport unused;
  return Run(args, threads, report == nullptr ? &unused : report);
}

}  // namespace internal

/// Writes the keys in order to `sorted`, which has SortResults(keys.size(), options) elements. report->results tells
/// how many of them are results: fewer only with segments and a limit.
template <typename Key>
[[nodiscard]] std::errc Sort(corank::internal::NotDeduced<Span<const Key>> keys, Span<Key> sorted,
                             const SortOptions& options = {}, int threads = 0, OperatorReport* report = nullptr) {
  SortArgs args;
  const bool fits = corank::internal::MakeSort<Key>(keys, sorted, options, &args);
  return internal::RunChecked(fits, args, threads, report);
}

/// Sorts keys, and moves each value with its key.
template <typename Key, typename Value>
[[nodiscard]] std::errc SortWithValues(corank::internal::NotDeduced<Span<const Key>> keys,
                                       corank::internal::NotDeduced<Span<const Value>> values, Span<Key> sorted,
                                       Span<Value> sorted_values, const SortOptions& options = {}, int threads = 0,
                                       OperatorReport* report = nullptr) {
  SortArgs args;
  const bool fits =
      corank::internal::MakeSortWithValues<Key, Value>(keys, values, sorted, sorted_values, options, &args);
  return internal::RunChecked(fits, args, threads, report);
}

/// Writes the permutation that sorts the keys: keys[indices[0]] comes first. With segments, indices still count from
/// the first key of the array.
template <typename Key, typename Index>
[[nodiscard]] std::errc Argsort(corank::internal::NotDeduced<Span<const Key>> keys, Span<Index> indices,
                                const SortOptions& options = {}, int threads = 0, OperatorReport* report = nullptr) {
  SortArgs args;
  const bool fits = corank::internal::MakeArgsort<Key, Index>(keys, indices, options, &args);
  return internal::RunChecked(fits, args, threads, report);
}

/// Merges up to kMaxMergeInputs sorted arrays. Among equal keys, those of earlier inputs come first.
template <typename Key>
[[nodiscard]] std::errc Merge(corank::internal::NotDeduced<Span<const Span<const Key>>> inputs, Span<Key> merged,
                              const MergeOptions& options = {}, int threads = 0, OperatorReport* report = nullptr) {
  corank::internal::Merging merging;
  const bool fits = corank::internal::MakeMerge<Key>(inputs, merged, options, &merging);
  merging.args.check_sorted = report != nullptr;
  return internal::RunChecked(fits, merging.args, threads, report);
}

/// Merges keys, and moves each value with its key.
template <typename Key, typename Value>
[[nodiscard]] std::errc MergeWithValues(corank::internal::NotDeduced<Span<const KeysAndValues<Key, Value>>> inputs,
                                        Span<Key> merged, Span<Value> merged_values, const MergeOptions& options = {},
                                        int threads = 0, OperatorReport* report = nullptr) {
  corank::internal::Merging merging;
  const bool fits = corank::internal::MakeMergeWithValues<Key, Value>(inputs, merged, merged_values, options, &merging);
  merging.args.check_sorted = report != nullptr;
  return internal::RunChecked(fits, merging.args, threads, report);
}

/// Writes the lower or upper bound of each needle in a sorted haystack. Needles may be in any order.
template <typename Key, typename Index>
[[nodiscard]] std::errc Search(Span<const Key> haystack, corank::internal::NotDeduced<Span<const Key>> needles,
                               Span<Index> positions, const SearchOptions& options = {}, int threads = 0,
                               OperatorReport* report = nullptr) {
  SearchArgs args;
  const bool fits = corank::internal::MakeSearch<Key, Index>(haystack, needles, positions, options, &args);
  args.check_sorted = report != nullptr;
  return internal::RunChecked(fits, args, threads, report);
}

/// Finds the groups of equal keys in sorted keys, or, with options.check_sorted false, the runs of equal keys in any.
/// *report: the number of groups, and the first key out of order.
template <typename Key, typename Index>
[[nodiscard]] std::errc Group(corank::internal::NotDeduced<Span<const Key>> keys, const Groups<Key, Index>& groups,
                              GroupReport* report, const GroupOptions& options = {}, int threads = 0) {
  GroupArgs args;
  if (!corank::internal::MakeGroup<Key, Index>(keys, groups, options, &args) || threads < 0) {
    return std::errc::invalid_argument;
  }
  return Run(args, threads, report);
}

/// Also reduces the values of each group. Sums of integers are exact: *report names the first group whose sum 64 bits
/// do not hold. Sums of floats have the same bits on every machine and on a GPU (kernels/common/run_reduction.h).
template <typename Key, typename Value, typename Index>
[[nodiscard]] std::errc GroupReduce(corank::internal::NotDeduced<Span<const Key>> keys,
                                    corank::internal::NotDeduced<Span<const Value>> values,
                                    const Groups<Key, Index>& groups, const Reductions<Value>& reductions,
                                    GroupReport* report, const GroupOptions& options = {}, int threads = 0) {
  GroupArgs args;
  if (!corank::internal::MakeGroupReduce<Key, Value, Index>(keys, values, groups, reductions, options, &args) ||
      threads < 0) {
    return std::errc::invalid_argument;
  }
  return Run(args, threads, report);
}

/// Takes the elements that the predicate holds for, in their order. *report: their number, and the first position that
/// no element has.
template <typename T, typename Index>
[[nodiscard]] std::errc Select(corank::internal::NotDeduced<Span<const T>> elements, const Predicate<T>& predicate,
                               const Selection<T, Index>& selection, SelectReport* report, int threads = 0) {
  SelectArgs args;
  if (!corank::internal::MakeSelect<T, Index>(elements, predicate, selection, &args) || threads < 0) {
    return std::errc::invalid_argument;
  }
  return Run(args, threads, report);
}

/// Combines two sorted arrays as multisets. `result` has room for MostResults(operation, left.size(), right.size())
/// elements, or none if only their number is wanted. *report: that number, and the first key out of order.
template <typename Key>
[[nodiscard]] std::errc CombineSets(SetOperation operation, corank::internal::NotDeduced<Span<const Key>> left,
                                    corank::internal::NotDeduced<Span<const Key>> right, Span<Key> result,
                                    SetReport* report, Order order = Order::kAscending, int threads = 0) {
  SetArgs args;
  if (!corank::internal::MakeSets<Key>(operation, left, right, result, order, &args) || threads < 0) {
    return std::errc::invalid_argument;
  }
  return Run(args, threads, report);
}

/// Joins two arrays in any order: the rows of the left in their order, each with its partners on the right in their
/// order, then, for kRight and kFull, the rows of the right without a partner. left_rows and right_rows get the row
/// numbers, -1 for a missing partner; both have the same size, which is the room for rows, but for kSemi and kAnti
/// right_rows is empty. Empty left_rows: rows are only counted. right_sorted: the right ascends, which saves its sort.
/// Index: int32_t if both sides have fewer than 2^31 keys, otherwise int64_t. *report: the number of rows, also if
/// there is no room for them and the outputs are unspecified, and the first key of the right out of order.
template <typename Key, typename Index>
[[nodiscard]] std::errc Join(JoinKind kind, corank::internal::NotDeduced<Span<const Key>> left,
                             corank::internal::NotDeduced<Span<const Key>> right, Span<Index> left_rows,
                             corank::internal::NotDeduced<Span<Index>> right_rows, JoinReport* report,
                             bool right_sorted = false, int threads = 0) {
  JoinArgs args;
  if (!corank::internal::MakeJoin<Key, Index>(kind, left, right, left_rows, right_rows, right_sorted, &args) ||
      threads < 0) {
    return std::errc::invalid_argument;
  }
  return Run(args, threads, report);
}

/// Writes values[i] counts[i] times, for every i.
template <typename T>
[[nodiscard]] std::errc ExpandIntervals(corank::internal::NotDeduced<Span<const T>> values, Span<const int64_t> counts,
                                        Span<T> expanded, int threads = 0) {
  ExpandArgs args;
  const bool fits = corank::internal::MakeExpand<T>(values, counts, expanded, &args);
  return internal::RunChecked(fits, args, threads, nullptr);
}

/// Copies counts[i] elements from source[source_offsets[i]] on to destination[destination_offsets[i]] on, for every i.
/// `total`: the sum of the counts. Other elements of the destination keep their values.
template <typename T>
[[nodiscard]] std::errc MoveIntervals(corank::internal::NotDeduced<Span<const T>> source,
                                      Span<const int64_t> source_offsets, Span<const int64_t> destination_offsets,
                                      Span<const int64_t> counts, int64_t total, Span<T> destination, int threads = 0,
                                      OperatorReport* report = nullptr) {
  MoveArgs args;
  const bool fits =
      corank::internal::MakeMove<T>(source, &source_offsets, &destination_offsets, counts, total, destination, &args);
  args.check_overlap = report != nullptr;
  return internal::RunChecked(fits, args, threads, report);
}

/// Copies the intervals of the source one behind the other.
template <typename T>
[[nodiscard]] std::errc GatherIntervals(corank::internal::NotDeduced<Span<const T>> source,
                                        Span<const int64_t> source_offsets, Span<const int64_t> counts,
                                        Span<T> gathered, int threads = 0) {
  MoveArgs args;
  const bool fits =
      corank::internal::MakeMove<T>(source, &source_offsets, nullptr, counts, gathered.size(), gathered, &args);
  return internal::RunChecked(fits, args, threads, nullptr);
}

/// Cuts the source into consecutive intervals and copies each to its place in the destination.
template <typename T>
[[nodiscard]] std::errc ScatterIntervals(corank::internal::NotDeduced<Span<const T>> source,
                                         Span<const int64_t> destination_offsets, Span<const int64_t> counts,
                                         Span<T> destination, int threads = 0, OperatorReport* report = nullptr) {
  MoveArgs args;
  const bool fits =
      corank::internal::MakeMove<T>(source, nullptr, &destination_offsets, counts, source.size(), destination, &args);
  args.check_overlap = report != nullptr;
  return internal::RunChecked(fits, args, threads, report);
}

/// Finds the segment of each work item, and its rank in the segment, where segment i has counts[i] items. Index must
/// hold both the number of items and that of segments.
template <typename Index>
[[nodiscard]] std::errc LoadBalance(Span<const int64_t> counts, Span<Index> segments,
                                    corank::internal::NotDeduced<Span<Index>> ranks, int threads = 0) {
  LoadBalanceArgs args;
  const bool fits = corank::internal::MakeLoadBalance<Index>(counts, segments, ranks, &args);
  return internal::RunChecked(fits, args, threads, nullptr);
}

}  // namespace corank::cpu

#endif  // CORANK_CPU_H_
