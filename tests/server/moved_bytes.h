// The bytes that this process moves for each call, beside the device's work. For tests that link
// counted_allocations.cc.
#ifndef CORANK_TESTS_SERVER_MOVED_BYTES_H_
#define CORANK_TESTS_SERVER_MOVED_BYTES_H_

#include <cstdint>
#include <functional>

#include "tests/server/counted_allocations.h"
#include "tests/server/doubles.h"

namespace corank::testing {

/// The average for a call of a warm server.
struct Moved {
  int64_t payload_bytes = 0;    // copied from messages: into pinned memory, or into a client's results
  int64_t copied_bytes = 0;     // copied in any other way
  int64_t allocated_bytes = 0;  // by gRPC for received data, and by clients, at both ends
};

/// Runs `call`, which returns once the server is done with it: first to warm up, then `calls` times.
inline Moved MeasureMoved(const PuppetEngine& device, int calls, const std::function<void()>& call) {
  for (int i = 0; i < 5; ++i) call();
  const Traffic before = ProcessTraffic();
  const int64_t copied_before = device.copied_bytes(), allocated_before = device.allocated_bytes();
  for (int i = 0; i < calls; ++i) call();
  const Traffic after = ProcessTraffic();
  const int64_t copied = device.copied_bytes() - copied_before;
  const int64_t allocated = device.allocated_bytes() - allocated_before;
  return {(after.payload_bytes - before.payload_bytes) / calls,
          (after.copied_bytes - before.copied_bytes - copied) / calls,
          (after.allocated_bytes - before.allocated_bytes - allocated) / calls};
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_MOVED_BYTES_H_
