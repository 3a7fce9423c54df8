#include "server/rpc/request_log.h"

#include <string>

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

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

void LogFailedRequest(const Logger& logger, const CallId& id, Operator op, const absl::Status& status,
                      int64_t received_bytes, int64_t total_ns) {
  const LogLevel level = LevelOf(status.code());
  if (!logger.Enabled(level)) return;
  logger.Log(level, "request_failed",
             {{"request_id", id.request_id},
              {"trace_id", id.trace.trace_id()},
              {"span_id", id.trace.span_id()},
              {"operator", OperatorName(op)},
              {"code", absl::StatusCodeToString(status.code())},
              {"field", NamedField(status)},
              {"message", std::string(status.message())},
              {"received_bytes", received_bytes},
              {"seconds", Seconds(total_ns)}});
}

void LogFailedCall(const Logger& logger, const CallId& id, const absl::Status& status) {
  const LogLevel level = LevelOf(status.code());
  if (!logger.Enabled(level)) return;
  logger.Log(level, "request_failed",
             {{"request_id", id.request_id},
              {"trace_id", id.trace.trace_id()},
              {"span_id", id.trace.span_id()},
              {"code", absl::StatusCodeToString(status.code())},
              {"field", NamedField(status)},
              {"message", std::string(status.message())}});
}

void LogAnsweredRequest(const Logger& logger, const CallId& id, const RequestRecord& record, int64_t slow_ns) {
  const bool slow = slow_ns > 0 && record.total_ns >= slow_ns;
  const LogLevel level = slow ? LogLevel::kWarning : LogLevel::kDebug;
  if (!logger.Enabled(level)) return;
  const auto stage = [&record](Stage which) {
    const int64_t ns = record.stage_ns[static_cast<int>(which)];
    return LogField(StageName(which), ns < 0 ? 0.0 : Seconds(ns));
  };
  logger.Log(level, slow ? "request_slow" : "request",
             {{"request_id", id.request_id},
              {"trace_id", id.trace.trace_id()},
              {"span_id", id.trace.span_id()},
              {"operator", OperatorName(record.op)},
              {"received_bytes", record.received_bytes},
              {"sent_bytes", record.sent_bytes},
              {"seconds", Seconds(record.total_ns)},
              stage(Stage::kValidate),
              stage(Stage::kQueue),
              stage(Stage::kCopyIn),
              stage(Stage::kKernel),
              stage(Stage::kCopyOut),
              stage(Stage::kRespond)});
}

void CountIfShort(const absl::Status& status, Metrics* metrics) {
  if (absl::IsResourceExhausted(status)) metrics->CountRefusal(Refusal::kMemory);
}

}  // namespace corank
