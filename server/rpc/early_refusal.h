// Refuses calls that cannot be answered in time before anything is made for them.
#ifndef CORANK_SERVER_RPC_EARLY_REFUSAL_H_
#define CORANK_SERVER_RPC_EARLY_REFUSAL_H_

#include <chrono>
#include <memory>
#include <optional>

#include "server/base/call_status.h"
#include "server/base/clock.h"
#include "server/model/operator.h"
#include "server/observe/metrics.h"
#include "server/wire/call.h"

namespace corank {

/// Whether a call that a busy loop reads or runs at `now` has waited for so much of its timeout that its answer would
/// come too late.
bool HasWaitedTooLong(const wire::CallHead& call, Instant now);

/// Whether a call that has just come would have to wait for its turn for too much of its timeout.
bool WouldWaitTooLong(const wire::CallHead& call, std::chrono::nanoseconds wait);

/// How such a call ends: DEADLINE_EXCEEDED with RetryInfo.
const CallStatus& WaitedTooLong();

/// Ends such a call with DEADLINE_EXCEEDED and RetryInfo, at a small part of the cost of an answer, and returns what
/// the router of the wire returns for it. Null: the call has not waited too long and would not. `op`: unset if only
/// the message tells.
std::shared_ptr<wire::Handler> RefuseIfLate(wire::Call& call, std::optional<Operator> op, Metrics* metrics);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_EARLY_REFUSAL_H_
