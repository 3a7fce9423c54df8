// The typed operands that corank/cpu.h and corank/cuda.h share, and how they become the arguments of the operators.
#ifndef CORANK_OPERANDS_H_
#define CORANK_OPERANDS_H_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "corank/internal/key_traits.h"
#include "corank/span.h"
#include "corank/types.h"
#include "kernels/common/group.h"
#include "kernels/common/join.h"
#include "kernels/common/operators.h"
#include "kernels/common/select.h"
#include "kernels/common/sets.h"

namespace corank {

struct SortOptions {
  Order order = Order::kAscending;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  /// Writes only the first `limit` results; -1: all. With segments: of each segment, one segment behind the other.
  int64_t limit = -1;
  /// Leaves out the first `offset` results before the limit counts. Must be 0 with segments.
  int64_t offset = 0;
  /// Sorts each segment on its own: keys [segment_offsets[i], segment_offsets[i + 1]). Ascending offsets, from 0 to the
  /// number of keys, in the same memory as the keys. Empty: one segment. Nobody checks the offsets.
  Span<const int64_t> segment_offsets;
};

/// The elements of each output of Sort, SortWithValues and Argsort. With segments and a limit, this is only the most
/// that there can be: outputs have this size, and keep their elements behind the results.
inline int64_t SortResults(int64_t key_count, const SortOptions& options) {
  const int64_t offsets = options.segment_offsets.size();
  return offsets > 1 ? MostLimited(key_count, options.limit, offsets - 1)
                     : CountResults(key_count, options.offset, options.limit);
}

struct MergeOptions {
  Order order = Order::kAscending;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
};

struct SearchOptions {
  Order order = Order::kAscending;
  SearchBound bound = SearchBound::kLower;
};

struct GroupOptions {
  /// Whether to look for keys that come before the previous one, in this order. Without it, groups are the runs of
  /// equal keys, wherever they lie.
  bool check_sorted = true;
  Order order = Order::kAscending;
  /// Of GroupReduce: bit i % 8 of byte i / 8 is 0 if value i is null and takes part in no reduction.
  /// BitmapBytes(values) bytes, in the same memory as the values. Empty: no value is null.
  Span<const uint8_t> values_validity;
};

/// The outputs of Group and GroupReduce. Each has as many elements as there are keys, or none if it is not wanted.
template <typename Key, typename Index>
struct Groups {
  Span<Key> keys;        // the first key of each group
  Span<int64_t> counts;  // keys in each group
  Span<Index> firsts;    // the index of the first key of each group
};

/// The type of the sums of values: 64 bits, signed, unsigned or a float as the values are.
template <typename Value>
using SumOf = std::conditional_t<!std::is_integral_v<Value>, double,
                                 std::conditional_t<std::is_signed_v<Value>, int64_t, uint64_t>>;

/// More outputs of GroupReduce, of the values of each group.
template <typename Value>
struct Reductions {
  Span<SumOf<Value>> sums;
  Span<Value> minima, maxima;       // a NaN is greater than every number
  Span<int64_t> value_counts = {};  // of values that are not null; where it is 0, the others mean nothing
};

/// What decides whether Select takes an element: the members that `by` names.
template <typename T>
struct Predicate {
  SelectBy by = SelectBy::kFlags;
  Span<const uint8_t> flags;      // kFlags: one for each element. kBitmap: BitmapBytes(elements) bytes
  Span<const int64_t> positions;  // kPositions: in any order
  Comparison comparison = Comparison::kLess;
  const T* threshold = nullptr;  // kThreshold: in the memory of the elements, which must be keys
  bool negate = false;           // takes the elements that it does not hold for
};

/// The outputs of Select. Each has as many elements as the input, or none if it is not wanted.
template <typename T, typename Index>
struct Selection {
  Span<T> elements;
  Span<Index> indices;     // of the elements in the input
  bool partition = false;  // the other elements follow
};

/// One input of a merge: sorted keys, and a value for each.
template <typename Key, typename Value>
struct KeysAndValues {
  Span<const Key> keys;
  Span<const Value> values;
};

namespace internal {

template <typename Key>
constexpr KeyType KeyTypeOf() {
  static_assert(KeyTraits<Key>::kIsKey, "keys are integers of 1 to 8 bytes, floats or doubles");
  return KeyTraits<Key>::Type();
}

template <typename T>
constexpr int32_t ElementBytes() {
  static_assert(std::is_trivially_copyable_v<T>, "elements move as bytes");
  static_assert(sizeof(T) <= kMaxRecordBytes, "elements have at most 256 bytes");
  return static_cast<int32_t>(sizeof(T));
}

/// Whether a pointer has the alignment that operators expect of elements: the largest power of two that divides their
/// size, at most 16. Types of C++ may have less.
template <typename T>
bool IsAligned(Span<T> span) {
  constexpr uintptr_t kLowestBit = sizeof(T) & -sizeof(T);
  return reinterpret_cast<uintptr_t>(span.data()) % (kLowestBit < 16 ? kLowestBit : 16) == 0;
}

/// Whether an array of indices has elements of the width that operators write for this largest index.
template <typename Index>
constexpr bool HoldsIndices(int64_t max_index) {
  static_assert(std::is_same_v<Index, uint32_t> || std::is_same_v<Index, uint64_t>, "indices are uint32_t or uint64_t");
  return static_cast<int>(sizeof(Index)) == IndexBytes(max_index);
}

/// A pointer that is not null and that nobody follows, for functions that only count bytes.
inline void* Something() { return reinterpret_cast<void*>(uintptr_t{256}); }

/// The arguments of a sort without its arrays.
template <typename Key>
SortArgs SortArgsFor(int64_t count, const SortOptions& options) {
  SortArgs args;
  args.key_type = KeyTypeOf<Key>();
  args.order = options.order;
  args.algorithm = options.algorithm;
  args.count = count;
  args.limit = options.limit;
  args.offset = options.offset;
  if (!options.segment_offsets.empty()) {
    args.segment_offsets = options.segment_offsets.data();
    args.segment_count = options.segment_offsets.size() - 1;
  }
  return args;
}

inline bool IsValid(const SortArgs& args) {
  return IsRequestable(args.algorithm) && args.limit >= -1 && args.offset >= 0 &&
         (args.offset == 0 || args.segment_count == 0);
}

/// The functions below return whether such operands fit together, and if so, set *args.

template <typename Key>
bool MakeSort(Span<const Key> keys, Span<Key> sorted, const SortOptions& options, SortArgs* args) {
  *args = SortArgsFor<Key>(keys.size(), options);
  args->keys_in = keys.data();
  args->keys_out = sorted.data();
  return IsValid(*args) && sorted.size() == args->ResultCount();
}

template <typename Key, typename Value>
bool MakeSortWithValues(Span<const Key> keys, Span<const Value> values, Span<Key> sorted, Span<Value> sorted_values,
                        const SortOptions& options, SortArgs* args) {
  if (!MakeSort(keys, sorted, options, args)) return false;
  args->value_bytes = ElementBytes<Value>();
  args->values_in = values.data();
  args->values_out = sorted_values.data();
  return values.size() == keys.size() && sorted_values.size() == sorted.size() && IsAligned(values) &&
         IsAligned(sorted_values);
}

template <typename Key, typename Index>
bool MakeArgsort(Span<const Key> keys, Span<Index> indices, const SortOptions& options, SortArgs* args) {
  *args = SortArgsFor<Key>(keys.size(), options);
  args->keys_in = keys.data();
  args->indices_out = indices.data();
  return IsValid(*args) && indices.size() == args->ResultCount() && HoldsIndices<Index>(keys.size() - 1);
}

/// Owns the array that args->inputs points to.
struct Merging {
  std::vector<MergeInput> inputs;
  MergeArgs args;
};

template <typename Key>
bool MakeMerge(Span<const Span<const Key>> inputs, Span<Key> merged, const MergeOptions& options, Merging* merging) {
  if (inputs.size() > kMaxMergeInputs) return false;
  for (const Span<const Key> input : inputs) merging->inputs.push_back({input.data(), nullptr, input.size()});
  merging->args.key_type = KeyTypeOf<Key>();
  merging->args.order = options.order;
  merging->args.algorithm = options.algorithm;
  merging->args.inputs = merging->inputs.data();
  merging->args.input_count = static_cast<int32_t>(inputs.size());
  merging->args.keys_out = merged.data();
  return merging->args.TotalCount() == merged.size();
}

template <typename Key, typename Value>
bool MakeMergeWithValues(Span<const KeysAndValues<Key, Value>> inputs, Span<Key> merged, Span<Value> merged_values,
                         const MergeOptions& options, Merging* merging) {
  std::vector<Span<const Key>> keys;
  for (const KeysAndValues<Key, Value>& input : inputs) {
    if (input.keys.size() != input.values.size() || !IsAligned(input.values)) return false;
    keys.push_back(input.keys);
  }
  if (!MakeMerge<Key>(keys, merged, options, merging)) return false;
  for (int64_t i = 0; i < inputs.size(); ++i) merging->inputs[static_cast<size_t>(i)].values = inputs[i].values.data();
  merging->args.value_bytes = ElementBytes<Value>();
  merging->args.values_out = merged_values.data();
  return merged_values.size() == merged.size() && IsAligned(merged_values);
}

template <typename Key, typename Index>
bool MakeSearch(Span<const Key> haystack, Span<const Key> needles, Span<Index> positions, const SearchOptions& options,
                SearchArgs* args) {
  args->key_type = KeyTypeOf<Key>();
  args->order = options.order;
  args->bound = options.bound;
  args->haystack = haystack.data();
  args->haystack_count = haystack.size();
  args->needles = needles.data();
  args->needle_count = needles.size();
  args->positions_out = positions.data();
  return positions.size() == needles.size() && HoldsIndices<Index>(haystack.size());
}

template <typename Key, typename Index>
bool MakeGroup(Span<const Key> keys, const Groups<Key, Index>& groups, const GroupOptions& options, GroupArgs* args) {
  args->key_type = KeyTypeOf<Key>();
  args->order = options.order;
  args->check_sorted = options.check_sorted;
  args->count = keys.size();
  args->keys = keys.data();
  args->keys_out = groups.keys.data();
  args->counts_out = groups.counts.data();
  args->firsts_out = groups.firsts.data();
  const auto fits = [&](auto output) { return output.empty() || output.size() == keys.size(); };
  return fits(groups.keys) && fits(groups.counts) && fits(groups.firsts) && HoldsIndices<Index>(keys.size() - 1);
}

template <typename Key, typename Value, typename Index>
bool MakeGroupReduce(Span<const Key> keys, Span<const Value> values, const Groups<Key, Index>& groups,
                     const Reductions<Value>& reductions, const GroupOptions& options, GroupArgs* args) {
  args->value_type = KeyTypeOf<Value>();
  args->values = values.data();
  args->sums_out = reductions.sums.data();
  args->minima_out = reductions.minima.data();
  args->maxima_out = reductions.maxima.data();
  args->values_validity = options.values_validity.data();
  args->value_counts_out = reductions.value_counts.data();
  const auto fits = [&](auto output) { return output.empty() || output.size() == keys.size(); };
  const bool has_validity =
      options.values_validity.empty() || options.values_validity.size() == BitmapBytes(keys.size());
  return MakeGroup<Key, Index>(keys, groups, options, args) && values.size() == keys.size() && has_validity &&
         fits(reductions.sums) && fits(reductions.minima) && fits(reductions.maxima) && fits(reductions.value_counts);
}

template <typename T, typename Index>
bool MakeSelect(Span<const T> elements, const Predicate<T>& predicate, const Selection<T, Index>& selection,
                SelectArgs* args) {
  args->by = predicate.by;
  args->negate = predicate.negate;
  args->partition = selection.partition;
  args->count = elements.size();
  args->elements = elements.data();
  args->element_bytes = ElementBytes<T>();
  args->flags = predicate.flags.data();
  args->positions = predicate.positions.data();
  args->position_count = predicate.positions.size();
  args->threshold = predicate.threshold;
  args->comparison = predicate.comparison;
  args->elements_out = selection.elements.data();
  args->indices_out = selection.indices.data();
  const auto fits = [&](auto output) { return output.empty() || output.size() == elements.size(); };
  bool has_predicate = true;
  if (predicate.by == SelectBy::kFlags) has_predicate = predicate.flags.size() == elements.size();
  if (predicate.by == SelectBy::kBitmap) has_predicate = predicate.flags.size() == BitmapBytes(elements.size());
  if constexpr (KeyTraits<T>::kIsKey) {
    args->key_type = KeyTypeOf<T>();
    if (predicate.by == SelectBy::kThreshold) has_predicate = predicate.threshold != nullptr;
  } else if (predicate.by == SelectBy::kThreshold) {
    has_predicate = false;
  }
  return has_predicate && fits(selection.elements) && fits(selection.indices) && IsAligned(elements) &&
         HoldsIndices<Index>(elements.size() - 1);
}

template <typename Key>
bool MakeSets(SetOperation operation, Span<const Key> left, Span<const Key> right, Span<Key> result, Order order,
              SetArgs* args) {
  args->key_type = KeyTypeOf<Key>();
  args->order = order;
  args->operation = operation;
  args->left = {left.data(), nullptr, left.size()};
  args->right = {right.data(), nullptr, right.size()};
  args->keys_out = result.data();
  return result.empty() || result.size() >= MostResults(*args);
}

template <typename Key, typename Index>
bool MakeJoin(JoinKind kind, Span<const Key> left, Span<const Key> right, Span<Index> left_rows, Span<Index> right_rows,
              bool right_sorted, JoinArgs* args) {
  static_assert(std::is_same_v<Index, int32_t> || std::is_same_v<Index, int64_t>, "row numbers are int32_t or int64_t");
  args->key_type = KeyTypeOf<Key>();
  args->kind = kind;
  args->left = left.data();
  args->left_count = left.size();
  args->right = right.data();
  args->right_count = right.size();
  args->right_sorted = right_sorted;
  args->count_only = left_rows.empty();
  args->max_rows = left_rows.size();
  if (!left_rows.empty()) {
    args->left_out = left_rows.data();
    if (!IsLeftOnly(kind)) args->right_out = right_rows.data();
  }
  return kind >= JoinKind::kInner && kind <= JoinKind::kAnti &&
         right_rows.size() == (IsLeftOnly(kind) ? 0 : left_rows.size()) &&
         JoinIndexBytes(left.size(), right.size()) == static_cast<int>(sizeof(Index));
}

template <typename T>
bool MakeExpand(Span<const T> values, Span<const int64_t> counts, Span<T> expanded, ExpandArgs* args) {
  args->values = values.data();
  args->element_bytes = ElementBytes<T>();
  args->counts = counts.data();
  args->interval_count = counts.size();
  args->out = expanded.data();
  args->total = expanded.size();
  return values.size() == counts.size() && IsAligned(values) && IsAligned(expanded);
}

/// Null offsets: the exclusive prefix sums of the counts.
template <typename T>
bool MakeMove(Span<const T> source, const Span<const int64_t>* source_offsets,
              const Span<const int64_t>* destination_offsets, Span<const int64_t> counts, int64_t total,
              Span<T> destination, MoveArgs* args) {
  args->source = source.data();
  args->destination = destination.data();
  args->element_bytes = ElementBytes<T>();
  args->counts = counts.data();
  args->interval_count = counts.size();
  args->total = total;
  args->destination_count = destination.size();
  if (source_offsets != nullptr) {
    if (source_offsets->size() != counts.size()) return false;
    args->source_offsets = source_offsets->data();
  }
  if (destination_offsets != nullptr) {
    if (destination_offsets->size() != counts.size()) return false;
    args->destination_offsets = destination_offsets->data();
  }
  return total >= 0 && IsAligned(source) && IsAligned(destination);
}

template <typename Index>
bool MakeLoadBalance(Span<const int64_t> counts, Span<Index> segments, Span<Index> ranks, LoadBalanceArgs* args) {
  static_assert(std::is_same_v<Index, uint32_t> || std::is_same_v<Index, uint64_t>, "indices are uint32_t or uint64_t");
  args->counts = counts.data();
  args->object_count = counts.size();
  args->total = segments.size();
  args->objects_out = segments.data();
  args->ranks_out = ranks.data();
  args->least_index_bytes = static_cast<int>(sizeof(Index));
  return ranks.size() == segments.size() && args->IndexWidth() == static_cast<int>(sizeof(Index));
}

}  // namespace internal
}  // namespace corank

#endif  // CORANK_OPERANDS_H_
