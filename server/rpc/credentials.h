// Finds the caller of a call. Nothing else does.
#ifndef CORANK_SERVER_RPC_CREDENTIALS_H_
#define CORANK_SERVER_RPC_CREDENTIALS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/observe/metrics.h"
#include "server/security/authenticator.h"
#include "server/security/caller.h"
#include "server/wire/call.h"

namespace corank {

/// The caller. `authenticator`: null if calls are anonymous; the call's credentials are then ignored. UNAUTHENTICATED.
absl::StatusOr<std::shared_ptr<const Caller>> CallerOf(const Authenticator* authenticator, const wire::CallHead& call);

/// Counts a call that was refused because of its caller's identity or permissions. Ignores every other status.
void CountIfForbidden(const absl::Status& status, Metrics* metrics);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CREDENTIALS_H_
