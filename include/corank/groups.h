// Groups of equal keys: distinct keys, their counts and first positions, and sums, minima and maxima of their values.
#ifndef CORANK_GROUPS_H_
#define CORANK_GROUPS_H_

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "corank/element.h"
#include "corank/operators.h"

namespace corank::client {

/// How equal keys lie in the keys of a GroupRequest.
enum class GroupInput : uint8_t {
  kUnsorted,  // in any order; the server sorts them first
  kSorted,    // sorted in the order of the request, which the server checks
  kRuns,      // each run of neighbouring equal keys is a group, so a key may have several (run-length encoding)
};

/// How to find groups. They come in the order of their keys, or, with kRuns, of the array.
struct GroupOptions {
  GroupInput input = GroupInput::kUnsorted;
  Order order = Order::kAscending;  // kRuns: not used
};

/// The results that a GroupRequest asks for.
struct GroupWants {
  bool keys = true, counts = true, firsts = false;
  bool sums = false, minima = false, maxima = false, value_counts = false;  // need values
};

/// Finds the groups of equal keys. All NaNs are one key, and -0.0 equals +0.0. An Output in the caller's memory needs
/// room for a group of each key.
struct GroupRequest : GroupOptions {
  ArrayView keys;
  /// One number for each key. Set if sums, minima, maxima or value counts are wanted, and only then.
  std::optional<ArrayView> values;
  /// Set if values may be null: a bitmap as Column::validity, which PackedValidity makes (columns.h). Null values take
  /// no part in sums, minima, maxima and value counts.
  std::optional<ArrayView> values_validity = {};
  GroupWants wants = {};
  Output keys_output = {}, counts_output = {}, firsts_output = {};
  Output sums_output = {}, minima_output = {}, maxima_output = {}, value_counts_output = {};
};

/// The answer to a GroupRequest: an element for each group. Arrays that the request did not ask for are unset.
struct RawGroupResult {
  std::optional<Array> keys;    // the first key of each group
  std::optional<Array> counts;  // int64
  std::optional<Array> firsts;  // the position of the first key: uint32 or uint64; ToIndices (element.h) reads both
  std::optional<Array> sums;    // int64, uint64 or float64, as the values are
  std::optional<Array> minima;  // of the type of the values; NaN is greater than every number
  std::optional<Array> maxima;
  /// int64: the values of each group that are not null. Where it is 0, the sum is 0, and the extremes mean nothing.
  std::optional<Array> value_counts;
  RequestStats stats;
};

/// The type of the sums of values.
template <typename Value>
using SumOf = std::conditional_t<!std::is_integral_v<Value>, double,
                                 std::conditional_t<std::is_signed_v<Value>, int64_t, uint64_t>>;

/// The answer to the typed Group and RunLengthEncode.
template <typename Key>
struct GroupResult {
  std::vector<Key> keys;
  std::vector<int64_t> counts;
  RequestStats stats;
};

/// The answer to GroupValues.
template <typename Key, typename Value>
struct GroupValuesResult {
  std::vector<Key> keys;
  std::vector<int64_t> counts;
  std::vector<SumOf<Value>> sums;
  std::vector<Value> minima, maxima;
  RequestStats stats;
};

}  // namespace corank::client

#endif  // CORANK_GROUPS_H_
