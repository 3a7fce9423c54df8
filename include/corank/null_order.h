// Where the null rows and the NaNs of a key column lie. Uses neither CUDA nor Abseil, as types.h.
#ifndef CORANK_NULL_ORDER_H_
#define CORANK_NULL_ORDER_H_

#include <cstdint>

namespace corank {

/// The end of the order at which the null rows of a column lie, whatever the column's Order.
enum class NullOrder : uint8_t { kLast, kFirst };

/// The place of NaNs in a column that may have nulls.
enum class NanOrder : uint8_t {
  kGreatest,     // greater than all numbers, so that a descending column begins with them
  kBesideNulls,  // between the numbers and the nulls, whatever the column's Order
  kAsNulls,      // among the nulls, as their equals
};

}  // namespace corank

#endif  // CORANK_NULL_ORDER_H_
