// Refuses calls that cannot be answered in time before anything is made for them.
#ifndef CORANK_SERVER_RPC_EARLY_REFUSAL_H_
#define CORANK_SERVER_RPC_EARLY_REFUSAL_H_

#include <memory>
#include <optional>

#include "server/base/clock.h"
#include "server/model/operator.h"
#include "server/observe/metrics.h"
#include "server/wire/call.h"

namespace corank {

/// Whether a call waited for so much of its timeout, before a busy loop read it at `now`, that its answer would come
/// too late.
bool HasWaitedTooLong(const wire::CallHead& call, Instant now);

/// Ends such a call with DEADLINE_EXCEEDED and RetryInfo, at a small part of the cost of an answer, and returns what
/// the router of the wire returns for it. Null: the call has not waited too long. `op`: unset if only the message
/// tells.
std::shared_ptr<wire::Handler> RefuseIfLate(wire::Call& call, std::optional<Operator> op, Metrics* metrics);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_EARLY_REFUSAL_H_
