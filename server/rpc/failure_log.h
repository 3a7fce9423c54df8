// The log line of a request that failed.
#ifndef CORANK_SERVER_RPC_FAILURE_LOG_H_
#define CORANK_SERVER_RPC_FAILURE_LOG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/observe/log.h"
#include "server/observe/operator.h"

namespace corank {

/// At the level that says whose doing it is.
void LogFailedRequest(const Logger& logger, const std::string& request_id, Operator op, const absl::Status& status,
                      int64_t received_bytes, int64_t total_ns);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_FAILURE_LOG_H_
