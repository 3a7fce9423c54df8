// Arguments of a sort by key columns, as engines take them. Pointers, counts and lifetimes follow the rules of
// operators.h.
#ifndef CORANK_KERNELS_COMMON_COLUMN_SORT_H_
#define CORANK_KERNELS_COMMON_COLUMN_SORT_H_

#include <algorithm>
#include <cstdint>

#include "kernels/common/null_order.h"
#include "kernels/common/operators.h"
#include "kernels/common/types.h"

namespace corank {

/// The largest number of columns in one key. The order of all of them is one argument of a kernel (row_order.h).
inline constexpr int kMaxKeyColumns = 32;

/// The content of a column's rows, which decides how rows compare.
enum class ColumnKind : uint8_t {
  kNumbers,  // one number of a KeyType, in the order of Sort's keys
  kBytes,    // row_bytes bytes, compared from the first on as unsigned numbers (memcmp)
  kStrings,  // bytes [offsets[row], offsets[row + 1]), compared as kBytes; a prefix comes before its extensions
};

/// One column of a key, with the places of its sorted rows.
struct KeyColumn {
  ColumnKind kind = ColumnKind::kNumbers;
  KeyType type = KeyType::kUint32;  // of kNumbers
  Order order = Order::kAscending;
  int32_t row_bytes = 0;             // kNumbers: KeyBytes(type); kBytes: 1 to kMaxRecordBytes; kStrings: not read
  const void* data = nullptr;        // the rows, one after the other. On the GPU, bytes and strings are read in aligned
                                     // words of 8 bytes, each of which holds at least one byte of the column
  const int64_t* offsets = nullptr;  // kStrings: count + 1 of them, rising from 0 to data_bytes, checked by the caller
  int64_t data_bytes = 0;            // of kStrings
  void* data_out = nullptr;          // null: not wanted
  int64_t* offsets_out = nullptr;    // kStrings, with data_out: ResultCount() + 1 of them, rising from 0
  // Null rows are equal, whatever data they have; outputs keep these data.
  const uint8_t* validity = nullptr;  // bit row % 8 of byte row / 8, the least significant first: 1 if the row is not
                                      // null. ValidityBytes(count) bytes, where further bits are ignored. Null: no row
                                      // is null
  NullOrder nulls = NullOrder::kLast;
  NanOrder nans = NanOrder::kGreatest;  // of floats. Without validity, `nulls` still tells where they lie
  uint8_t* validity_out = nullptr;  // null: not wanted. With validity: ValidityBytes(ResultCount()); further bits are 0
};

/// Bytes of the validity of `rows` rows.
constexpr int64_t ValidityBytes(int64_t rows) { return rows / 8 + (rows % 8 != 0); }

/// Sorts rows lexicographically by several columns: alone, with values, into a permutation, or into ranks. Stable.
/// Each output holds as many rows as an output of Sort does, except that ranks are always written for all rows.
struct ColumnSortArgs {
  const KeyColumn* columns = nullptr;              // a HOST array
  int32_t column_count = 0;                        // 1 to kMaxKeyColumns, or one more without segments
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // for the first 8 bytes that differ
  int64_t count = 0;
  const void* values_in = nullptr;  // null: no values
  void* values_out = nullptr;
  int32_t value_bytes = 0;      // 0 to kMaxRecordBytes; 0: no values
  void* indices_out = nullptr;  // null: no permutation wanted. IndexBytes(count - 1) each
  /// The dense rank of each row, in the order of the input: 1 plus the number of distinct rows that come before it in
  /// the sorted order. IndexBytes(count) each. Null: not wanted.
  void* ranks_out = nullptr;
  int64_t limit = -1;  // -1: all. With segments: of each segment
  int64_t offset = 0;  // rows that are left out before the limit counts. 0 with segments and ranks
  /// Merges sorted runs: run r is rows [run_offsets[r], run_offsets[r + 1]). A HOST array of run_count + 1 offsets,
  /// rising from 0 to count, checked by the caller. Reports the first run that is unsorted, and the first row (of all
  /// rows) that comes before the row in front of it; outputs are then of no use. Not with an algorithm but kAuto.
  const int64_t* run_offsets = nullptr;
  int32_t run_count = 0;  // 0: rows are in no order. Otherwise up to kMaxMergeInputs
  /// Sorts each segment of rows by itself: segment s is rows [segment_offsets[s], segment_offsets[s + 1]).
  /// segment_count + 1 offsets, rising from 0 to count, checked by the caller. Not with ranks or runs.
  const int64_t* segment_offsets = nullptr;
  int64_t segment_count = 0;  // 0: no segments

  int64_t ResultCount() const {
    return segment_count > 0 ? MostLimited(count, limit, segment_count) : CountResults(count, offset, limit);
  }
  /// Whether only the offsets of the segments tell the number of results.
  bool LimitsSegments() const { return segment_count > 1 && limit >= 0 && limit < count; }
  /// Whether the order of the rows is of no use: no output and no check needs it.
  bool HasNoWork() const { return count == 0 || (ResultCount() == 0 && ranks_out == nullptr && run_count == 0); }
};

/// By segments, the number of a row's segment is a column before the others, so that rows never leave their segment.
/// `numbers`: IndexBytes(segment_count - 1) bytes each.
inline KeyColumn SegmentColumn(int64_t segment_count, const void* numbers) {
  KeyColumn column;
  column.row_bytes = IndexBytes(segment_count - 1);
  column.type = column.row_bytes == sizeof(uint32_t) ? KeyType::kUint32 : KeyType::kUint64;
  column.data = numbers;
  return column;
}

/// Writes these numbers of rows [begin, end). `numbers`: of all rows.
inline void NumberSegments(const int64_t* offsets, int64_t segment_count, int64_t begin, int64_t end, void* numbers) {
  const bool is_narrow = IndexBytes(segment_count - 1) == sizeof(uint32_t);
  int64_t segment = std::upper_bound(offsets, offsets + segment_count, begin) - offsets - 1;
  for (int64_t row = begin; row < end; ++row) {
    while (offsets[segment + 1] <= row) ++segment;
    if (is_narrow) {
      static_cast<uint32_t*>(numbers)[row] = static_cast<uint32_t>(segment);
    } else {
      static_cast<uint64_t*>(numbers)[row] = static_cast<uint64_t>(segment);
    }
  }
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_COLUMN_SORT_H_
