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

/// The directions of `columns` columns: ascending but for those whose number, from 1, is given.
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
  absl::StatusOr<client::ColumnSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.SortColumns(request, call); });
  if (!result.ok()) return result.status();
  if (!result->indices.has_value()) return absl::InternalError("the server answered without indices");
  const absl::Status saved = (*session)->Save("output", *result->indices);
  if (!saved.ok()) return saved;
  return (*session)->Finish({"argsort-columns", columns.front().view().count(), columns.front().type,
                             SortAlgorithmName(result->algorithm), std::move(result->stats)});
}

}  // namespace

Command ArgsortColumnsCommand() {
  return {
      {"argsort-columns", "the permutation that sorts rows by several columns", "COLUMN...", 1, kMaxKeyColumns,
       "Each column is a .npy file with one number or byte string (dtype V or S, 1 to 256 bytes, compared byte by\n"
       "byte) for each row. Rows are sorted by the first column, equal ones by the second, and so on. Stable.\n"
       "Indices are uint32, or uint64 where there are more than 2^32 rows.",
       "corank argsort-columns country.npy age.npy -o order.npy\n"
       "corank argsort-columns day.npy size.npy --descending-column 2 --limit 100 -o order.npy",
       WithOperatorOptions({kOutputOption,
                            {"descending-column", 0, "N", "column N, from 1, greatest first; may be repeated", true},
                            {"algorithm", 'a', "NAME", "auto (the default), mergesort, radix, odd-even-mergesort"},
                            {"limit", 'n', "N", "only the first N results"}})},
      RunArgsortColumns};
}

}  // namespace corank::cli
