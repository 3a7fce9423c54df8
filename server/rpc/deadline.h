// Deadlines of calls on the server's clock.
#ifndef CORANK_SERVER_RPC_DEADLINE_H_
#define CORANK_SERVER_RPC_DEADLINE_H_

#include <chrono>

#include "grpc/support/time.h"
#include "grpcpp/server_context.h"
#include "server/base/clock.h"

namespace corank {

/// Converts a call's deadline from the wall clock to the server's monotonic clock. A deadline a century or more away
/// overflows nanoseconds and counts as none.
inline Instant DeadlineOf(const grpc::CallbackServerContext& context, Instant now) {
  constexpr int64_t kCentury = int64_t{100} * 366 * 24 * 3600;
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME);
  const gpr_timespec wall = gpr_now(GPR_CLOCK_REALTIME);
  if (deadline.tv_sec > wall.tv_sec + kCentury) return kForever;
  return now + std::chrono::seconds(deadline.tv_sec - wall.tv_sec) +
         std::chrono::nanoseconds(deadline.tv_nsec - wall.tv_nsec);
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_DEADLINE_H_
