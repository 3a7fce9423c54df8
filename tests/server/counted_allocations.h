// Linked into a test, counts the allocations and copies of its threads. It misses those inside system libraries, except
// operator new: it counts the memory of a std::string, but not the copy of its bytes.
#ifndef CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_
#define CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_

#include <cstdint>

namespace corank::testing {

/// Calls of operator new by this thread so far. Does not count malloc, which only gRPC's core calls in a request.
int64_t ThreadAllocations();

/// The totals of all threads so far.
struct Traffic {
  int64_t allocated_bytes = 0;  // requested by operator new or malloc, freed or not
  int64_t payload_bytes = 0;    // by CopyRange (proto/payloads.h)
  int64_t copied_bytes = 0;     // by other memcpy and memmove calls that the compiler did not inline
};
Traffic ProcessTraffic();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_
