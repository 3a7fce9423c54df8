// Union, intersection, difference and symmetric difference of sorted arrays, as multisets.
#ifndef CORANK_SETS_H_
#define CORANK_SETS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "corank/element.h"
#include "corank/operators.h"

namespace corank::client {

/// How to combine two sides. Where a key occurs m times on the left and n times on the right, the first min(m, n) of
/// them on each side are partners.
enum class SetOperation : uint8_t {
  kUnion,                // all keys of the left, and those of the right without a partner
  kIntersection,         // the keys of the left that have a partner
  kDifference,           // the keys of the left that have none
  kSymmetricDifference,  // the keys of both sides that have none
};

/// Combines two sorted sides into a sorted result. All NaNs are one key, and -0.0 equals +0.0. An Output in the
/// caller's memory needs room for the longest result: both sides together, the shorter side for an intersection, the
/// left one for a difference.
struct CombineSetsRequest {
  SetOperation operation = SetOperation::kUnion;
  /// Sorted in this order; the server checks it.
  Order order = Order::kAscending;
  ArrayView left, right;
  /// One value for each key, which travels with it: for both sides, or for the left alone if all keys of the result are
  /// from the left (kIntersection, kDifference). Unset: keys alone.
  std::optional<ArrayView> left_values = std::nullopt, right_values = std::nullopt;
  /// Return the number of keys in place of the keys. Not with values.
  bool count_only = false;
  Output keys_output = {}, values_output = {}, count_output = {};
};

/// The answer to a CombineSetsRequest.
struct RawCombineSetsResult {
  std::optional<Array> keys;    // unset with count_only
  std::optional<Array> values;  // set if the request has values
  std::optional<Array> count;   // one int64, with count_only
  RequestStats stats;
};

/// The answer to the typed CombineSets.
template <typename Key>
struct CombineSetsResult {
  std::vector<Key> keys;
  RequestStats stats;
};

/// The answer to CountSets.
struct CountSetsResult {
  int64_t count = 0;
  RequestStats stats;
};

}  // namespace corank::client

#endif  // CORANK_SETS_H_
