// Insertion of elements before many positions of an array at once, by GatherIntervals.
#ifndef CORANK_INSERT_H_
#define CORANK_INSERT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace corank::client {

/// The intervals of a GatherRequest whose source is an array followed by the elements to insert.
struct InsertionIntervals {
  std::vector<int64_t> source_offsets, counts;
};

/// Element i of the inserted ones goes before positions[i] of an array of `count` elements, or behind its end if
/// positions[i] is `count`. Positions may be in any order; elements for the same position keep their order.
/// INVALID_ARGUMENT names the first position that is less than 0 or greater than `count`, or says that there are not as
/// many positions as `inserted` elements.
absl::StatusOr<InsertionIntervals> IntervalsToInsert(int64_t count, absl::Span<const int64_t> positions,
                                                     int64_t inserted);

}  // namespace corank::client

#endif  // CORANK_INSERT_H_
