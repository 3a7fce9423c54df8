#include "client/cli/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/failure.h"
#include "client/cli/numbers.h"
#include "client/cli/options.h"
#include "client/cli/text.h"
#include "spelling/nearest.h"

namespace corank::cli {
namespace {

std::string At(const std::string& file, int64_t line) { return absl::StrCat(file, ", line ", line, ": "); }

/// Names of the columns as a message lists them.
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
  return absl::StrCat(absl::StrJoin(first, ", "), names.size() > kMost ? ", ..." : "");
}

constexpr char kDelimiterHint[] = "; if that is several columns, give --delimiter";

/// Whether a header of one cell looks like several cells between other delimiters.
bool MayBeSeveral(const std::vector<std::string>& names) {
  return names.size() == 1 && names[0].find_first_of(";\t|,") != std::string::npos;
}

/// The index of the column that the user means.
absl::StatusOr<size_t> FindColumn(const std::string& wanted, const std::vector<std::string>& names, size_t width,
                                  const std::string& file) {
  const auto named = std::find(names.begin(), names.end(), wanted);
  if (named != names.end()) {
    if (std::find(named + 1, names.end(), wanted) == names.end()) return static_cast<size_t>(named - names.begin());
    return UsageError(
        absl::StrCat(file, " has several columns '", wanted, "'; give --column as a number from 1 to ", width));
  }
  int64_t number = 0;
  if (absl::SimpleAtoi(wanted, &number) && number >= 1 && static_cast<size_t>(number) <= width) {
    return static_cast<size_t>(number - 1);
  }
  if (names.empty()) {
    return UsageError(absl::StrCat("without a header, --column is a number from 1 to ", width, ", not '", wanted, "'"));
  }
  const std::string hint = MayBeSeveral(names) ? kDelimiterHint : DidYouMean(wanted, names);
  return UsageError(absl::StrCat(file, " has no column '", wanted, "'; it has ", Listed(names), hint));
}

/// The columns that the options ask for, as indices.
absl::StatusOr<std::vector<size_t>> FindColumns(const TableOptions& options, const std::vector<std::string>& names,
                                                size_t width, const std::string& file) {
  std::vector<size_t> found;
  for (const std::string& wanted : options.columns) {
    const absl::StatusOr<size_t> column = FindColumn(wanted, names, width, file);
    if (!column.ok()) return column.status();
    found.push_back(*column);
  }
  if (!found.empty()) return found;
  if (width == 1 && !MayBeSeveral(names)) return std::vector<size_t>{0};
  return UsageError(absl::StrCat("which column decides the order? give --column; ", file, " has ",
                                 names.empty() ? absl::StrCat(width, " columns") : Listed(names),
                                 MayBeSeveral(names) ? kDelimiterHint : ""));
}

bool AreNumbers(const std::vector<std::string>& names) {
  std::vector<Cell> cells;
  for (const std::string& name : names) cells.push_back({name, 1});
  return !FirstNotANumber(cells).has_value();
}

}  // namespace

absl::StatusOr<size_t> RowReader::EndOfQuoted(size_t begin, int64_t line) const {
  size_t end = begin + 1;
  while (true) {
    end = rest_.find('"', end);
    if (end == absl::string_view::npos) {
      return FileError(absl::StrCat(At(file_name_, line), "the quote before ", Excerpt(rest_.substr(begin + 1, 60)),
                                    " is not closed; close it, or double it if it belongs to the text"));
    }
    if (end + 1 >= rest_.size() || rest_[end + 1] != '"') break;
    end += 2;
  }
  ++end;
  const char next = end < rest_.size() ? rest_[end] : '\n';
  if (next == delimiter_ || next == '\n' || rest_.substr(end, 2) == "\r\n" || rest_.substr(end) == "\r") return end;
  return FileError(absl::StrCat(At(file_name_, line), "there is text after the closing quote of ",
                                Excerpt(rest_.substr(begin, end - begin)), "; double a quote inside a cell: \"\""));
}

absl::StatusOr<bool> RowReader::Next(Row* row) {
  while (!rest_.empty() && (rest_[0] == '\n' || rest_[0] == '\r')) {
    line_ += rest_[0] == '\n' ? 1 : 0;
    rest_.remove_prefix(1);
  }
  if (rest_.empty()) return false;
  row->cells.clear();
  row->line = line_;
  int64_t line = line_;
  size_t begin = 0;
  size_t end = 0;
  const char stops[] = {delimiter_, '\n', 0};
  while (true) {
    if (begin < rest_.size() && rest_[begin] == '"') {
      const absl::StatusOr<size_t> quoted = EndOfQuoted(begin, line);
      if (!quoted.ok()) return quoted.status();
      end = *quoted;
    } else {
      end = std::min(rest_.find_first_of(stops, begin), rest_.size());
    }
    const absl::string_view cell = rest_.substr(begin, end - begin);
    row->cells.push_back({cell, line});
    line += std::count(cell.begin(), cell.end(), '\n');
    end = rest_.substr(end) == "\r" || rest_.substr(end, 2) == "\r\n" ? end + 1 : end;
    if (end >= rest_.size() || rest_[end] == '\n') break;
    begin = end + 1;
  }
  row->text = rest_.substr(0, end);
  if (!row->text.empty() && row->text.back() == '\r') row->text.remove_suffix(1);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  line_ = line + 1;
  return true;
}

absl::string_view Unquoted(absl::string_view cell, std::deque<std::string>* storage) {
  if (cell.empty() || cell[0] != '"') return absl::StripAsciiWhitespace(cell);
  cell = cell.substr(1, cell.size() - 2);
  if (cell.find('"') == absl::string_view::npos) return absl::StripAsciiWhitespace(cell);
  return absl::StripAsciiWhitespace(storage->emplace_back(absl::StrReplaceAll(cell, {{"\"\"", "\""}})));
}

absl::StatusOr<Table> ReadTable(absl::string_view text, const TableOptions& options, const std::string& file_name) {
  Table table;
  const absl::StatusOr<absl::string_view> body = WithoutByteOrderMark(text, file_name);
  if (!body.ok()) return body.status();
  const absl::string_view mark = text.substr(0, text.size() - body->size());
  table.line_end = LineEndOf(*body);
  RowReader reader(*body, options.delimiter, file_name);
  Row row;
  absl::StatusOr<bool> has_row = reader.Next(&row);
  if (!has_row.ok()) return has_row.status();
  if (!*has_row) return FileError(absl::StrCat(file_name, " is empty; a table has at least a header"));

  const size_t width = row.cells.size();
  std::vector<std::string> names;
  for (const Cell& cell : row.cells) names.emplace_back(Unquoted(cell.text, &table.storage));
  const bool has_header = options.header != TableOptions::Header::kNo;
  if (options.header == TableOptions::Header::kGuess && AreNumbers(names)) {
    return UsageError(absl::StrCat("the first row of ", file_name,
                                   " has numbers only; give --header no if it is data, or --header yes"));
  }
  const absl::StatusOr<std::vector<size_t>> wanted =
      FindColumns(options, has_header ? names : std::vector<std::string>(), width, file_name);
  if (!wanted.ok()) return wanted.status();
  for (const size_t column : *wanted) {
    table.names.push_back(has_header ? names[column] : absl::StrCat(column + 1));
  }
  table.columns.resize(wanted->size());
  if (has_header) {
    table.head = absl::StrCat(mark, row.text, table.line_end);
    has_row = reader.Next(&row);
  } else {
    table.head = std::string(mark);
  }
  for (; has_row.ok() && *has_row; has_row = reader.Next(&row)) {
    if (row.cells.size() != width) {
      return FileError(absl::StrCat(At(file_name, row.line), "this row has ", row.cells.size(),
                                    " cells, but the first row has ", width,
                                    "; put a cell that holds the delimiter in quotes"));
    }
    table.rows.push_back(row.text);
    for (size_t i = 0; i < wanted->size(); ++i) {
      const Cell& cell = row.cells[(*wanted)[i]];
      table.columns[i].push_back({Unquoted(cell.text, &table.storage), cell.line});
    }
  }
  if (!has_row.ok()) return has_row.status();
  return table;
}

}  // namespace corank::cli
