// The formats of files, and how they are told apart: by --format, by name, by content.
#ifndef CORANK_CLIENT_CLI_FORMATS_H_
#define CORANK_CLIENT_CLI_FORMATS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/options.h"

namespace corank::cli {

enum class Format : uint8_t {
  kRaw,   // little-endian elements, whose type an option names
  kNpy,   // NumPy's .npy
  kText,  // numbers, one per line
  kCsv,   // rows of cells between commas
  kTsv,   // rows of cells between tabs
};

/// The value of --format; none if the option is not given. UsageError for an unknown name.
absl::StatusOr<std::optional<Format>> FormatOption(const Arguments& arguments);

/// The format that the end of a name says: .npy, .txt, .csv, .tsv, and .bin or .raw for kRaw; none for other names.
std::optional<Format> FormatOfName(absl::string_view path);

/// Whether the bytes, judged by their beginning, are text: UTF-8 without control characters that has several lines, or
/// digits only.
bool LooksLikeText(absl::string_view bytes);

/// "standard input" for "-".
std::string DisplayName(const std::string& path);

/// An error with advice if the input cannot be one array: a folder and, unless its format is forced, an archive, a
/// compressed file or a file of columns.
absl::Status CheckIsOneArray(const std::string& path, bool is_forced);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_FORMATS_H_
