// Arguments of Join, as engines take them. Pointers, counts and lifetimes follow the rules of operators.h.
#ifndef CORANK_KERNELS_COMMON_JOIN_H_
#define CORANK_KERNELS_COMMON_JOIN_H_

#include <cstdint>
#include <type_traits>

#include "kernels/common/types.h"

namespace corank {

/// Partners are rows of both sides with equal keys. Keys are equal as in Sort: all NaNs are one key, and so are both
/// zeros.
enum class JoinKind : uint8_t {
  kInner = 1,  // each pair of partners
  kLeft = 2,   // inner, and the rows of the left without a partner
  kRight = 3,  // inner, and the rows of the right without a partner
  kFull = 4,   // inner, and the rows of both sides without a partner
  kSemi = 5,   // the rows of the left with a partner, once each
  kAnti = 6,   // the rows of the left without a partner
};

/// Whether the result has rows of the left side alone.
constexpr bool IsLeftOnly(JoinKind kind) { return kind >= JoinKind::kSemi; }
/// Whether rows of the right side without a partner are in the result.
constexpr bool KeepsUnmatchedRight(JoinKind kind) { return kind == JoinKind::kRight || kind == JoinKind::kFull; }

/// How many rows of the result a row of the left with this many partners has.
CORANK_HOST_DEVICE constexpr int64_t JoinedRows(JoinKind kind, int64_t partners) {
  switch (kind) {
    case JoinKind::kInner:
    case JoinKind::kRight:
      return partners;
    case JoinKind::kLeft:
    case JoinKind::kFull:
      return partners > 0 ? partners : 1;
    case JoinKind::kSemi:
      return partners > 0 ? 1 : 0;
    case JoinKind::kAnti:
      return partners > 0 ? 0 : 1;
  }
  return 0;
}

/// Numbers of rows above this one are given as this one: those of two sides with 2^31 equal keys each.
inline constexpr int64_t kMostJoinRows = (int64_t{1} << 62) - 1;

/// The sum of two numbers of rows. Neither is above kMostJoinRows.
CORANK_HOST_DEVICE constexpr int64_t AddJoinRows(int64_t a, int64_t b) {
  return a < kMostJoinRows - b ? a + b : kMostJoinRows;
}

/// The most rows that the result of a join can have, up to kMostJoinRows.
constexpr int64_t MostJoinedRows(JoinKind kind, int64_t left_count, int64_t right_count) {
  if (IsLeftOnly(kind)) return left_count;
  const int64_t pairs =
      right_count > 0 && left_count > kMostJoinRows / right_count ? kMostJoinRows : left_count * right_count;
  int64_t alone = 0;  // rows without a partner, if there are no pairs
  if (kind == JoinKind::kLeft || kind == JoinKind::kFull) alone += left_count;
  if (KeepsUnmatchedRight(kind)) alone += right_count;
  return pairs > alone ? pairs : alone;
}

/// Bytes of a row number in the result: 4 if both sides have fewer than 2^31 rows, otherwise 8. Row numbers are signed.
constexpr int JoinIndexBytes(int64_t left_count, int64_t right_count) {
  return (left_count > right_count ? left_count : right_count) <= INT32_MAX ? 4 : 8;
}

/// Joins two arrays of keys in any order. The result is a list of row numbers of both sides: the rows of the left in
/// their order, each with its partners in their order, then the rows of the right without a partner in their order. The
/// number of a missing partner is -1. If there are more than max_rows rows, the outputs are unspecified.
struct JoinArgs {
  KeyType key_type = KeyType::kUint32;
  JoinKind kind = JoinKind::kInner;
  const void* left = nullptr;
  int64_t left_count = 0;
  const void* right = nullptr;
  int64_t right_count = 0;
  /// The caller promises that the keys of the right ascend, which saves their sort. Checked.
  bool right_sorted = false;
  bool count_only = false;  // the outputs for row numbers are null
  /// Row numbers of JoinIndexBytes(left_count, right_count) bytes, with room for max_rows.
  void* left_out = nullptr;
  void* right_out = nullptr;  // null if IsLeftOnly(kind)
  int64_t max_rows = 0;
  int64_t* count_out = nullptr;  // null, or room for the number of rows
};

/// Findings of a Join. Valid after EngineStream::Finish. Unless `unsorted` is -1, the rest is unspecified.
struct JoinReport {
  int64_t rows = 0;       // of the result, also if there is no room for them
  int64_t unsorted = -1;  // with right_sorted: the first index of the right whose key comes before the previous key
};
static_assert(std::has_unique_object_representations_v<JoinReport>, "no padding");

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_JOIN_H_
