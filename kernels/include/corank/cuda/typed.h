// The definitions of corank/cuda.h, which includes this file.
#ifndef CORANK_CUDA_TYPED_H_
#define CORANK_CUDA_TYPED_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "corank/cuda.h"

namespace corank::cuda {

namespace internal {

inline bool IsAligned(Span<std::byte> workspace) { return reinterpret_cast<uintptr_t>(workspace.data()) % 256 == 0; }

inline cudaError_t RunSort(bool fits, const SortArgs& args, Span<std::byte> workspace, cudaStream_t stream,
                           const SortOptions& options, SortAlgorithm* taken) {
  const Span<std::byte> letter = options.h_letter;
  if (!fits || !IsAligned(workspace) || (!letter.empty() && letter.size() < kSortLetterBytes)) {
    return cudaErrorInvalidValue;
  }
  OperatorReport report;
  const cudaError_t error = cuda::Sort(args, workspace.data(), workspace.size(), &report, stream,
                                       letter.empty() ? nullptr : letter.data(), kAutoLookCount, options.d_results);
  if (taken != nullptr) *taken = report.sort_algorithm;
  return error;
}

template <typename Report = OperatorReport, typename Args>
cudaError_t Run(cudaError_t (*run)(const Args&, void*, int64_t, Report*, cudaStream_t), bool fits, const Args& args,
                Span<std::byte> workspace, cudaStream_t stream, corank::internal::NotDeduced<Report*> d_report) {
  if (!fits || !IsAligned(workspace)) return cudaErrorInvalidValue;
  return run(args, workspace.data(), workspace.size(), d_report, stream);
}

}  // namespace internal

template <typename Key>
cudaError_t Sort(corank::internal::NotDeduced<Span<const Key>> keys, Span<Key> sorted, Span<std::byte> workspace,
                 cudaStream_t stream, const SortOptions& options, SortAlgorithm* taken) {
  SortArgs args;
  const bool fits = corank::internal::MakeSort<Key>(keys, sorted, options, &args);
  return internal::RunSort(fits, args, workspace, stream, options, taken);
}

template <typename Key>
int64_t SortWorkspaceBytes(int64_t count, const SortOptions& options) {
  SortArgs args = corank::internal::SortArgsFor<Key>(count, options);
  args.keys_out = corank::internal::Something();
  return cuda::SortWorkspaceBytes(args);
}

template <typename Key, typename Value>
cudaError_t SortWithValues(corank::internal::NotDeduced<Span<const Key>> keys,
                           corank::internal::NotDeduced<Span<const Value>> values, Span<Key> sorted,
                           Span<Value> sorted_values, Span<std::byte> workspace, cudaStream_t stream,
                           const SortOptions& options, SortAlgorithm* taken) {
  SortArgs args;
  const bool fits =
      corank::internal::MakeSortWithValues<Key, Value>(keys, values, sorted, sorted_values, options, &args);
  return internal::RunSort(fits, args, workspace, stream, options, taken);
}

template <typename Key, typename Value>
int64_t SortWithValuesWorkspaceBytes(int64_t count, const SortOptions& options) {
  SortArgs args = corank::internal::SortArgsFor<Key>(count, options);
  args.keys_out = args.values_out = corank::internal::Something();
  args.values_in = corank::internal::Something();
  args.value_bytes = corank::internal::ElementBytes<Value>();
  return cuda::SortWorkspaceBytes(args);
}

template <typename Key, typename Index>
cudaError_t Argsort(Span<Key> keys, Span<Index> indices, Span<std::byte> workspace, cudaStream_t stream,
                    const SortOptions& options, SortAlgorithm* taken) {
  SortArgs args;
  const bool fits = corank::internal::MakeArgsort<std::remove_const_t<Key>, Index>(keys, indices, options, &args);
  return internal::RunSort(fits, args, workspace, stream, options, taken);
}

template <typename Key>
int64_t ArgsortWorkspaceBytes(int64_t count, const SortOptions& options) {
  SortArgs args = corank::internal::SortArgsFor<Key>(count, options);
  args.indices_out = corank::internal::Something();
  return cuda::SortWorkspaceBytes(args);
}

template <typename Key>
cudaError_t Merge(corank::internal::NotDeduced<Span<const Span<const Key>>> inputs, Span<Key> merged,
                  Span<std::byte> workspace, cudaStream_t stream, const MergeOptions& options,
                  OperatorReport* d_report) {
  corank::internal::Merging merging;
  const bool fits = corank::internal::MakeMerge<Key>(inputs, merged, options, &merging);
  merging.args.check_sorted = d_report != nullptr;
  return internal::Run(&cuda::Merge, fits, merging.args, workspace, stream, d_report);
}

template <typename Key>
int64_t MergeWorkspaceBytes(corank::internal::NotDeduced<Span<const Span<const Key>>> inputs,
                            const MergeOptions& options) {
  corank::internal::Merging merging;
  int64_t total = 0;
  for (const Span<const Key> input : inputs) total += input.size();
  corank::internal::MakeMerge<Key>(inputs, Span<Key>(nullptr, total), options, &merging);
  return cuda::MergeWorkspaceBytes(merging.args);
}

template <typename Key, typename Value>
cudaError_t MergeWithValues(corank::internal::NotDeduced<Span<const KeysAndValues<Key, Value>>> inputs,
                            Span<Key> merged, Span<Value> merged_values, Span<std::byte> workspace, cudaStream_t stream,
                            const MergeOptions& options, OperatorReport* d_report) {
  corank::internal::Merging merging;
  const bool fits = corank::internal::MakeMergeWithValues<Key, Value>(inputs, merged, merged_values, options, &merging);
  merging.args.check_sorted = d_report != nullptr;
  return internal::Run(&cuda::Merge, fits, merging.args, workspace, stream, d_report);
}

template <typename Key, typename Value>
int64_t MergeWithValuesWorkspaceBytes(corank::internal::NotDeduced<Span<const KeysAndValues<Key, Value>>> inputs,
                                      const MergeOptions& options) {
  corank::internal::Merging merging;
  int64_t total = 0;
  for (const KeysAndValues<Key, Value>& input : inputs) total += input.keys.size();
  corank::internal::MakeMergeWithValues<Key, Value>(inputs, Span<Key>(nullptr, total), Span<Value>(nullptr, total),
                                                    options, &merging);
  return cuda::MergeWorkspaceBytes(merging.args);
}

template <typename Key, typename Index>
cudaError_t Search(Span<Key> haystack, corank::internal::NotDeduced<Span<const std::remove_const_t<Key>>> needles,
                   Span<Index> positions, Span<std::byte> workspace, cudaStream_t stream, const SearchOptions& options,
                   OperatorReport* d_report) {
  SearchArgs args;
  const bool fits =
      corank::internal::MakeSearch<std::remove_const_t<Key>, Index>(haystack, needles, positions, options, &args);
  args.check_sorted = d_report != nullptr;
  return internal::Run(&cuda::Search, fits, args, workspace, stream, d_report);
}

template <typename Key>
int64_t SearchWorkspaceBytes(int64_t haystack_count, int64_t needle_count) {
  SearchArgs args;
  args.key_type = corank::internal::KeyTypeOf<Key>();
  args.haystack_count = haystack_count;
  args.needle_count = needle_count;
  return cuda::SearchWorkspaceBytes(args);
}

template <typename Key, typename Index>
cudaError_t Group(corank::internal::NotDeduced<Span<const Key>> keys, const Groups<Key, Index>& groups,
                  Span<std::byte> workspace, cudaStream_t stream, GroupReport* d_report, const GroupOptions& options) {
  GroupArgs args;
  const bool fits = corank::internal::MakeGroup<Key, Index>(keys, groups, options, &args);
  return internal::Run<GroupReport>(&cuda::Group, fits, args, workspace, stream, d_report);
}

template <typename Key>
int64_t GroupWorkspaceBytes(int64_t count) {
  GroupArgs args;
  args.key_type = corank::internal::KeyTypeOf<Key>();
  args.count = count;
  args.counts_out = static_cast<int64_t*>(corank::internal::Something());
  return cuda::GroupWorkspaceBytes(args);
}

template <typename Key, typename Value, typename Index>
cudaError_t GroupReduce(corank::internal::NotDeduced<Span<const Key>> keys,
                        corank::internal::NotDeduced<Span<const Value>> values, const Groups<Key, Index>& groups,
                        const Reductions<Value>& reductions, Span<std::byte> workspace, cudaStream_t stream,
                        GroupReport* d_report, const GroupOptions& options) {
  GroupArgs args;
  const bool fits =
      corank::internal::MakeGroupReduce<Key, Value, Index>(keys, values, groups, reductions, options, &args);
  return internal::Run<GroupReport>(&cuda::Group, fits, args, workspace, stream, d_report);
}

template <typename Key, typename Value>
int64_t GroupReduceWorkspaceBytes(int64_t count) {
  GroupArgs args;
  args.key_type = corank::internal::KeyTypeOf<Key>();
  args.value_type = corank::internal::KeyTypeOf<Value>();
  args.count = count;
  args.counts_out = static_cast<int64_t*>(corank::internal::Something());
  args.sums_out = corank::internal::Something();
  return cuda::GroupWorkspaceBytes(args);
}

template <typename T, typename Index>
cudaError_t Select(corank::internal::NotDeduced<Span<const T>> elements, const Predicate<T>& predicate,
                   const Selection<T, Index>& selection, Span<std::byte> workspace, cudaStream_t stream,
                   SelectReport* d_report) {
  SelectArgs args;
  const bool fits = corank::internal::MakeSelect<T, Index>(elements, predicate, selection, &args);
  return internal::Run<SelectReport>(&cuda::Select, fits, args, workspace, stream, d_report);
}

template <typename T>
int64_t SelectWorkspaceBytes(int64_t count) {
  SelectArgs args;
  args.count = count;
  args.partition = true;
  args.by = SelectBy::kPositions;
  const int64_t with_positions = cuda::SelectWorkspaceBytes(args);
  if constexpr (corank::internal::KeyTraits<T>::kIsKey) {
    args.by = SelectBy::kThreshold;
    args.key_type = corank::internal::KeyTypeOf<T>();
    const int64_t with_threshold = cuda::SelectWorkspaceBytes(args);
    if (with_threshold > with_positions) return with_threshold;
  }
  return with_positions;
}

template <typename Key>
cudaError_t CombineSets(SetOperation operation, corank::internal::NotDeduced<Span<const Key>> left,
                        corank::internal::NotDeduced<Span<const Key>> right, Span<Key> result,
                        Span<std::byte> workspace, cudaStream_t stream, SetReport* d_report, Order order) {
  SetArgs args;
  const bool fits = corank::internal::MakeSets<Key>(operation, left, right, result, order, &args);
  return internal::Run<SetReport>(&cuda::CombineSets, fits, args, workspace, stream, d_report);
}

template <typename Key>
int64_t CombineSetsWorkspaceBytes(int64_t left_count, int64_t right_count) {
  SetArgs args;
  args.key_type = corank::internal::KeyTypeOf<Key>();
  args.left.count = left_count;
  args.right.count = right_count;
  return cuda::CombineSetsWorkspaceBytes(args);
}

template <typename Key, typename Index>
cudaError_t Join(JoinKind kind, corank::internal::NotDeduced<Span<const Key>> left,
                 corank::internal::NotDeduced<Span<const Key>> right, Span<Index> left_rows,
                 corank::internal::NotDeduced<Span<Index>> right_rows, Span<std::byte> workspace, cudaStream_t stream,
                 JoinReport* d_report, bool right_sorted) {
  JoinArgs args;
  const bool fits =
      corank::internal::MakeJoin<Key, Index>(kind, left, right, left_rows, right_rows, right_sorted, &args);
  return internal::Run<JoinReport>(&cuda::Join, fits, args, workspace, stream, d_report);
}

template <typename Key>
int64_t JoinWorkspaceBytes(JoinKind kind, int64_t left_count, int64_t right_count, bool right_sorted) {
  JoinArgs args;
  args.key_type = corank::internal::KeyTypeOf<Key>();
  args.kind = kind;
  args.left_count = left_count;
  args.right_count = right_count;
  args.right_sorted = right_sorted;
  return cuda::JoinWorkspaceBytes(args);
}

template <typename T>
cudaError_t ExpandIntervals(corank::internal::NotDeduced<Span<const T>> values, Span<const int64_t> counts,
                            Span<T> expanded, Span<std::byte> workspace, cudaStream_t stream) {
  ExpandArgs args;
  const bool fits = corank::internal::MakeExpand<T>(values, counts, expanded, &args);
  return internal::Run(&cuda::Expand, fits, args, workspace, stream, nullptr);
}

template <typename T>
int64_t ExpandIntervalsWorkspaceBytes(int64_t interval_count, int64_t total) {
  ExpandArgs args;
  args.element_bytes = corank::internal::ElementBytes<T>();
  args.interval_count = interval_count;
  args.total = total;
  return cuda::ExpandWorkspaceBytes(args);
}

template <typename T>
cudaError_t MoveIntervals(corank::internal::NotDeduced<Span<const T>> source, Span<const int64_t> source_offsets,
                          Span<const int64_t> destination_offsets, Span<const int64_t> counts, int64_t total,
                          Span<T> destination, Span<std::byte> workspace, cudaStream_t stream,
                          OperatorReport* d_report) {
  MoveArgs args;
  const bool fits =
      corank::internal::MakeMove<T>(source, &source_offsets, &destination_offsets, counts, total, destination, &args);
  args.check_overlap = d_report != nullptr;
  return internal::Run(&cuda::Move, fits, args, workspace, stream, d_report);
}

template <typename T>
cudaError_t GatherIntervals(corank::internal::NotDeduced<Span<const T>> source, Span<const int64_t> source_offsets,
                            Span<const int64_t> counts, Span<T> gathered, Span<std::byte> workspace,
                            cudaStream_t stream) {
  MoveArgs args;
  const bool fits =
      corank::internal::MakeMove<T>(source, &source_offsets, nullptr, counts, gathered.size(), gathered, &args);
  return internal::Run(&cuda::Move, fits, args, workspace, stream, nullptr);
}

template <typename T>
cudaError_t ScatterIntervals(corank::internal::NotDeduced<Span<const T>> source,
                             Span<const int64_t> destination_offsets, Span<const int64_t> counts, Span<T> destination,
                             Span<std::byte> workspace, cudaStream_t stream, OperatorReport* d_report) {
  MoveArgs args;
  const bool fits =
      corank::internal::MakeMove<T>(source, nullptr, &destination_offsets, counts, source.size(), destination, &args);
  args.check_overlap = d_report != nullptr;
  return internal::Run(&cuda::Move, fits, args, workspace, stream, d_report);
}

template <typename T>
int64_t MoveIntervalsWorkspaceBytes(int64_t interval_count, int64_t total, int64_t destination_count) {
  MoveArgs args;
  args.element_bytes = corank::internal::ElementBytes<T>();
  // With both offsets and the check, an operator needs most.
  args.source_offsets = args.destination_offsets = static_cast<const int64_t*>(corank::internal::Something());
  args.interval_count = interval_count;
  args.total = total;
  args.destination_count = destination_count;
  return cuda::MoveWorkspaceBytes(args);
}

template <typename Index>
cudaError_t LoadBalance(Span<const int64_t> counts, Span<Index> segments,
                        corank::internal::NotDeduced<Span<Index>> ranks, Span<std::byte> workspace,
                        cudaStream_t stream) {
  LoadBalanceArgs args;
  const bool fits = corank::internal::MakeLoadBalance<Index>(counts, segments, ranks, &args);
  return internal::Run(&cuda::LoadBalance, fits, args, workspace, stream, nullptr);
}

template <typename Index>
int64_t LoadBalanceWorkspaceBytes(int64_t segment_count, int64_t total) {
  LoadBalanceArgs args;
  args.object_count = segment_count;
  args.total = total;
  args.least_index_bytes = static_cast<int>(sizeof(Index));
  return cuda::LoadBalanceWorkspaceBytes(args);
}

}  // namespace corank::cuda

#endif  // CORANK_CUDA_TYPED_H_
