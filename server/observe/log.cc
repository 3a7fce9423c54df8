#include "server/observe/log.h"

#include <unistd.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/observe/line_writer.h"
#include "server/observe/utf8.h"

namespace corank {
namespace {

std::string FormatLine(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrCat("{\"time\":\"", absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone()),
                   "\",\"level\":\"", LogLevelName(level), "\",\"event\":");
  AppendJsonString(line, event);
  for (const LogField& field : fields) {
    line += ',';
    AppendJsonString(line, field.name);
    line += ':';
    if (const auto* text = std::get_if<absl::string_view>(&field.value)) {
      AppendJsonString(line, *text);
    } else if (const auto* number = std::get_if<int64_t>(&field.value)) {
      absl::StrAppend(&line, *number);
    } else {
      const double real = std::get<double>(field.value);
      absl::StrAppend(&line, std::isfinite(real) ? absl::StrCat(real) : "null");
    }
  }
  line += "}\n";
  return line;
}

// Leaked: other threads may log while the process ends.
LineWriter& Stderr() {
  // Long enough for a reader that is only busy.
  constexpr absl::Duration kPatience = absl::Milliseconds(100);
  static LineWriter& writer = *new LineWriter(STDERR_FILENO, kPatience, [](int64_t lost) {
    return FormatLine(LogLevel::kWarning, "log_lines_lost", {{"lines", lost}});
  });
  return writer;
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(absl::string_view name) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (name == LogLevelName(level)) return level;
  }
  return std::nullopt;
}

void AppendJsonString(std::string& out, absl::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = text[0];
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

Logger::Logger(LogLevel least) : Logger(least, [](absl::string_view line) { Stderr().Write(line); }) {}
Logger::Logger(LogLevel least, Sink sink) : least_(least), sink_(std::move(sink)) {}

void Logger::Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) const {
  if (!Enabled(level)) return;
  sink_(FormatLine(level, event, fields));
}

int64_t LostLogLines() { return Stderr().lost(); }

}  // namespace corank
