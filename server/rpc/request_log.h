// The log lines of requests, and the count of those that got no memory.
#ifndef CORANK_SERVER_RPC_REQUEST_LOG_H_
#define CORANK_SERVER_RPC_REQUEST_LOG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/operator.h"
#include "server/observe/trace.h"

namespace corank {

/// Who called.
struct Requester {
  absl::string_view tenant;  // empty: anonymous, or not known
  std::string peer;          // as gRPC names it
};

/// A request that failed, with the stages that it reached: at the level that says whose doing it is.
void LogFailedRequest(const Logger& logger, const CallId& id, const Requester& from, const RequestRecord& record,
                      const absl::Status& status);

/// The same of a call that is no request of one operator. `operation`: its name in metrics.
void LogFailedCall(const Logger& logger, const CallId& id, const Requester& from, absl::string_view operation,
                   const absl::Status& status);

/// A request that was answered: a warning with its stages where it took `slow_ns` or longer (0: none is slow), else a
/// line of level debug.
void LogAnsweredRequest(const Logger& logger, const CallId& id, const RequestRecord& record, int64_t slow_ns);

/// Counts a call that was refused before it was admitted because the server's memory, or a caller's quota of it, is in
/// use; nothing for every other status.
void CountIfShort(const absl::Status& status, Metrics* metrics);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_LOG_H_
