// corank argsort-columns.
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "kernels/common/column_sort.h"

namespace corank::cli {
namespace {

/// The directions of `columns` columns: descending for the numbers, from 1, that the options give; else ascending.
absl::StatusOr<std::vector<Order>> ReadOrders(const Arguments& arguments, size_t columns) {
  std::vector<Order> orders(columns, Order::kAscending);
  for (const std::string& number : arguments.GetAll("descending-column")) {
    size_t column = 0;
    if (!absl::SimpleAtoi(number, &column) || column < 1 || column > columns) {
      return UsageError(absl::StrCat("--descending-column is a number from 1 to ", columns, ", not '", number, "'"));
    }
    orders[column - 1] = Order::kDescending;
  }
  return orders;
}

absl::Status RunArgsortColumns(const Arguments& arguments) {
  const std::vector<std::string>& paths = arguments.positional();
  absl::StatusOr<std::vector<Order>> orders = ReadOrders(arguments, paths.size());
  if (!orders.ok()) return orders.status();
  absl::StatusOr<SortAlgorithm> algorithm = SortAlgorithmChoice(arguments);
  if (!algorithm.ok()) return algorithm.status();
  absl::StatusOr<std::optional<int64_t>> limit = arguments.GetCount("limit");
  if (!limit.ok()) return limit.status();
  absl::StatusOr<std::optional<int64_t>> offset = arguments.GetCount("offset");
  if (!offset.ok()) return offset.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();

  std::vector<InputArray> columns;
  for (const std::string& path : paths) {
    absl::StatusOr<InputArray> column = (*session)->LoadMain(path, std::nullopt, "a .npy file");
    if (!column.ok()) return column.status();
    columns.push_back(*std::move(column));
  }
  client::ColumnSortRequest request;
  for (size_t i = 0; i < columns.size(); ++i) {
    request.columns.push_back({columns[i].view(), std::nullopt, (*orders)[i]});
  }
  request.output = client::SortOutput::kIndices;
  request.algorithm = *algorithm;
  request.limit = *limit;
  request.offset = offset->value_or(0);
  std::vector<int64_t> segments;
  absl::Status loaded = (*session)->LoadSegments(&segments, &request.segment_offsets);
  if (!loaded.ok()) return loaded;
  absl::StatusOr<client::ColumnSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.SortColumns(request, call); });
  if (!result.ok()) return result.status();
  if (!result->indices.has_value()) return absl::InternalError("the server answered without indices");
  const absl::Status saved = (*session)->Save("output", *result->indices);
  if (!saved.ok()) return saved;
  return (*session)->Finish({"argsort-columns", columns.front().view().count(), columns.front().type.Name(),
                             SortAlgorithmName(result->algorithm), std::move(result->stats)});
}

}  // namespace

Command ArgsortColumnsCommand() {
  return {
      {"argsort-columns", "find the permutation that sorts rows by several columns", "COLUMN...", 1, kMaxKeyColumns,
       "Each column is a file with one value per row: a .txt file with numbers, or a .npy file with numbers or byte\n"
       "strings (dtype V or S, 1 to 256 bytes, compared byte by byte). Rows are sorted by the first column, equal\n"
       "rows by the second, and so on. The sort is stable. Indices are uint32, or uint64 if there are more than 2^32\n"
       "rows. `corank sort people.csv --column NAME` sorts the rows of a table.",
       "corank argsort-columns country.npy age.npy -o order.npy\n"
       "corank argsort-columns day.npy size.npy --descending-column 2 --limit 100 -o order.npy",
       WithOperatorOptions(
           {kOutputOption,
            {"descending-column", 0, "N", "sort column N, from 1, in descending order; may be repeated", true},
            kSortAlgorithmOption,
            kSegmentsOption,
            kLimitOption})},
      RunArgsortColumns};
}

}  // namespace corank::cli
