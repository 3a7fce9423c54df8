// Relational join of two arrays of keys.
#ifndef CORANK_JOIN_H_
#define CORANK_JOIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "corank/element.h"
#include "corank/operators.h"

namespace corank::client {

/// Which rows a join has. Partners are rows of both sides with equal keys.
enum class JoinKind : uint8_t {
  kInner,  // each pair of partners
  kLeft,   // inner, and the rows of the left without a partner
  kRight,  // inner, and the rows of the right without a partner
  kFull,   // inner, and the rows of both sides without a partner
  kSemi,   // the rows of the left with a partner, once each
  kAnti,   // the rows of the left without a partner
};

struct JoinOptions {
  /// The keys of the right side ascend, which saves the server their sort. The server checks it.
  bool right_sorted = false;
  /// The most rows that the result may have: the server makes room for them. Unset: the number of keys of both sides;
  /// if the join has more, the client calls again with the number that the server's error names. With it, a join of
  /// more rows is INVALID_ARGUMENT with the reason TOO_MANY_ROWS; NeededRows (errors.h) tells their number.
  std::optional<int64_t> max_rows;
};

/// Joins two arrays in any order. All NaNs are one key, and -0.0 equals +0.0. The result has the rows of the left in
/// their order, each with its partners in their order, then the rows of the right without a partner. An Output in the
/// caller's memory needs room for max_rows rows; with one, the client never calls again by itself.
struct JoinRequest : JoinOptions {
  JoinKind kind = JoinKind::kInner;
  ArrayView left, right;
  /// Return the number of rows in place of the rows. Not with max_rows.
  bool count_only = false;
  Output left_rows_output = {}, right_rows_output = {}, count_output = {};
};

/// The answer to a JoinRequest. Row numbers are int32 if both sides have fewer than 2^31 keys, otherwise int64; -1: no
/// partner.
struct RawJoinResult {
  std::optional<Array> left_rows;   // unset with count_only
  std::optional<Array> right_rows;  // as many; unset with count_only and for kSemi and kAnti
  std::optional<Array> count;       // one int64, with count_only
  RequestStats stats;
};

/// The answer to the typed Join.
struct JoinResult {
  std::vector<int64_t> left_rows, right_rows;  // -1: no partner. right_rows is empty for kSemi and kAnti
  RequestStats stats;
};

/// The answer to CountJoin.
struct CountJoinResult {
  int64_t count = 0;
  RequestStats stats;
};

}  // namespace corank::client

#endif  // CORANK_JOIN_H_
