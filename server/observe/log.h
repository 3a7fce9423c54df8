// Logs, one line an event, as JSON for programs or as text for people:
//   {"time":"2024-05-01T12:00:00.123456Z","level":"info","event":"ready","lanes":4}
//   2024-05-01 12:00:00.123Z info    ready lanes=4
#ifndef CORANK_SERVER_OBSERVE_LOG_H_
#define CORANK_SERVER_OBSERVE_LOG_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/base/clock.h"

namespace corank {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

constexpr const char* LogLevelName(LogLevel level) {
  constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<int>(level)];
}
std::optional<LogLevel> ParseLogLevel(absl::string_view name);

enum class LogFormat : uint8_t { kJson, kText };

/// Appends text as a quoted JSON string. Invalid UTF-8 becomes U+FFFD, and control characters (IsControl) are escaped,
/// so that a line is valid JSON, and harmless on a screen, whatever a caller sent.
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

/// Bounds lines that callers can cause as often as they like. Of each kind a burst passes, then some a second.
/// Thread-safe.
class LogLimit {
 public:
  static constexpr int kBurst = 100, kPerSecond = 10;

  /// Whether a line of this kind may be written now: then the number of lines that were left out since the last one.
  std::optional<int64_t> Take(absl::string_view kind, Instant now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr size_t kMostKinds = 4096;
  struct Kind {
    double left;
    Instant taken;
    int64_t left_out;
  };

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Kind> kinds_ ABSL_GUARDED_BY(mutex_);
};

/// Thread-safe. Each line is one write.
class Logger {
 public:
  /// Receives a whole line, newline included, on any thread.
  using Sink = std::function<void(absl::string_view line)>;

  /// Writes to stderr. If nobody reads stderr any more, lines are lost (LostLogLines) so that work goes on.
  explicit Logger(LogLevel least, LogFormat format = LogFormat::kJson);
  /// `clock`: of the limits of TakeTurn. Outlives the logger.
  Logger(LogLevel least, Sink sink, LogFormat format = LogFormat::kJson, const Clock* clock = &Clock::Steady());

  bool Enabled(LogLevel level) const { return level >= least_; }
  void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) const;

  /// For lines that callers can cause as often as they like: whether one of this kind may be written now, and the
  /// `left_out` for LogInTurn.
  std::optional<int64_t> TakeTurn(LogLevel level, absl::string_view kind) const;
  /// After TakeTurn. The line says how many of its kind were left out before it.
  void LogInTurn(LogLevel level, absl::string_view event, std::vector<LogField> fields, int64_t left_out) const;

 private:
  const LogLevel least_;
  const LogFormat format_;
  const Sink sink_;
  const Clock* const clock_;
  const std::unique_ptr<LogLimit> limit_;
};

/// Number of lines for stderr that nobody read, over the whole process.
int64_t LostLogLines();

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_LOG_H_
