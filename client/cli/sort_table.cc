#include "client/cli/sort_table.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/choices.h"
#include "client/cli/failure.h"
#include "client/cli/numbers.h"
#include "client/cli/session.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "corank/columns.h"
#include "kernels/common/column_sort.h"

namespace corank::cli {
namespace {

using Header = TableOptions::Header;

absl::StatusOr<TableOptions> ReadTableOptions(const Arguments& arguments, Format format) {
  TableOptions options;
  options.columns = arguments.GetAll("column");
  const std::string delimiter = arguments.GetOr("delimiter", format == Format::kTsv ? "\t" : ",");
  options.delimiter = delimiter == "\\t" ? '\t' : delimiter.empty() ? '"' : delimiter[0];
  if ((delimiter.size() != 1 && delimiter != "\\t") || absl::StrContains("\"\r\n", delimiter)) {
    return UsageError(absl::StrCat("--delimiter must be one character, such as ';', or \\t, not '", delimiter, "'"));
  }
  const absl::StatusOr<Header> header =
      Choice<Header>(arguments, "header", {{"guess", Header::kGuess}, {"yes", Header::kYes}, {"no", Header::kNo}});
  if (!header.ok()) return header.status();
  options.header = *header;
  return options;
}

/// The keys of a sort by columns of a table, and the arrays that they refer to.
struct TableKeys {
  std::vector<client::ColumnView> columns;
  std::vector<std::string> notes;  // how each column is compared
  std::deque<std::string> bytes;
  std::deque<client::PackedStrings> strings;
};

/// Adds the keys of one column: whether a cell is empty, if some are, and then its value.
absl::Status AddColumn(const std::string& name, std::vector<Cell> cells, Order order, const std::string& file_name,
                       TableKeys* keys) {
  std::string is_empty(cells.size(), '\0');
  std::vector<Cell> filled;
  for (size_t i = 0; i < cells.size(); ++i) {
    is_empty[i] = cells[i].text.empty() ? 1 : 0;
    if (!cells[i].text.empty()) filled.push_back(cells[i]);
  }
  const size_t empty = cells.size() - filled.size();
  if (empty > 0) {
    keys->columns.push_back({{KeyType::kUint8, keys->bytes.emplace_back(std::move(is_empty))}, std::nullopt});
  }
  const std::string last = empty == 0 ? "" : absl::StrCat(", ", CountText(static_cast<int64_t>(empty)), " empty last");
  if (const std::optional<size_t> stranger = FirstNotANumber(filled); stranger.has_value()) {
    client::PackedStrings& strings = keys->strings.emplace_back();
    for (const Cell& cell : cells) strings.Add(cell.text);
    keys->columns.push_back(strings.view(order));
    keys->notes.push_back(absl::StrCat("column ", name, " as text (", Excerpt(filled[*stranger].text), " in line ",
                                       filled[*stranger].line, " is not a number)", last));
    return absl::OkStatus();
  }
  for (Cell& cell : cells) {
    if (cell.text.empty()) cell.text = "0";  // the column before decides
  }
  absl::StatusOr<Numbers> numbers = ReadNumbers(cells, file_name);
  if (!numbers.ok()) return numbers.status();
  keys->notes.push_back(absl::StrCat("column ", name, " as ", KeyTypeName(numbers->type), last));
  keys->columns.push_back({{numbers->type, keys->bytes.emplace_back(std::move(numbers->bytes))}, std::nullopt, order});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Format>> TableFormat(const Arguments& arguments) {
  const std::string& path = arguments.positional()[0];
  absl::StatusOr<std::optional<Format>> format = FormatOption(arguments);
  if (!format.ok()) return format.status();
  if (!format->has_value()) *format = FormatOfName(path);
  if (*format == Format::kCsv || *format == Format::kTsv) {
    for (const char* option : {"type", "values", "values-output", "segments"}) {
      if (!arguments.Has(option)) continue;
      return UsageError(absl::StrCat("--", option, " does not go together with a table; --column names the key"));
    }
    return *format;
  }
  for (const char* option : {"column", "delimiter", "header"}) {
    if (!arguments.Has(option)) continue;
    // The file may be a table of another kind.
    if (absl::Status one = CheckIsOneArray(path, format->has_value()); !one.ok()) return one;
    return UsageError(absl::StrCat("--", option, " is for tables, and ", DisplayName(path),
                                   " is not named .csv or .tsv; give --format csv or --format tsv"));
  }
  return std::optional<Format>();
}

absl::Status RunSortTable(const Arguments& arguments, Format format) {
  const std::string& path = arguments.positional()[0];
  const std::string name = DisplayName(path);
  const absl::StatusOr<TableOptions> options = ReadTableOptions(arguments, format);
  if (!options.ok()) return options.status();
  const absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  const absl::StatusOr<SortAlgorithm> algorithm = SortAlgorithmChoice(arguments);
  if (!algorithm.ok()) return algorithm.status();
  const absl::StatusOr<std::optional<int64_t>> limit = arguments.GetCount("limit");
  if (!limit.ok()) return limit.status();
  const absl::StatusOr<std::optional<int64_t>> offset = arguments.GetCount("offset");
  if (!offset.ok()) return offset.status();
  const std::optional<Format> output = FormatOfName(arguments.GetOr("output", "-"));
  if (output == Format::kNpy || output == Format::kRaw) {
    return UsageError("the result is a table too; name the output .csv or .tsv");
  }
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();
  const absl::StatusOr<FileBytes> file = (*session)->LoadMainTable(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<Table> table = ReadTable(file->bytes(), *options, name);
  if (!table.ok()) return table.status();

  TableKeys keys;
  for (size_t i = 0; i < table->columns.size(); ++i) {
    const absl::Status added = AddColumn(table->names[i], std::move(table->columns[i]), *order, name, &keys);
    if (!added.ok()) return added;
  }
  if (keys.columns.size() > kMaxKeyColumns) return UsageError("there are too many --column options; give fewer");
  client::ColumnSortRequest request;
  request.columns = keys.columns;
  request.output = client::SortOutput::kIndices;
  request.algorithm = *algorithm;
  request.limit = *limit;
  request.offset = offset->value_or(0);
  absl::StatusOr<client::ColumnSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.SortColumns(request, call); });
  if (!result.ok()) return result.status();
  if (!result->indices.has_value()) return absl::InternalError("the server answered without indices");
  const absl::Status saved =
      (*session)->SaveLines("output", table->head, table->rows, table->line_end, *result->indices, "row");
  if (!saved.ok()) return saved;
  return (*session)->Finish({"sort", static_cast<int64_t>(table->rows.size()), "row",
                             SortAlgorithmName(result->algorithm), std::move(result->stats),
                             absl::StrCat("by ", absl::StrJoin(keys.notes, ", then "))});
}

}  // namespace corank::cli
