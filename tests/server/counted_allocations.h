// Linked into a test, counts what its threads allocate.
#ifndef CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_
#define CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_

#include <cstdint>

namespace corank::testing {

/// Calls of operator new by this thread until now. malloc is not counted: of what a request meets, only gRPC's core
/// calls it.
int64_t ThreadAllocations();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_COUNTED_ALLOCATIONS_H_
