// Logs, one line an event, as JSON for programs or as text for people:
//   {"time":"2024-05-01T12:00:00.123456Z","level":"info","event":"ready","lanes":4}
//   2024-05-01 12:00:00.123Z info    ready lanes=4
#ifndef CORANK_SERVER_OBSERVE_LOG_H_
#define CORANK_SERVER_OBSERVE_LOG_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"

namespace corank {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

constexpr const char* LogLevelName(LogLevel level) {
  constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<int>(level)];
}
std::optional<LogLevel> ParseLogLevel(absl::string_view name);

enum class LogFormat : uint8_t { kJson, kText };

/// Appends text as a quoted JSON string. Invalid UTF-8 becomes U+FFFD, so that a line is valid JSON whatever a caller
/// sent.
void AppendJsonString(std::string& out, absl::string_view text);

/// A name and a value of a log line. Borrows strings during the call.
struct LogField {
  LogField(absl::string_view name, absl::string_view value) : name(name), value(value) {}
  LogField(absl::string_view name, const char* value) : name(name), value(absl::string_view(value)) {}
  LogField(absl::string_view name, const std::string& value) : name(name), value(absl::string_view(value)) {}
  LogField(absl::string_view name, int value) : name(name), value(static_cast<int64_t>(value)) {}
  LogField(absl::string_view name, int64_t value) : name(name), value(value) {}
  LogField(absl::string_view name, double value) : name(name), value(value) {}

  absl::string_view name;
  std::variant<absl::string_view, int64_t, double> value;
};

/// Thread-safe. Each line is one write.
class Logger {
 public:
  /// Receives a whole line, newline included, on any thread.
  using Sink = std::function<void(absl::string_view line)>;

  /// Writes to stderr. If nobody reads stderr any more, lines are lost (LostLogLines) so that work goes on.
  explicit Logger(LogLevel least, LogFormat format = LogFormat::kJson);
  Logger(LogLevel least, Sink sink, LogFormat format = LogFormat::kJson);

  bool Enabled(LogLevel level) const { return level >= least_; }
  void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) const;

 private:
  const LogLevel least_;
  const LogFormat format_;
  const Sink sink_;
};

/// Number of lines for stderr that nobody read, over the whole process.
int64_t LostLogLines();

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_LOG_H_
