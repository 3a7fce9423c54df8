#include "server/rpc/request_log.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

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
    default:  // caused by the caller
      return LogLevel::kInfo;
  }
}

// A flood of one tenant's failures, or of one code, hides no others.
std::string KindOf(const Requester& from, const absl::Status& status) {
  return absl::StrCat("request_failed ", static_cast<int>(status.code()), " ", from.tenant);
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

LogField StageField(const RequestRecord& record, Stage stage) {
  return {StageName(stage), Seconds(std::max<int64_t>(0, record.stage_ns[static_cast<int>(stage)]))};
}

}  // namespace

void LogFailedCall(const Logger& logger, const CallId& id, const Requester& from, absl::string_view operation,
                   const absl::Status& status, const RequestRecord* record) {
  const LogLevel level = LevelOf(status.code());
  const std::optional<int64_t> left_out = logger.TakeTurn(level, KindOf(from, status));
  if (!left_out) return;
  const std::string code = absl::StatusCodeToString(status.code()), field = NamedField(status);
  std::vector<LogField> fields = {{"request_id", id.request_id},
                                  {"trace_id", id.trace.trace_id()},
                                  {"span_id", id.trace.span_id()},
                                  {"tenant", from.tenant},
                                  {"peer", from.peer},
                                  {"operator", operation},
                                  {"code", code},
                                  {"field", field},
                                  {"message", status.message()}};
  if (record != nullptr) {
    fields.insert(fields.end(), {{"received_bytes", record->received_bytes},
                                 {"seconds", Seconds(record->total_ns)},
                                 StageField(*record, Stage::kValidate),
                                 StageField(*record, Stage::kQueue)});
  }
  logger.LogInTurn(level, "request_failed", std::move(fields), *left_out);
}

void LogAnsweredRequest(const Logger& logger, const CallId& id, const RequestRecord& record, int64_t slow_ns) {
  const bool slow = slow_ns > 0 && record.total_ns >= slow_ns;
  const LogLevel level = slow ? LogLevel::kWarning : LogLevel::kDebug;
  if (!logger.Enabled(level)) return;
  logger.Log(level, slow ? "request_slow" : "request",
             {{"request_id", id.request_id},
              {"trace_id", id.trace.trace_id()},
              {"span_id", id.trace.span_id()},
              {"operator", OperatorName(record.op)},
              {"received_bytes", record.received_bytes},
              {"sent_bytes", record.sent_bytes},
              {"seconds", Seconds(record.total_ns)},
              StageField(record, Stage::kValidate),
              StageField(record, Stage::kQueue),
              StageField(record, Stage::kCopyIn),
              StageField(record, Stage::kKernel),
              StageField(record, Stage::kCopyOut),
              StageField(record, Stage::kRespond)});
}

void CountIfShort(const absl::Status& status, Metrics* metrics) {
  if (absl::IsResourceExhausted(status)) metrics->CountRefusal(Refusal::kMemory);
}

}  // namespace corank
