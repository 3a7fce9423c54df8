// Linked into a test, counts what its threads allocate and copy. What asks for memory, or copies, in a library of the
// system is not seen, but for operator new: such as the bytes of a std::string, whose memory is.
#ifndef CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_
#define CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_

#include <cstdint>

namespace corank::testing {

/// Calls of operator new by this thread until now. malloc is not counted: of what a request meets, only gRPC's core
/// calls it.
int64_t ThreadAllocations();

/// Of all threads until now.
struct Traffic {
  int64_t allocated_bytes = 0;  // that were asked for, by operator new or malloc, whether given back or not
  int64_t payload_bytes = 0;    // by CopyRange (proto/payloads.h)
  int64_t copied_bytes = 0;     // by memcpy and memmove beside, where the compiler left a call of them
};
Traffic ProcessTraffic();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_
