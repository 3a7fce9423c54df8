// The one place that makes a caller from a call.
#ifndef CORANK_SERVER_RPC_CREDENTIALS_H_
#define CORANK_SERVER_RPC_CREDENTIALS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "server/observe/metrics.h"
#include "server/security/authenticator.h"
#include "server/security/caller.h"

namespace corank {

/// Who makes the call. `authenticator`: null where calls are anonymous; the call's credentials are not looked at then.
/// UNAUTHENTICATED.
absl::StatusOr<std::shared_ptr<const Caller>> CallerOf(const Authenticator* authenticator,
                                                       const grpc::CallbackServerContext& context);

/// Counts the end of a call that was refused for who its caller is; nothing for every other status.
void CountIfForbidden(const absl::Status& status, Metrics* metrics);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CREDENTIALS_H_
