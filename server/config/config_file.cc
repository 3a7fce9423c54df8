#include "server/config/config_file.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace corank {
namespace {

absl::string_view Trim(absl::string_view text) { return absl::StripAsciiWhitespace(text); }

// The start of the comment, or the end.
size_t CommentBegin(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || absl::ascii_isspace(static_cast<unsigned char>(text[i - 1])))) return i;
  }
  return text.size();
}

std::string ReadQuoted(absl::string_view text, std::string* value) {
  size_t end = 1;
  for (; end < text.size(); ++end) {
    if (text[end] == '"') {
      if (text.substr(end + 1, 1) != "\"") break;
      ++end;
    }
    *value += text[end];
  }
  if (end == text.size()) return "the value's closing quote is missing";
  const absl::string_view rest = Trim(text.substr(end + 1));
  if (!rest.empty() && rest.front() != '#') {
    return absl::StrCat("'", absl::CHexEscape(rest), "' stands behind the value's closing quote");
  }
  return "";
}

ConfigLine ReadLine(int number, absl::string_view text) {
  ConfigLine line;
  line.number = number;
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals > CommentBegin(text)) {
    line.error = absl::StrCat("'", absl::CHexEscape(text.substr(0, 80)), "' is not `name = value`");
    return line;
  }
  line.name = std::string(Trim(text.substr(0, equals)));
  const absl::string_view value = Trim(text.substr(equals + 1));
  if (line.name.empty()) {
    line.error = "a name is missing before '='";
  } else if (!value.empty() && value.front() == '"') {
    line.error = ReadQuoted(value, &line.value);
  } else {
    line.value = std::string(Trim(value.substr(0, CommentBegin(value))));
  }
  return line;
}

}  // namespace

std::vector<ConfigLine> ParseConfig(absl::string_view text) {
  std::vector<ConfigLine> lines;
  int number = 0;
  for (const absl::string_view untrimmed : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = Trim(untrimmed);
    if (!line.empty() && line.front() != '#') lines.push_back(ReadLine(number, line));
  }
  return lines;
}

}  // namespace corank
