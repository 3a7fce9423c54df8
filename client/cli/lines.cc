#include "client/cli/lines.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/failure.h"

namespace corank::cli {

absl::StatusOr<absl::string_view> WithoutByteOrderMark(absl::string_view text, const std::string& name) {
  if (absl::StartsWith(text, "\xFF\xFE") || absl::StartsWith(text, "\xFE\xFF")) {
    return FileError(absl::StrCat(name, " is UTF-16 text; save it as UTF-8: iconv -f UTF-16 -t UTF-8"));
  }
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

std::string LineEndOf(absl::string_view text) {
  const size_t end = text.find('\n');
  return end != absl::string_view::npos && end > 0 && text[end - 1] == '\r' ? "\r\n" : "\n";
}

absl::StatusOr<TextLines> SplitLines(FileBytes file, const std::string& name) {
  TextLines text;
  text.file = std::make_shared<const FileBytes>(std::move(file));
  absl::StatusOr<absl::string_view> rest = WithoutByteOrderMark(text.file->bytes(), name);
  if (!rest.ok()) return rest.status();
  text.line_end = LineEndOf(*rest);
  for (int64_t line = 1; !rest->empty(); ++line) {
    const size_t end = rest->find('\n');
    const absl::string_view trimmed = absl::StripAsciiWhitespace(rest->substr(0, end));
    if (!trimmed.empty()) text.lines.push_back({trimmed, line});
    rest->remove_prefix(end == absl::string_view::npos ? rest->size() : end + 1);
  }
  return text;
}

}  // namespace corank::cli
