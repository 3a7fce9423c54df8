#include <unistd.h>

#include <optional>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/config/groups.h"

ABSL_FLAG(std::string, log_level, "info", "Lowest level of log lines: debug, info, warning or error.");
ABSL_FLAG(std::string, log_format, "auto",
          "Format of log lines on stderr: json, text, or auto, which is text on a terminal and JSON elsewhere.");
ABSL_FLAG(absl::Duration, slow_request, absl::Seconds(10),
          "The server logs a request that takes this long, with the time of each stage, up to 24h. 0s: none.");

namespace corank {
namespace {

absl::Status ReadLog(Configuration& configuration) {
  const std::string level = absl::GetFlag(FLAGS_log_level);
  const std::optional<LogLevel> parsed_level = ParseLogLevel(level);
  if (!parsed_level) return BadValue("log-level", absl::StrCat("'", level, "' is not debug, info, warning or error"));
  configuration.log_level = *parsed_level;
  const std::string format = absl::GetFlag(FLAGS_log_format);
  if (format != "auto" && format != "json" && format != "text") {
    return BadValue("log-format", absl::StrCat("'", format, "' is not auto, json or text"));
  }
  const bool is_text = format == "text" || (format == "auto" && isatty(STDERR_FILENO) != 0);
  configuration.log_format = is_text ? LogFormat::kText : LogFormat::kJson;
  return Take(FLAGS_slow_request, configuration.server.slow_request, absl::ZeroDuration());
}

}  // namespace

Group LogGroup() {
  return {"log", "Logs", {Shown(FLAGS_log_level), Shown(FLAGS_log_format), Shown(FLAGS_slow_request)}, ReadLog};
}

}  // namespace corank
