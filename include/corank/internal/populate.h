// Faults memory in before a result fills it. Internal: no part of the public interface.
#ifndef CORANK_INTERNAL_POPULATE_H_
#define CORANK_INTERNAL_POPULATE_H_

#include <cstddef>

namespace corank::client {

/// Faults in the pages of [data, data + bytes) with several threads, as huge pages where the system has them, and
/// leaves the contents alone. Otherwise a vector zeroes itself on one thread, which spends most of its time on page
/// faults. Does nothing for small memory, which the allocator may have used before, and on Linux before 5.14.
void Populate(void* data, size_t bytes);

}  // namespace corank::client

#endif  // CORANK_INTERNAL_POPULATE_H_
