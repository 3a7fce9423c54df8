// Sorts and searches rows by several key columns: numbers, byte strings of one width, strings of any length.
//
//   corank::client::PackedStrings names;
//   for (const std::string& name : all_names) names.Add(name);
//   corank::client::ColumnSortRequest request;
//   request.columns = {names.view(), {ViewOf(ages), std::nullopt, corank::Order::kDescending}};
//   request.output = corank::client::SortOutput::kIndices;
//   auto sorted = client->SortColumns(request);  // by name, then by descending age
#ifndef CORANK_COLUMNS_H_
#define CORANK_COLUMNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corank/element.h"
#include "corank/null_order.h"
#include "corank/operators.h"

namespace corank::client {

/// One key column. Borrows. `data` and `offsets` decide how rows compare:
/// - numbers: `data` is of a key type, one element a row;
/// - records: `data` is of records, which compare byte by byte as unsigned numbers;
/// - strings: `offsets` is set and `data` is of uint8. Row i is data[offsets[i], offsets[i + 1]). Strings compare byte
///   by byte, and a prefix comes first.
struct ColumnView {
  ArrayView data;
  std::optional<absl::Span<const int64_t>> offsets;
  Order order = Order::kAscending;
  /// Set if rows may be null: a bitmap as in Apache Arrow, one byte for each 8 rows or part of 8. Row i is null if bit
  /// i % 8 of byte i / 8 is 0, where bit 0 is the least significant one. Null rows are equal, whatever `data` holds for
  /// them. See PackedValidity.
  std::optional<absl::Span<const uint8_t>> validity = std::nullopt;
  /// The end of the order at which nulls lie, also of a descending column.
  NullOrder nulls = NullOrder::kLast;
  /// The place of NaNs. kBesideNulls and kAsNulls follow `nulls`, also without `validity`.
  NanOrder nans = NanOrder::kGreatest;
};

/// A validity as a column needs it. Owns its bytes.
struct PackedValidity {
  std::vector<uint8_t> bytes;
  int64_t rows = 0;

  /// Appends a row.
  void Add(bool is_valid) {
    if (rows % 8 == 0) bytes.push_back(0);
    bytes.back() = static_cast<uint8_t>(bytes.back() | (is_valid ? 1 : 0) << rows % 8);
    ++rows;
  }
};

/// Strings as a column needs them: one after the other in one buffer. Owns its bytes; its view borrows.
struct PackedStrings {
  std::string bytes;
  std::vector<int64_t> offsets = {0};

  /// Appends a row.
  void Add(absl::string_view string) {
    bytes.append(string.data(), string.size());
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  /// The column; valid until the next Add.
  ColumnView view(Order order = Order::kAscending) const { return {{KeyType::kUint8, bytes}, offsets, order}; }
};

/// Sorts rows by the first column, rows that are equal there by the second, and so on. Stable.
struct ColumnSortRequest {
  /// 1 to 32 columns with the same number of rows.
  std::vector<ColumnView> columns;
  /// One value for each row. Not together with an output of indices or ranks.
  std::optional<ArrayView> values;
  /// kKeys returns the sorted columns.
  SortOutput output = SortOutput::kKeys;
  /// How the server sorts by the first 8 bytes that differ. It compares the remaining rows.
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  /// Sorts each segment of rows on its own: segment s is [offsets[s], offsets[s + 1]). The first offset is 0, the last
  /// the number of rows. Not together with an output of ranks or runs.
  std::optional<absl::Span<const int64_t>> segment_offsets;
  /// Returns only the first `limit` rows in sorted order. With segments, returns the first `limit` rows of each
  /// segment. Cannot be combined with an output of ranks.
  std::optional<int64_t> limit;
  /// Leaves out the first `offset` rows, 0 or more, before the limit counts. Not together with segments or an output of
  /// ranks.
  int64_t offset = 0;
  /// Merges tables: rows are sorted runs, one after the other, and run r is rows [offsets[r], offsets[r + 1]). The
  /// first offset is 0, the last the number of rows. Equal rows of an earlier run come first. INVALID_ARGUMENT if a run
  /// is out of order. Not together with an algorithm.
  std::optional<absl::Span<const int64_t>> run_offsets;
  /// Where results go. The sorted columns always return to the caller.
  Output values_output = {}, indices_output = {}, ranks_output = {};
};

/// One sorted column. `offsets` is set for strings, `validity` if the request's column has one.
struct SortedColumn {
  /// Null rows keep the data that they had in the request.
  Array data;
  std::optional<std::vector<int64_t>> offsets;
  std::optional<std::vector<uint8_t>> validity;

  /// Whether a row is null. row: 0 or more, and less than the number of rows.
  bool IsNull(int64_t row) const {
    return validity.has_value() && ((*validity)[static_cast<size_t>(row / 8)] >> row % 8 & 1) == 0;
  }
  /// The strings, one for each row, also of null rows. INTERNAL if the column does not hold strings.
  absl::StatusOr<std::vector<std::string>> Strings() const;
};

/// The answer to a ColumnSortRequest.
struct ColumnSortResult {
  /// Empty with an output of indices only or of ranks.
  std::vector<SortedColumn> columns;
  /// Set if the request had values.
  std::optional<Array> values;
  /// UINT32 or UINT64. Set if the request asked for indices.
  std::optional<Array> indices;
  /// UINT32 or UINT64, one for each row of the request. Set if the request asked for ranks.
  std::optional<Array> ranks;
  /// The algorithm that the server used.
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  RequestStats stats;
};

/// Finds where rows belong in a sorted table.
struct ColumnSearchRequest {
  /// 1 to 32 columns with the same number of rows, sorted as by SortColumns. INVALID_ARGUMENT if they are not.
  std::vector<ColumnView> haystack;
  /// As many columns, with the types of the haystack and rows in any order. They have the order, nulls and nans of the
  /// haystack: leave these at their defaults, or repeat them. Either table may have a validity.
  std::vector<ColumnView> needles;
  /// The lower bound is the first row that does not come before the needle, the upper bound the first that comes after.
  SearchBound bound = SearchBound::kLower;
  /// Skips the check that the haystack is sorted.
  bool assume_sorted = false;
  /// Where the positions go.
  Output output = {};
};

}  // namespace corank::client

#endif  // CORANK_COLUMNS_H_
