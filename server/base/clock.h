// The monotonic clock of the server, replaceable in tests.
#ifndef CORANK_SERVER_BASE_CLOCK_H_
#define CORANK_SERVER_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace corank {

using Instant = std::chrono::steady_clock::time_point;

/// No deadline.
inline constexpr Instant kForever = Instant::max();

inline int64_t Nanoseconds(Instant from, Instant to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

/// Whether a request whose work was not done by `now` was too late for its caller. The caller's clock started earlier,
/// by the time that the message took, so the caller cancels shortly before the server's deadline.
inline bool IsShortBefore(Instant deadline, Instant arrival, Instant now) {
  return deadline != kForever && deadline - now <= (deadline - arrival) / 10 + std::chrono::milliseconds(1);
}

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
  /// The machine's monotonic clock. Lives as long as the process.
  static const Clock& Steady();
};

}  // namespace corank

#endif  // CORANK_SERVER_BASE_CLOCK_H_
