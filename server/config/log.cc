#include <optional>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/config/groups.h"
#include "server/execute/status_macros.h"

ABSL_FLAG(std::string, log_level, "info", "Least level of log lines: debug, info, warning or error.");
ABSL_FLAG(absl::Duration, slow_request, absl::Seconds(10),
          "A request that takes this long gets a line in the log with the time of each stage, 0s to 24h. 0s: none.");

namespace corank {
namespace {

absl::Status ReadLog(Configuration& configuration) {
  const std::string level = absl::GetFlag(FLAGS_log_level);
  const std::optional<LogLevel> parsed_level = ParseLogLevel(level);
  if (!parsed_level) return BadValue("log-level", absl::StrCat("'", level, "' is not debug, info, warning or error"));
  configuration.log_level = *parsed_level;
  CORANK_RETURN_IF_ERROR(CheckDuration("slow-request", absl::GetFlag(FLAGS_slow_request), absl::ZeroDuration()));
  configuration.server.slow_request = absl::ToChronoNanoseconds(absl::GetFlag(FLAGS_slow_request));
  return absl::OkStatus();
}

}  // namespace

const Group& LogGroup() {
  static const auto* const group =
      new Group{"log", "What it says of its work", {Shown(FLAGS_log_level), Shown(FLAGS_slow_request)}, ReadLog};
  return *group;
}

}  // namespace corank
