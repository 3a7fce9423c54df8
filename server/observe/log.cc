#include "server/observe/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/observe/line_writer.h"
#include "server/observe/utf8.h"

namespace corank {
namespace {

std::string NumberText(const LogField& field) {
  if (const auto* number = std::get_if<int64_t>(&field.value)) return absl::StrCat(*number);
  const double real = std::get<double>(field.value);
  return std::isfinite(real) ? absl::StrCat(real) : "null";
}

using Fields = absl::Span<const LogField>;

std::string JsonLine(LogLevel level, absl::string_view event, Fields fields) {
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
    } else {
      line += NumberText(field);
    }
  }
  line += "}\n";
  return line;
}

// Whether the text can stand in a line of key=value pairs as it is.
bool IsPlainWord(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isgraph(c) && c != '"' && c != '=' && c != '\\';
  });
}

// Quoted as in JSON where needed, so that a terminal never gets control characters that a caller sent.
void AppendText(std::string& out, absl::string_view text) {
  if (IsPlainWord(text)) {
    out.append(text.data(), text.size());
  } else {
    AppendJsonString(out, text);
  }
}

std::string TextLine(LogLevel level, absl::string_view event, Fields fields) {
  std::string line = absl::StrFormat(
      "%s %-7s ", absl::FormatTime("%Y-%m-%d %H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()), LogLevelName(level));
  AppendText(line, event);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.name, "=");
    if (const auto* text = std::get_if<absl::string_view>(&field.value)) {
      AppendText(line, *text);
    } else {
      line += NumberText(field);
    }
  }
  line += '\n';
  return line;
}

std::string FormatLine(LogFormat format, LogLevel level, absl::string_view event, Fields fields) {
  return format == LogFormat::kText ? TextLine(level, event, fields) : JsonLine(level, event, fields);
}

// The format of the notice that lines were lost: that of the last logger that writes to stderr.
std::atomic<LogFormat> stderr_format{LogFormat::kJson};

// Leaked: other threads may log while the process ends.
LineWriter& Stderr() {
  // Long enough for a reader that is only busy.
  constexpr absl::Duration kPatience = absl::Milliseconds(100);
  static LineWriter& writer = *new LineWriter(STDERR_FILENO, kPatience, [](int64_t lost) {
    return FormatLine(stderr_format, LogLevel::kWarning, "log_lines_lost", {LogField("lines", lost)});
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

// Beyond U+FFFF as two surrogates.
void AppendEscaped(std::string& out, uint32_t code) {
  if (code > 0xFFFF) {
    const uint32_t rest = code - 0x10000;
    absl::StrAppendFormat(&out, "\\u%04x\\u%04x", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  } else {
    absl::StrAppendFormat(&out, "\\u%04x", code);
  }
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
    } else if (const uint32_t code = CodePointOf(text.substr(0, length)); IsControl(code)) {
      AppendEscaped(out, code);
    } else {
      out.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

Logger::Logger(LogLevel least, LogFormat format)
    : Logger(
          least, [](absl::string_view line) { Stderr().Write(line); }, format) {
  stderr_format = format;
}
Logger::Logger(LogLevel least, Sink sink, LogFormat format, const Clock* clock)
    : least_(least), format_(format), sink_(std::move(sink)), clock_(clock), limit_(std::make_unique<LogLimit>()) {}

void Logger::Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) const {
  if (!Enabled(level)) return;
  sink_(FormatLine(format_, level, event, fields));
}

std::optional<int64_t> Logger::TakeTurn(LogLevel level, absl::string_view kind) const {
  return Enabled(level) ? limit_->Take(kind, clock_->Now()) : std::nullopt;
}

void Logger::LogInTurn(LogLevel level, absl::string_view event, std::vector<LogField> fields, int64_t left_out) const {
  if (left_out > 0) fields.emplace_back("left_out", left_out);
  sink_(FormatLine(format_, level, event, fields));
}

std::optional<int64_t> LogLimit::Take(absl::string_view kind, Instant now) {
  const absl::MutexLock lock(&mutex_);
  if (kinds_.size() >= kMostKinds && !kinds_.contains(kind)) kinds_.clear();
  Kind& of = kinds_.try_emplace(kind, Kind{kBurst, now, 0}).first->second;
  const double seconds = std::chrono::duration<double>(now - of.taken).count();
  of.left = std::min<double>(kBurst, of.left + seconds * kPerSecond);
  of.taken = now;
  if (of.left < 1) {
    ++of.left_out;
    return std::nullopt;
  }
  --of.left;
  return std::exchange(of.left_out, 0);
}

int64_t LostLogLines() { return Stderr().lost(); }

}  // namespace corank
