#include "server/rpc/failure_log.h"

#include "server/respond/errors.h"

namespace corank {
namespace {

LogLevel LevelOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return LogLevel::kError;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return LogLevel::kWarning;
    default:  // the caller's doing
      return LogLevel::kInfo;
  }
}

}  // namespace

void LogFailedRequest(const Logger& logger, const std::string& request_id, Operator op, const absl::Status& status,
                      int64_t received_bytes, int64_t total_ns) {
  const LogLevel level = LevelOf(status.code());
  if (!logger.Enabled(level)) return;
  logger.Log(level, "request_failed",
             {{"request_id", request_id},
              {"operator", OperatorName(op)},
              {"code", absl::StatusCodeToString(status.code())},
              {"field", NamedField(status)},
              {"message", std::string(status.message())},
              {"received_bytes", received_bytes},
              {"seconds", static_cast<double>(total_ns) * 1e-9}});
}

}  // namespace corank
