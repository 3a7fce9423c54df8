// Sorting rows by several key columns: numbers, byte strings of one width, strings of any length.
//
//   corank::client::PackedStrings names;
//   for (const std::string& name : all) names.Add(name);
//   auto sorted = client->SortColumns({{names.view(), {ViewOf(ages), std::nullopt, Order::kDescending}},
//   ViewOf(rows)});
#ifndef CORANK_CLIENT_CPP_COLUMNS_H_
#define CORANK_CLIENT_CPP_COLUMNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cpp/element.h"
#include "client/cpp/operators.h"

namespace corank::client {

/// One column of a key; borrows. What rows hold in it follows from the two: numbers of a key type; records, which
/// compare byte by byte as unsigned numbers; or, where offsets are given, strings: `data` is then of uint8, string i is
/// data[offsets[i], offsets[i + 1]), and a string comes before what it is a prefix of.
struct ColumnView {
  ArrayView data;
  std::optional<absl::Span<const int64_t>> offsets;
  Order order = Order::kAscending;
};

/// Strings as a column wants them: one after the other.
struct PackedStrings {
  std::string bytes;
  std::vector<int64_t> offsets = {0};

  void Add(absl::string_view string) {
    bytes.append(string.data(), string.size());
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  ColumnView view(Order order = Order::kAscending) const { return {{KeyType::kUint8, bytes}, offsets, order}; }
};

/// Rows are sorted by the first column, equal ones by the second, and so on.
struct ColumnSortRequest {
  std::vector<ColumnView> columns;  // 1 to 16, all with the same number of rows
  /// One for each row. Not together with an output of indices.
  std::optional<ArrayView> values;
  SortOutput output = SortOutput::kKeys;  // kKeys: the sorted columns
  /// How the first 8 bytes that differ are sorted.
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  /// Only the first `limit` rows of the order.
  std::optional<int64_t> limit;
  Output values_output = {}, indices_output = {};
};

struct SortedColumn {
  Array data;
  std::optional<std::vector<int64_t>> offsets;  // of strings

  /// The strings, as many as there are rows. INTERNAL if this column holds none.
  absl::StatusOr<std::vector<std::string>> Strings() const;
};

struct ColumnSortResult {
  std::vector<SortedColumn> columns;  // none with an output of indices only
  std::optional<Array> values;
  std::optional<Array> indices;                    // UINT32 or UINT64
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // what was taken
  RequestStats stats;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_COLUMNS_H_
