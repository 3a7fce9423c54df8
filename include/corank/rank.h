// The rank of each key.
#ifndef CORANK_RANK_H_
#define CORANK_RANK_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "corank/element.h"
#include "corank/operators.h"

namespace corank::client {

/// The rank of keys that are equal. Ranks begin at 1.
enum class RankMethod : uint8_t {
  kAverage,  // the mean of the positions that a sort gives the equal keys
  kMin,      // the least of these positions
  kMax,      // the greatest of them
  kDense,    // the number of distinct keys up to this one
  kOrdinal,  // each key has a rank of its own, in the order of a stable sort
};

struct RankOptions {
  RankMethod method = RankMethod::kAverage;
  Order order = Order::kAscending;
  /// The keys, or those of each segment, are sorted in this order, which saves the server their sort. The server checks
  /// it.
  bool keys_sorted = false;
  /// Ranks each segment on its own: segment s is [offsets[s], offsets[s + 1]). The first offset is 0, the last the
  /// number of keys.
  std::optional<absl::Span<const int64_t>> segment_offsets = std::nullopt;
};

/// Ranks keys. All NaNs are one key, and -0.0 equals +0.0. The ranks are float64 with kAverage, otherwise uint32, or
/// uint64 if there are 2^32 keys or more; ToIndices (element.h) reads both.
struct RankRequest : RankOptions {
  ArrayView keys;
  Output output = {};
};

}  // namespace corank::client

#endif  // CORANK_RANK_H_
