// Arguments of a search by key columns, as engines take them. Pointers, counts and lifetimes follow the rules of
// operators.h.
#ifndef CORANK_KERNELS_COMMON_COLUMN_SEARCH_H_
#define CORANK_KERNELS_COMMON_COLUMN_SEARCH_H_

#include <cstdint>

#include "kernels/common/column_sort.h"

namespace corank {

/// Finds the lower or upper bound of each row of one table, the needles, among the sorted rows of another, the
/// haystack. Outputs have IndexBytes(haystack_count) bytes each.
struct ColumnSearchArgs {
  /// HOST arrays of column_count columns, without outputs. Both tables have the same kinds, types, orders and places of
  /// nulls and NaNs. Either of them may have a validity.
  const KeyColumn* haystack = nullptr;
  const KeyColumn* needles = nullptr;
  int32_t column_count = 0;  // 1 to kMaxKeyColumns
  SearchBound bound = SearchBound::kLower;
  int64_t haystack_count = 0;
  int64_t needle_count = 0;
  void* positions_out = nullptr;
  bool check_sorted = true;  // report the first row of the haystack that comes before the row in front of it
};

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_COLUMN_SEARCH_H_
