// Deadlines of calls.
#ifndef CORANK_SERVER_RPC_DEADLINE_H_
#define CORANK_SERVER_RPC_DEADLINE_H_

#include "server/base/clock.h"
#include "server/wire/call.h"

namespace corank {

/// A call's deadline on the server's clock, which shows `now`. That of the wire is always the machine's. The call may
/// have waited for its loop since it arrived.
inline Instant DeadlineOf(const wire::CallHead& call, Instant now) {
  return call.deadline == kForever ? kForever : now + (call.deadline - Clock::Steady().Now());
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_DEADLINE_H_
