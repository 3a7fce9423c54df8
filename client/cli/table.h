// Tables in text: rows of cells between commas, tabs or any other character, with quotes as in RFC 4180.
#ifndef CORANK_CLIENT_CLI_TABLE_H_
#define CORANK_CLIENT_CLI_TABLE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/lines.h"

namespace corank::cli {

/// One row as it is written, and its cells with their quotes.
struct Row {
  absl::string_view text;  // without the line end
  std::vector<Cell> cells;
  int64_t line = 0;  // of the file, where the row begins
};

/// Reads the rows of a text one by one. Blank lines are skipped. A cell that begins with a quote may hold delimiters,
/// line ends and doubled quotes.
class RowReader {
 public:
  RowReader(absl::string_view text, char delimiter, std::string file_name)
      : rest_(text), delimiter_(delimiter), file_name_(std::move(file_name)) {}

  /// False at the end of the text. FileError, naming the line, if a quote is misplaced or not closed.
  absl::StatusOr<bool> Next(Row* row);

 private:
  absl::StatusOr<size_t> EndOfQuoted(size_t begin, int64_t line) const;

  absl::string_view rest_;
  const char delimiter_;
  const std::string file_name_;
  int64_t line_ = 1;
};

/// A cell's text without quotes and the spaces around it. `storage` keeps the text of cells with doubled quotes.
absl::string_view Unquoted(absl::string_view cell, std::deque<std::string>* storage);

/// A table: its rows as written, and the cells of the columns that somebody asked for.
struct Table {
  std::string head;                        // the header row with its line end; empty without a header
  std::vector<absl::string_view> rows;     // without their line ends
  std::string line_end;                    // of the first row
  std::vector<std::string> names;          // one for each column asked for
  std::vector<std::vector<Cell>> columns;  // the unquoted cells of each column asked for
  std::deque<std::string> storage = {};    // of cells with doubled quotes
};

/// How a table is read.
struct TableOptions {
  char delimiter = ',';
  /// Names of the header, or numbers from 1 on. Empty: the only column of a table that has one.
  std::vector<std::string> columns;
  enum class Header : uint8_t { kGuess, kYes, kNo } header = Header::kGuess;
};

/// Reads the table. UsageError if a column does not exist, or if a header is expected but the first row has numbers
/// only. FileError if a row has more or fewer cells than the first one. The table refers to `text`.
absl::StatusOr<Table> ReadTable(absl::string_view text, const TableOptions& options, const std::string& file_name);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_TABLE_H_
