// Deadlines of calls on the server's clock.
#ifndef CORANK_SERVER_RPC_DEADLINE_H_
#define CORANK_SERVER_RPC_DEADLINE_H_

#include <chrono>

#include "server/observe/clock.h"

namespace corank {

/// gRPC's deadline, of the wall clock, on the server's monotonic clock.
inline Instant ToInstant(std::chrono::system_clock::time_point deadline, Instant now) {
  if (deadline == std::chrono::system_clock::time_point::max()) return kForever;
  const auto left = deadline - std::chrono::system_clock::now();
  return left < kForever - now ? now + left : kForever;
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_DEADLINE_H_
