// Arguments of the operators, as engines take them: pointers, counts and flags, without gRPC or protobuf.
//
// All pointers are "device" pointers, to memory that the engine's kernels can read: from EngineStream::Upload or
// AllocateDevice (host memory on the CPU engine). Operators do not change inputs; inputs and outputs must not overlap.
// A pointer to an empty array may be null. Pointers have the alignment of their elements: the largest power of two that
// divides the element size, at most 16. Counts are in elements. Structs are plain values: the caller keeps everything
// they point to until the stream finishes.
#ifndef CORANK_KERNELS_COMMON_OPERATORS_H_
#define CORANK_KERNELS_COMMON_OPERATORS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/common/spare_memory.h"
#include "kernels/common/types.h"

namespace corank {

/// The most elements that a sort of `count` keys returns: `limit` of each segment, if limit is not -1. No segments: 0.
constexpr int64_t MostLimited(int64_t count, int64_t limit, int64_t segment_count) {
  if (limit < 0 || limit >= count) return count;
  const int64_t segments = segment_count > 0 ? segment_count : 1;
  return limit > count / segments ? count : limit * segments;
}

/// Where results [offset, offset + limit) of `count` sorted elements end, if limit is not -1; otherwise all of them do.
constexpr int64_t ResultsEnd(int64_t count, int64_t offset, int64_t limit) {
  return limit < 0 || offset >= count || limit >= count - offset ? count : offset + limit;
}
/// How many these are.
constexpr int64_t CountResults(int64_t count, int64_t offset, int64_t limit) {
  return offset >= count ? 0 : ResultsEnd(count, offset, limit) - offset;
}

/// Sorts keys alone, with values, or into a permutation; whole or by segments. Stable. Outputs hold `ResultCount`
/// elements, unless LimitsSegments(): these are then the most that there can be, the report says how many there are,
/// and outputs need no room for more.
struct SortArgs {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  int64_t count = 0;
  const void* keys_in = nullptr;
  void* keys_out = nullptr;         // null: the caller does not want keys
  const void* values_in = nullptr;  // null: no values
  void* values_out = nullptr;
  int32_t value_bytes = 0;                   // 0 to kMaxRecordBytes; 0: no values
  void* indices_out = nullptr;               // null: no permutation. IndexBytes(count - 1) bytes each. Not with values
  const int64_t* segment_offsets = nullptr;  // segment_count + 1 offsets, checked by the caller; null: one segment
  int64_t segment_count = 0;
  /// -1: no limit. With segments: of each segment; the first elements of all segments then lie one behind the other.
  int64_t limit = -1;
  /// Results that are left out before the limit counts. 0 with segments. An offset beyond the end leaves none.
  int64_t offset = 0;
  /// Apart from all other arrays. WorkspaceBytes counts what is needed beside it.
  SpareMemory spare[2];

  int64_t ResultCount() const {
    return segment_count > 0 ? MostLimited(count, limit, segment_count) : CountResults(count, offset, limit);
  }
  /// Whether only the offsets of the segments tell the number of results.
  bool LimitsSegments() const { return segment_count > 1 && limit >= 0 && limit < count; }
  /// A single segment is the whole array.
  SortArgs WithoutLoneSegment() const {
    SortArgs args = *this;
    if (segment_count == 1) args.segment_offsets = nullptr;
    return args;
  }
  /// The sort that returns the results before the offset too.
  SortArgs FromTheFirst() const {
    SortArgs args = *this;
    args.limit = ResultsEnd(count, offset, limit);
    args.offset = 0;
    return args;
  }
};

/// The largest number of keys in each array of EngineStream::SortEach.
inline constexpr int64_t kSortEachKeys = 4096;

/// One input of a merge.
struct MergeInput {
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t count = 0;
};

/// Merges sorted inputs. Stable: among equal keys, those of earlier inputs come first.
struct MergeArgs {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  const MergeInput* inputs = nullptr;  // a HOST array
  int32_t input_count = 0;             // 0 to kMaxMergeInputs
  void* keys_out = nullptr;
  void* values_out = nullptr;
  int32_t value_bytes = 0;   // 0: no values
  bool check_sorted = true;  // report the first unsorted input, and the first index in it that is out of order

  int64_t TotalCount() const {
    int64_t total = 0;
    for (int32_t i = 0; i < input_count; ++i) total += inputs[i].count;
    return total;
  }
};

/// Cuts a stable merge of sorted inputs: finds how many of the first outputs come from each input. Does not read
/// values. Keys may also lie in pinned host memory. Unsorted inputs lead to a wrong cut, but never to an access out of
/// bounds.
struct SplitArgs {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  const MergeInput* inputs = nullptr;  // a HOST array
  int32_t input_count = 0;             // 1 to kMaxSplitInputs
  const int64_t* positions = nullptr;  // a HOST array: outputs before each cut, ascending, 0 to the inputs' total
  int64_t position_count = 0;
  int64_t* splits = nullptr;  // HOST memory: splits[p * input_count + i] of the first positions[p] come from i
};

/// Repeats value i counts[i] times. `total` is the sum of the counts.
struct ExpandArgs {
  const void* values = nullptr;
  int32_t element_bytes = 4;  // 1 to kMaxRecordBytes
  const int64_t* counts = nullptr;
  int64_t interval_count = 0;
  void* out = nullptr;
  int64_t total = 0;
};

/// Copies counts[i] elements from source[source_offsets[i]] on to destination[destination_offsets[i]] on, for every i.
/// A null source_offsets or destination_offsets means the exclusive prefix sums of the counts (scatter, gather). The
/// caller has checked the ranges. `total` is the sum of the counts. Destination elements outside all intervals keep
/// their value. A null destination: checks the overlap alone.
struct MoveArgs {
  const void* source = nullptr;
  void* destination = nullptr;
  int32_t element_bytes = 4;  // 1 to kMaxRecordBytes
  const int64_t* source_offsets = nullptr;
  const int64_t* destination_offsets = nullptr;
  const int64_t* counts = nullptr;
  int64_t interval_count = 0;
  int64_t total = 0;
  bool check_overlap = true;      // report overlapping destinations; ignored if destination_offsets is null
  int64_t destination_count = 0;  // elements of the destination; only the check needs it
};

/// Finds, for each of the `total` work items, the index of its object and its rank within the object. `total` is the
/// sum of the counts. Outputs have IndexBytes(max(object_count, total) - 1) bytes each, or least_index_bytes if that is
/// more.
struct LoadBalanceArgs {
  const int64_t* counts = nullptr;
  int64_t object_count = 0;
  int64_t total = 0;
  void* objects_out = nullptr;
  void* ranks_out = nullptr;
  int least_index_bytes = 4;  // 4 or 8

  int IndexWidth() const {
    const int bytes = IndexBytes((object_count > total ? object_count : total) - 1);
    return bytes > least_index_bytes ? bytes : least_index_bytes;
  }
};

/// Finds the lower or upper bound of each needle. Outputs have IndexBytes(haystack_count) bytes each.
struct SearchArgs {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  SearchBound bound = SearchBound::kLower;
  const void* haystack = nullptr;
  int64_t haystack_count = 0;
  const void* needles = nullptr;
  int64_t needle_count = 0;
  void* positions_out = nullptr;
  bool check_sorted = true;  // report the first index of the haystack that is out of order
};

/// Findings of an operator while it ran. Valid after EngineStream::Finish.
struct OperatorReport {
  enum class Fault : int32_t {
    kNone = 0,
    kUnsorted = 1,     // input `input` is unsorted at `index`: element index comes before element index - 1
    kOverlapping = 2,  // destination intervals `other` and `index` overlap, neighbours by offset (stable)
  };
  Fault fault = Fault::kNone;
  int32_t input = 0;   // the first unsorted input
  int64_t index = -1;  // the first such index in that input; kOverlapping: the first such pair in destination order
  int64_t other = -1;
  int64_t results = 0;                                     // of a Sort: the number of elements of each output
  SortAlgorithm sort_algorithm = SortAlgorithm::kAuto;     // the algorithm in use; never kAuto after a Sort
  MergeAlgorithm merge_algorithm = MergeAlgorithm::kAuto;  // the algorithm in use; never kAuto after a Merge
  uint8_t unused[6] = {};  // makes padding explicit, because a report is copied from the device byte for byte
};
static_assert(std::has_unique_object_representations_v<OperatorReport>, "no padding");

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_OPERATORS_H_
