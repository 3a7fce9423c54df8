// The log lines of requests, and the count of requests that got no memory.
#ifndef CORANK_SERVER_RPC_REQUEST_LOG_H_
#define CORANK_SERVER_RPC_REQUEST_LOG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/model/operator.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/trace.h"

namespace corank {

/// Who called.
struct Requester {
  absl::string_view tenant;  // empty: anonymous or unknown
  std::string peer;          // as gRPC names it
};

/// Logs a failed call. The level tells whether server, load or caller is the cause. `operation`: its name in metrics.
/// `record`: of a request of one operator, with the stages that it reached; null: the call is no such request.
void LogFailedCall(const Logger& logger, const CallId& id, const Requester& from, absl::string_view operation,
                   const absl::Status& status, const RequestRecord* record = nullptr);

/// Logs an answered request: as a warning with its stages if it took `slow_ns` or longer (0: none is slow), else at
/// level debug.
void LogAnsweredRequest(const Logger& logger, const CallId& id, const RequestRecord& record, int64_t slow_ns);

/// Counts a call that was refused before admission because the server's memory, or the caller's quota of it, was full.
/// Ignores every other status.
void CountIfShort(const absl::Status& status, Metrics* metrics);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_LOG_H_
