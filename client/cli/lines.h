// Lines of a text file.
#ifndef CORANK_CLIENT_CLI_LINES_H_
#define CORANK_CLIENT_CLI_LINES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/file_bytes.h"

namespace corank::cli {

/// A piece of a text file and the line where it begins, from 1.
struct Cell {
  absl::string_view text;
  int64_t line = 0;
};

/// The lines of a text that are not blank, without the spaces around them, and the text that they lie in.
struct TextLines {
  std::shared_ptr<const FileBytes> file;
  std::vector<Cell> lines;
  std::string line_end = "\n";  // as in the file: "\n" or "\r\n"
};

/// The text without a byte order mark at its beginning. FileError with advice for UTF-16.
absl::StatusOr<absl::string_view> WithoutByteOrderMark(absl::string_view text, const std::string& name);

/// The end of the first line: "\r\n", or "\n" also if there is none.
std::string LineEndOf(absl::string_view text);

absl::StatusOr<TextLines> SplitLines(FileBytes file, const std::string& name);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_LINES_H_
